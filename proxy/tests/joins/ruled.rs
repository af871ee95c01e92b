//! Rules on control messages and on messages outside a connection, and `stall`.

use teetap_kit::{
    codec::{Variant, control},
    link::{MS, SECOND},
    peer::Policy,
    rules::compiled,
    world::{Middle, Place, client_addr, config},
};
use teetap_proxy::session::{Action, Config, EventKind, Hub, Input, MadeHow, Notice};
use teetap_wire::{Dir, Proto, def::Datum};

use crate::bench::on_each_kind;
use crate::examples::sample;
use crate::facts::{message, registry, set, text};
use crate::stage::{Pair, Stage, closed, has, pair};

const DDNET: Pair = pair(Variant::Ddnet, Variant::Ddnet);

/// Returns a client that begins to join under these rules.
fn joining(pair: Pair, source: &str, change: impl Fn(Config) -> Config) -> Stage {
    let config = change(config(7, None, true));
    let mut hub = Hub::new(config, teetap_kit::world::route());
    hub.handle(
        teetap_proxy::session::Time::ZERO,
        Input::Program(Some(compiled(source).unwrap())),
    );
    while hub.poll().is_some() {}
    Stage::with(pair, 7, Policy::default(), Middle::Hub(Box::new(hub)))
}

/// Returns a client that begins to join under these rules, with a hub that repairs the loss of datagrams that
/// DDNet sends once.
fn healing(pair: Pair, source: &str) -> Stage {
    joining(pair, source, |config| Config {
        heals: true,
        ..config
    })
}

pub(crate) fn ruled(pair: Pair, source: &str) -> Stage {
    joining(pair, source, |config| config)
}

/// Returns a session under rules that begin once it is online.
fn online(pair: Pair, source: &str) -> Stage {
    let mut stage = Stage::joined(pair, 7);
    stage.world.input(Input::Program(Some(compiled(source).unwrap())));
    stage
}

fn count(stage: &Stage, action: Action) -> usize {
    let events = stage.world.events.iter();
    let placed = events.filter_map(|event| match &event.what {
        EventKind::Datagram(datagram) => Some(&datagram.placed),
        _ => None,
    });
    placed.flatten().filter(|placed| placed.action == action).count()
}

#[test]
fn the_first_requests_are_lost() {
    for pair in Pair::ALL {
        let mut stage = healing(pair, &sample("lost-connect"));
        stage.run(900 * MS);
        stage.check(
            stage.count(Place::ToServer, control::CONNECT) == 0,
            "a request went on",
        );
        stage.run(2 * SECOND);
        stage.assert_plays();
        stage.equal(stage.count(Place::FromClient, control::CONNECT), 3, "requests");
        stage.equal(count(&stage, Action::Lose), 2, "lost");
    }
}

#[test]
fn a_dropped_request_never_came() {
    for pair in Pair::ALL {
        let mut stage = ruled(pair, "drop when ctrl.connect");
        stage.run(7 * SECOND);
        let sent = stage.world.network.sent.as_deref().unwrap();
        let to_server = sent.iter().filter(|sent| sent.place == Place::ToServer).count();
        stage.equal(to_server, 0, "datagrams to the server");
        stage.equal(stage.ever_online, 0, "sessions");
    }
}

/// The server waits for the first message, and repeats ACCEPT until it arrives.
#[test]
fn what_rules_drop_is_acked_although_the_server_sends_only_accept() {
    let mut stage = ruled(pair(Variant::V7, Variant::V7), "drop when c2s and not ctrl");
    stage.run(4 * SECOND);
    stage.check(
        stage.count(Place::FromServer, control::CONNECT_ACCEPT) > 2,
        "ACCEPT was not repeated",
    );
    let unacked = stage.client().unacked();
    stage.equal(unacked, 0, "messages without an ack");
}

/// A server without tokens proves by its first ack that the client is connected. If it sends no challenge, it
/// has had a slot for the client before that.
#[test]
fn the_first_message_of_a_client_is_dropped_changed_and_delayed() {
    let named = |pair: Pair, name: &str| {
        let proto = if pair.client.is_seven() {
            Proto::V7
        } else {
            Proto::V6
        };
        let fields = [
            ("version", text("0.6 626fce9a778df4d4")),
            ("password", text(name)),
        ];
        let mut data = Vec::new();
        let def = registry().named(proto, None, "info").next().unwrap();
        def.encode(&Datum::group(fields), &mut data).unwrap();
        data
    };
    for pair in Pair::ALL {
        let joining = |source: &str| {
            let mut stage = ruled(pair, source);
            stage.client().options.hello = Some(named(pair, "old"));
            stage
        };
        let came = |stage: &Stage, name: &str| {
            let mut slots = stage.world.server.peers();
            slots.any(|(_, slot)| has(slot, &named(pair, name)))
        };
        let mut stage = joining("log when info");
        stage.run(2 * SECOND);
        stage.check(came(&stage, "old"), "the message without a rule that acts");
        let mut stage = joining("drop when info");
        stage.run(2 * SECOND);
        stage.check(!came(&stage, "old"), "a dropped message came");
        let unacked = stage.client().unacked();
        stage.equal(unacked, 0, "messages without an ack");
        // The server of 0.7 has a slot since the next message.
        stage.say();
        stage.run(SECOND);
        let talks = stage.talks(SECOND);
        stage.check(talks, "no talk after a dropped message");
        let mut stage = joining("set info.password = \"new\" when info");
        stage.run(2 * SECOND);
        stage.equal(
            [came(&stage, "old"), came(&stage, "new")],
            [false, true],
            "what came",
        );
        let talks = stage.talks(SECOND);
        stage.check(talks, "no talk after a changed message");
        let mut stage = joining("delay 1500ms when info");
        stage.run(SECOND);
        stage.check(!came(&stage, "old"), "a delayed message came at once");
        stage.run(2 * SECOND);
        stage.check(came(&stage, "old"), "a delayed message never came");
        let talks = stage.talks(SECOND);
        stage.check(talks, "no talk after a delayed message");
    }
}

#[test]
fn a_rule_that_names_the_server_acts_on_the_exchange_with_it() {
    for pair in Pair::ALL {
        let mut stage = healing(pair, "lose 2 times when ctrl.connect and leg == server");
        stage.run(4 * SECOND);
        stage.assert_plays();
        stage.check(stage.count(Place::ToServer, control::CONNECT) >= 1, "no request");
        // The other servers send traffic without waiting for the client, and the proxy accepts their traffic
        // in place of the answer.
        let waits = [Variant::V7, Variant::V65, Variant::V6].contains(&pair.server) || pair.has_lone_accept();
        if waits {
            let mut stage = healing(pair, "drop when ctrl.connect_accept and leg == server");
            stage.run(4 * SECOND);
            stage.check(!stage.plays(), "it joined");
        }
        // No leg is named, so the answer to the client is lost.
        let mut stage = healing(pair, "lose when ctrl.connect_accept");
        stage.run(200 * MS);
        let is_online = stage.client().is_online();
        stage.check(!is_online, "it joined at once");
        stage.run(3 * SECOND);
        stage.assert_plays();
    }
}

#[test]
fn the_lone_accept_is_repaired_only_if_that_is_requested() {
    let mut stage = healing(DDNET, "drop when ctrl.accept");
    stage.run(3 * SECOND);
    stage.assert_plays();
    let mut stage = ruled(DDNET, "drop when ctrl.accept");
    stage.run(8 * SECOND);
    stage.check(!stage.plays(), "it joined");
    stage.equal(stage.count(Place::ToServer, control::ACCEPT), 0, "ACCEPT");
    for source in [
        "log when ctrl.accept",
        "delay 200ms when ctrl.accept",
        "dup when ctrl.accept",
    ] {
        let mut stage = ruled(DDNET, source);
        stage.run(3 * SECOND);
        stage.assert_plays();
        stage.equal(stage.count(Place::ToServer, control::ACCEPT), 1, source);
        stage.equal(stage.world.server.counters.rejoins, 0, source);
    }
    // The ACCEPT to the server is never sent twice.
    let mut stage = ruled(DDNET, "dup 3 when ctrl.accept and leg == server");
    stage.run(3 * SECOND);
    stage.assert_plays();
    stage.equal(stage.count(Place::ToServer, control::ACCEPT), 1, "ACCEPT");
}

/// A second ACCEPT, or one behind a message of the client, would reset the server's numbers.
#[test]
fn a_link_neither_doubles_the_lone_accept_nor_lets_it_be_overtaken() {
    for source in [
        "link c2s dup 100%",
        "link c2s delay 40ms dup 100%",
        "link c2s delay 40ms reorder 50%",
        "link c2s delay 40ms reorder 100% gap 2",
    ] {
        for begin in [ruled, healing] {
            let mut stage = begin(DDNET, source);
            stage.run(3 * SECOND);
            stage.assert_plays();
            stage.equal(stage.count(Place::ToServer, control::ACCEPT), 1, source);
            stage.equal(stage.world.server.counters.rejoins, 0, source);
            let copies = if source.contains("dup") { 2 } else { 1 };
            stage.equal(stage.count(Place::ToServer, control::CONNECT), copies, source);
        }
    }
}

#[test]
fn a_delayed_answer_comes_later() {
    for pair in Pair::ALL {
        let mut stage = ruled(pair, "delay 200ms when ctrl.connect_accept max 1 per 10s");
        stage.run(190 * MS);
        let is_online = stage.client().is_online();
        stage.check(!is_online, "too early");
        stage.run(3 * SECOND);
        stage.assert_plays();
    }
}

#[test]
fn a_close_gets_another_reason_or_none_comes() {
    for pair in Pair::ALL {
        let mut stage = online(
            pair,
            "set ctrl.close.reason = \"because\", log when c2s and ctrl.close",
        );
        stage.leave("bye");
        stage.run(SECOND);
        stage.equal(stage.ends(), vec![closed("because")], "the end");
        let logs = stage.notices();
        stage.check(
            logs.iter().any(|notice| matches!(notice, Notice::RuleLog { .. })),
            "no log",
        );
        let mut stage = online(pair, "drop when ctrl.close");
        stage.leave("bye");
        stage.run(SECOND);
        stage.equal(stage.ends(), vec![], "the end");
        stage.equal(stage.online.len(), 1, "sessions");
    }
}

/// The bits that a rule flips are no oddity of the peer.
#[test]
fn a_corrupted_close_has_no_notes_of_its_sender() {
    for pair in Pair::ALL {
        let mut stage = online(pair, "corrupt 7 bits when c2s and ctrl.close");
        stage.leave("");
        stage.run(SECOND);
        let corrupted = stage.world.events.iter().filter_map(|event| match &event.what {
            EventKind::Datagram(datagram) => {
                let placed = datagram.placed.first()?;
                (placed.action == Action::Corrupt).then_some(datagram)
            }
            _ => None,
        });
        let notes: Vec<_> = corrupted.map(|datagram| datagram.notes.iter().count()).collect();
        stage.equal(notes, vec![0], "notes");
    }
}

#[test]
fn a_general_rule_covers_keepalives() {
    for pair in Pair::ALL {
        let mut stage = online(pair, "drop when c2s");
        // A datagram with messages becomes a keepalive with its ack; a keepalive is suppressed.
        stage.run(SECOND);
        let before = stage.world.network.sent.as_deref().unwrap().len();
        stage.run(5 * SECOND);
        let sent = stage.world.network.sent.as_deref().unwrap();
        let to_server = sent[before..].iter().filter(|sent| sent.place == Place::ToServer);
        stage.equal(to_server.count(), 0, "datagrams to the server");
    }
}

const ASK: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";

/// A message that a rule delays or doubles was received once.
#[test]
fn messages_of_the_browser_have_the_decision_of_the_rules() {
    let mut stage = ruled(DDNET, "delay 200ms, dup when connless and c2s");
    stage.run(SECOND);
    stage.world.stranger_sends("10.7.0.1:9000".parse().unwrap(), ASK);
    stage.run(SECOND);
    let asks = stage.world.events.iter().filter_map(|event| match &event.what {
        EventKind::Connless(connless) if connless.dir == Dir::C2s => Some(connless),
        _ => None,
    });
    let seen: Vec<_> = asks
        .map(|ask| {
            let action = ask.placed.as_deref().map(|placed| placed.action);
            let how = ask.made.as_deref().map(|made| made.how);
            (ask.received().is_some(), ask.sent.is_some(), action, how)
        })
        .collect();
    let expected = vec![
        (true, false, Some(Action::Hold), None),
        (false, true, None, Some(MadeHow::Release)),
        (false, true, None, Some(MadeHow::Copy)),
    ];
    stage.equal(seen, expected, "the requests");
}

#[test]
fn messages_of_the_browser_are_dropped_delayed_doubled_and_changed() {
    let sent = |source: &str, wait: u64| {
        let mut stage = ruled(DDNET, source);
        stage.run(SECOND);
        let before = stage.world.network.sent.as_deref().unwrap().len();
        stage.world.stranger_sends("10.7.0.1:9000".parse().unwrap(), ASK);
        stage.run(wait);
        let sent = stage.world.network.sent.as_deref().unwrap();
        let to_server = sent[before..]
            .iter()
            .filter(|sent| sent.place == Place::ToServer && sent.bytes.starts_with(&[0xff; 6]));
        let asks: Vec<_> = to_server.map(|sent| sent.bytes.clone()).collect();
        asks
    };
    let soon = 100 * MS;
    assert_eq!(sent("log when connless", soon), [ASK]);
    assert_eq!(sent("drop when connless", soon), [[0u8; 0]; 0]);
    assert_eq!(sent("drop when c2s", soon), [[0u8; 0]; 0]);
    assert_eq!(sent("drop when s2c and connless", soon), [ASK]);
    assert_eq!(sent("dup 2 when connless", soon), [ASK, ASK, ASK]);
    assert_eq!(sent("delay 300ms when connless", soon), [[0u8; 0]; 0]);
    assert_eq!(sent("delay 300ms when connless", 400 * MS), [ASK]);
    let corrupted = sent("corrupt 1 bits when connless", soon);
    assert!(
        corrupted.len() == 1 && corrupted[0] != ASK && corrupted[0].len() == ASK.len(),
        "{corrupted:02x?}"
    );
}

#[test]
fn messages_outside_a_connection_to_a_client_are_dropped() {
    let mut stage = online(DDNET, "drop when connless and s2c once");
    let upstream = stage.world.sockets[0];
    let received = |stage: &Stage| {
        let sent = stage.world.network.sent.as_deref().unwrap().iter();
        sent.filter(|sent| sent.place == Place::ToClient && sent.addr == client_addr(0) && sent.bytes == ASK)
            .count()
    };
    stage.world.server_sends(upstream, ASK);
    assert_eq!(received(&stage), 0);
    stage.world.server_sends(upstream, ASK);
    assert_eq!(received(&stage), 1);
}

#[test]
fn nothing_flows_in_a_stall_and_everything_after_it() {
    on_each_kind(|bench| {
        set(bench, &sample("stall"));
        let vote = message(bench, "sv_vote_set", &[("description", text("x"))]);
        bench.is(&format!("S a1 1{vote}"), &[]);
        bench.is("S a1 keepalive", &[]);
        // The other direction is not stalled.
        bench.is("C a0 keepalive", &["S a0 keepalive"]);
        bench.after(2900, &[]);
        bench.is("S a1 2:x", &[]);
        bench.after(
            200,
            &[
                &format!("100: C a1 1{vote}"),
                "100: C a1 keepalive",
                "100: C a1 2:x",
            ],
        );
        bench.is(&format!("S a1 3{vote}"), &[&format!("C a1 3{vote}")]);
    });
}

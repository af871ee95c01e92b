//! The judge bases findings about a peer only on datagrams that the peer could see. A run with rules and link lines,
//! its recording, and a capture of the client leg alone yield the same findings about the client.

use std::{error::Error, io::Cursor, sync::Arc};

use teetap_capture::{Encode as _, Encoder, Playback, Run};
use teetap_inspect::{
    Decoder,
    judge::{Culprit, Finding, Judge, Role},
};
use teetap_kit::{
    codec::{Packing, Variant},
    faulty::{self, FAULTS, SECOND, Setting, Through},
    huffman::Ending,
    peer::Flaw,
    world::route,
};
use teetap_proxy::{io::Seen, session::Time};
use teetap_wire::{
    Severity,
    def::{Registry, Secrets},
};

/// How a server compresses its datagrams.
const IF_SHORTER: Packing = Packing::IfShorter(Ending::Padded);
const ALWAYS: Packing = Packing::Always(Ending::Padded);

/// End of the values for a client that has acked uncompressed messages.
const BEFORE: &str = "messages acked before were not";

/// The findings about the client in three views of the same session.
struct Views {
    live: Vec<Finding>,
    recording: Vec<Finding>,
    leg: Vec<Finding>,
}

impl Views {
    fn of(setting: &Setting, rules: &str) -> Result<Self, Box<dyn Error>> {
        let through = faulty::through(setting, None, rules)?;
        Ok(Self {
            live: live(&through),
            recording: judged(&recorded(&through))?,
            leg: judged(&faulty::pcap(&through.packets))?,
        })
    }

    /// Returns the codes of errors and warnings about the client with their values, for each view.
    fn codes(&self) -> [Vec<(String, Option<String>)>; 3] {
        [&self.live, &self.recording, &self.leg].map(|list| {
            let wrong = list.iter().filter(|one| {
                one.by == Culprit::Client && one.role == Role::Fault && one.severity >= Severity::Warning
            });
            let mut codes: Vec<_> = wrong
                .map(|one| {
                    (
                        one.topic.to_string(),
                        one.detail.as_ref().map(ToString::to_string),
                    )
                })
                .collect();
            codes.sort();
            codes
        })
    }
}

fn live(through: &Through) -> Vec<Finding> {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    for event in through.events.iter().cloned() {
        judge.record(teetap_inspect::recording::Item::Event(event), &mut decoder, drop);
    }
    judge.finish(&mut decoder);
    judge.findings().list
}

fn recorded(through: &Through) -> Vec<u8> {
    let run = Run {
        version: "0".to_owned(),
        wall: 1_700_000_000_000_000_000,
        seed: 8,
        target: "server:8303".to_owned(),
        server: route().server,
        listen: route().listen,
    };
    let mut encoder = Encoder::new(run, |_| String::new());
    let mut decoder = Decoder::new(Registry::builtin());
    let mut out = Vec::new();
    encoder.start(&mut out);
    for event in through.events.iter().cloned() {
        let decoded = decoder.decode(event);
        encoder.seen(&Seen::Event(Arc::new(decoded)), Time::ZERO, &mut out);
    }
    out
}

fn judged(file: &[u8]) -> Result<Vec<Finding>, Box<dyn Error>> {
    let mut playback = match file.first_chunk() {
        Some([0x0a, 0x0d, 0x0d, 0x0a]) => Playback::pcapng(Cursor::new(file.to_vec())),
        _ => Playback::pcap(Cursor::new(file.to_vec()))?,
    };
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    while let Some(item) = playback.read()? {
        judge.record(item, &mut decoder, drop);
    }
    judge.finish(&mut decoder);
    Ok(judge.findings().list)
}

fn setting(variant: Variant, flaw: Option<Flaw>) -> Setting {
    Setting {
        flaw,
        length: 9 * SECOND,
        talks: true,
        ..Setting::new(variant, 3)
    }
}

/// A rule loses messages of the server, and a client acks the highest number it saw.
#[test]
fn an_ack_of_a_message_that_was_lost_on_its_leg_is_a_gap() {
    for (variant, rules) in [
        (Variant::V7, "lose 1 times when sv_chat every 5"),
        (Variant::V65, "lose 1 times when sv_chat every 5"),
        (Variant::Ddnet, "link s2c loss 20%"),
        (Variant::V6, "link s2c loss 20%"),
    ] {
        let views = Views::of(&setting(variant, Some(Flaw::AcksSeen)), rules).unwrap();
        let [live, recording, leg] = views.codes();
        assert!(
            live.iter().any(|(code, _)| code == "ack-gap"),
            "{variant:?}: {live:#?}"
        );
        assert_eq!(recording, live, "{variant:?}");
        assert_eq!(leg, live, "{variant:?}");
    }
}

/// The link loses messages of a client that never retransmits.
#[test]
fn a_client_that_sends_nothing_again_is_named() {
    for variant in Variant::ALL {
        let views = Views::of(
            &setting(variant, Some(Flaw::SendsOnce)),
            "lose 1 times when cl_say every 3",
        )
        .unwrap();
        let [live, recording, leg] = views.codes();
        let missing: Vec<_> = live.iter().filter(|(code, _)| code == "resend-missing").collect();
        let [(_, Some(detail))] = &*missing else {
            panic!("{variant:?}: {live:#?}");
        };
        assert!(detail.starts_with("cl_say (number "), "{detail}");
        assert_eq!(recording, live, "{variant:?}");
        assert_eq!(leg, live, "{variant:?}");
    }
}

/// A client that keeps retransmitting everything, although its server and the proxy ack it.
#[test]
fn a_client_that_ignores_acks_is_named() {
    for variant in Variant::ALL {
        let views = Views::of(&setting(variant, Some(Flaw::IgnoresAcks)), "link both delay 30ms").unwrap();
        let [live, recording, leg] = views.codes();
        assert!(
            live.iter().any(|(code, _)| code == "resend-acked"),
            "{variant:?}: {live:#?}"
        );
        assert_eq!(recording, live, "{variant:?}");
        assert_eq!(leg, live, "{variant:?}");
    }
}

/// A client drops compressed datagrams, so its acks stop before the first compressed message, and it requests that
/// message repeatedly.
#[test]
fn a_client_that_does_not_inflate_is_named() {
    for variant in Variant::ALL {
        for (packing, rules, code, text) in [
            (IF_SHORTER, "link both delay 30ms", "not-inflated", BEFORE),
            (IF_SHORTER, "link s2c loss 15%", "not-inflated", BEFORE),
            (
                IF_SHORTER,
                "lose 1 times when sv_chat every 4",
                "not-inflated",
                BEFORE,
            ),
            // This client never acks anything, so it could also be a client that acks nothing.
            (
                ALWAYS,
                "link both delay 30ms",
                "ack-stuck",
                "compressed each time: does it inflate?",
            ),
        ] {
            if packing == ALWAYS && variant == Variant::Ddnet {
                // The proxy compresses a datagram with a token at its end only if that makes it shorter.
                continue;
            }
            let setting = Setting {
                packing,
                length: 12 * SECOND,
                ..setting(variant, Some(Flaw::NoInflate))
            };
            let views = Views::of(&setting, rules).unwrap();
            if packing == ALWAYS {
                // Nothing shows that this client receives anything, so the network may be the cause.
                for list in [&views.live, &views.recording, &views.leg] {
                    let stuck = list.iter().find(|one| one.topic.to_string() == code);
                    let is_right = stuck.is_some_and(|one| {
                        let detail = one.detail.as_ref().map(ToString::to_string);
                        (one.by, one.role) == (Culprit::Client, Role::Network)
                            && detail.is_some_and(|detail| detail.contains(text))
                    });
                    assert!(is_right, "{variant:?}: {list:#?}");
                }
                continue;
            }
            let [live, recording, leg] = views.codes();
            let first = live.iter().find(|(of, _)| of == code);
            let detail = first.and_then(|(_, detail)| detail.as_deref());
            assert!(
                detail.is_some_and(|detail| detail.contains(text)),
                "{variant:?} {code} {rules}: {live:#?}"
            );
            assert_eq!(recording, live, "{variant:?}");
            assert_eq!(leg, live, "{variant:?}");
        }
    }
}

/// A client that inflates is not accused, however many compressed datagrams the link loses.
#[test]
fn a_client_that_inflates_is_not_accused() {
    for variant in Variant::ALL {
        for (seed, loss) in (0..8).flat_map(|seed| [(seed, 30), (seed, 60)]) {
            let setting = Setting {
                packing: IF_SHORTER,
                seed,
                ..setting(variant, None)
            };
            let views = Views::of(&setting, &format!("link s2c loss {loss}%")).unwrap();
            for codes in views.codes() {
                assert!(
                    codes.iter().all(|(code, _)| code != "not-inflated"),
                    "{variant:?} {seed}: {codes:#?}"
                );
            }
        }
    }
}

/// A correct client is not accused because of rules and link lines.
#[test]
fn a_client_without_a_fault_is_not_accused_of_losses_and_delays() {
    for variant in Variant::ALL {
        for rules in [
            "lose 1 times when sv_chat every 3\nlose 1 times when cl_say every 4",
            "lose 2 times when vital every 5",
            "link both loss 15%",
            "link both delay 400ms jitter 100ms",
            "link both loss 10% delay 60ms jitter 60ms",
            "delay 1500ms when cl_say every 3",
            "drop when sv_chat every 2",
        ] {
            let views = Views::of(&setting(variant, None), rules).unwrap();
            let none: Vec<(String, Option<String>)> = Vec::new();
            assert_eq!(
                views.codes(),
                [none.clone(), none.clone(), none],
                "{variant:?}: {rules}"
            );
        }
    }
}

/// A client hangs: the clock shows it, and later the server gives up.
#[test]
fn a_client_that_falls_silent_is_named_before_its_server_gives_up() {
    for variant in Variant::ALL {
        let setting = Setting {
            hangs: Some(3 * SECOND),
            length: 20 * SECOND,
            ..setting(variant, None)
        };
        let views = Views::of(&setting, "link both delay 30ms").unwrap();
        for list in [&views.live, &views.recording, &views.leg] {
            let sentences: Vec<_> = list
                .iter()
                .filter(|one| one.severity >= Severity::Warning)
                .map(|one| (one.topic.to_string(), one.by, one.text.to_string()))
                .collect();
            let silent = &sentences[0];
            assert_eq!(
                (&*silent.0, silent.1),
                ("peer-silent", Culprit::Client),
                "{variant:?}: {sentences:#?}"
            );
            let text = "no datagram from the client for 3.5 s, although datagrams were sent to it; sent and not acked: ";
            assert!(silent.2.starts_with(text), "{silent:?}");
            // DDNet waits for 100 s, so it does not give up within this session.
            let ends = sentences.get(1).map(|(code, by, _)| (&**code, *by));
            let is_ddnet = matches!(variant, Variant::Ddnet | Variant::D7);
            assert_eq!(
                ends,
                (!is_ddnet).then_some(("timed-out", Culprit::Client)),
                "{variant:?}: {sentences:#?}"
            );
        }
        let place = |list: &[Finding]| (list[0].first.at, list[0].text.clone());
        assert_eq!(place(&views.recording), place(&views.live));
        assert_eq!(views.leg[0].text, views.live[0].text, "{variant:?}");
    }
}

/// A datagram lost by a link line is not the fault of a peer.
#[test]
fn a_join_over_a_bad_link_accuses_nobody() {
    for variant in Variant::ALL {
        for seed in 0..6 {
            let setting = Setting {
                length: 4 * SECOND,
                ..Setting::new(variant, seed)
            };
            let through = faulty::through(&setting, None, "link both loss 25%").unwrap();
            let accused: Vec<_> = live(&through)
                .into_iter()
                .filter(|one| {
                    one.severity == Severity::Error
                        || one.role == Role::Fault && one.severity == Severity::Warning
                })
                .map(|one| one.to_string())
                .collect();
            assert_eq!(accused, Vec::<String>::new(), "{variant:?} {seed}");
        }
    }
}

/// A rule that keeps a message of the join back is named, and no peer is accused.
#[test]
fn a_join_that_a_rule_stops_is_of_the_proxy() {
    for (rules, text) in [
        (
            "silence: drop when con_ready",
            "it was sent, but was dropped (silence)",
        ),
        (
            "brake: delay 60s when con_ready",
            "it was sent, but is held (brake)",
        ),
        (
            "early: delay 300ms when ready\nsilence: drop when con_ready",
            "it was sent, but was dropped (silence)",
        ),
    ] {
        let setting = Setting::new(Variant::V7, 1);
        let through = faulty::through(&setting, None, rules).unwrap();
        for list in [live(&through), judged(&recorded(&through)).unwrap()] {
            let ends: Vec<_> = list
                .iter()
                .filter(|one| one.role == Role::Consequence)
                .map(|one| (one.topic.to_string(), one.by, one.severity, one.text.to_string()))
                .collect();
            let codes: Vec<_> = ends.iter().map(|(code, ..)| &**code).collect();
            assert_eq!(codes, ["login-stalled", "never-entered"], "{ends:#?}");
            assert!(
                ends.iter()
                    .all(|(_, by, severity, _)| (*by, *severity) == (Culprit::Proxy, Severity::Warning)),
                "{ends:#?}"
            );
            assert!(ends[1].3.contains(text), "{ends:#?}");
        }
    }
}

/// The proxy repeats the handshake of a peer on the other leg. An oddity in it is not a fault of the proxy.
#[test]
fn the_proxy_is_not_accused_of_the_faults_of_a_client() {
    for fault in FAULTS {
        for variant in fault.variants {
            let through = faulty::through(&Setting::new(*variant, 0), Some(fault), "").unwrap();
            for list in [live(&through), judged(&recorded(&through)).unwrap()] {
                let mut accused = list
                    .iter()
                    .filter(|one| one.by == Culprit::Proxy && one.severity >= Severity::Warning);
                assert!(
                    accused.next().is_none(),
                    "{} of {variant:?}: {list:#?}",
                    fault.name
                );
            }
        }
    }
}

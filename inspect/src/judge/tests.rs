//! Tests of the judge: counts, names, ranks and limits.

use std::{fs, fs::File, io::BufReader, path::Path};

use teetap_capture::Playback;
use teetap_proxy::session::{
    Action, Datagram, Event, Level, Notice, OpensNothing, Origin, Placed, SessionChange, SessionId, State,
};
use teetap_rules::Filter;
use teetap_wire::{Code, Dir, Flags, Note, Proto, Severity, Side, def::Registry};

use super::{finding_code::PossibleCause, *};
use crate::{
    Decoder,
    testing::{chunks, packet, session},
};

/// The 0.7 `sv_emoticon` of a client id that cannot exist.
const EMOTICON: &[u8] = b"\x14\x80\x02\x02";

/// The 0.7 `cl_kill`.
const KILL: &[u8] = b"\x38";

struct Run {
    decoder: Decoder,
    judge: Judge,
    /// The ordinal of the last datagram.
    ordinal: u64,
}

impl Run {
    fn new() -> Self {
        let decoder = Decoder::new(Registry::builtin());
        Self {
            judge: Judge::new(Secrets::Hide, decoder.stated().clone()),
            decoder,
            ordinal: 0,
        }
    }

    fn event(&mut self, ms: u64, session: Option<u32>, what: EventKind) {
        let event = Event {
            at: Time(ms * 1000),
            session: session.map(SessionId),
            what,
        };
        self.judge.event(&self.decoder.decode(event));
    }

    fn datagram(&mut self, ms: u64, dir: Dir, bytes: &[u8], notes: &[Code]) {
        self.ordinal += 1;
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let mut datagram = Datagram::new(dir, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
        datagram.ordinal = self.ordinal;
        for code in notes {
            let (code, at, len) = (*code, 0, 2);
            datagram.notes.push(Note { code, at, len });
        }
        self.event(ms, Some(1), EventKind::Datagram(datagram));
    }

    fn codes(&self) -> Vec<&'static str> {
        let findings = self.judge.findings();
        findings.list.iter().map(|finding| finding.topic.name()).collect()
    }
}

fn report(topic: Topic, ms: u64) -> Report {
    Report {
        topic,
        session: Some(SessionId(1)),
        by: Culprit::Client,
        severity: None,
        text: "for a test".into(),
        detail: None,
        place: Occurrence::at(Time(ms * 1000)),
    }
}

#[test]
fn an_oddity_is_listed_once_for_a_peer_with_the_first_place_and_what_was_expected() {
    let mut run = Run::new();
    run.event(0, Some(1), EventKind::Session(session(State::Online, Proto::V7)));
    let numbered = chunks(0, false, &[(Some(1), EMOTICON)]);
    run.datagram(5, Dir::S2c, &numbered, &[]);
    for ms in [10, 20, 30] {
        run.datagram(
            ms,
            Dir::C2s,
            &chunks(9, false, &[(Some(1), KILL)]),
            &[Code::AckAhead],
        );
    }
    run.datagram(40, Dir::S2c, &chunks(0, false, &[(None, EMOTICON)]), &[]);
    let findings = run.judge.findings();
    let of = |name: &str| {
        let mut list = findings.list.iter();
        list.find(|finding| finding.topic.name() == name).unwrap()
    };
    let ack = of("ack-ahead");
    assert_eq!(
        ack.to_string(),
        "error ack-ahead: acks a chunk that was never sent: the receiver drops the datagram; got 9, expected at most 1; \
         by the client (Teeworlds 0.7.5, assumed), session 1, c2s datagram 2, at 0.010 s, 3 times until 0.030 s"
    );
    assert_eq!(ack.filter().unwrap(), "sess.id == 1 and lint.ack_ahead");
    let mut json = Vec::new();
    crate::jsonl::finding(1, ack, false, &mut json);
    assert_eq!(
        String::from_utf8(json).unwrap(),
        concat!(
            r#"{"v":2,"t":0.01,"event":"finding","session":1,"rank":1,"code":"ack-ahead","severity":"error","role":"fault","#,
            r#""by":"client","program":"Teeworlds 0.7.5","assumed":true,"#,
            r#""text":"acks a chunk that was never sent: the receiver drops the datagram","#,
            r#""detail":"got 9, expected at most 1","got":"9","expected":"at most 1","#,
            r#""dir":"c2s","datagram":2,"message":null,"count":3,"last":0.03,"#,
            r#""filter":"sess.id == 1 and lint.ack_ahead","page":"notes/ack-ahead.md"}"#,
            "\n"
        )
    );
    let emoticon = of("out-of-range");
    assert_eq!(
        (emoticon.by, emoticon.count, emoticon.first.message.as_deref()),
        (Culprit::Server, 2, Some("sv_emoticon"))
    );
    assert!(
        emoticon
            .detail
            .as_ref()
            .is_some_and(|detail| detail.got() == Some("128") && detail.expected() == Some("0 to 63")),
        "{emoticon}"
    );
    assert_eq!(run.codes()[0], "ack-ahead");
    assert_eq!(findings.counts().errors, 1);
}

#[test]
fn what_a_rule_made_is_not_a_finding_of_the_peer() {
    let mut run = Run::new();
    let bytes = chunks(0, false, &[(Some(1), EMOTICON)]);
    let mut datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Rule, &[], [&*bytes].into_iter());
    datagram.ordinal = 0;
    run.event(1, Some(1), EventKind::Datagram(datagram));
    let findings = run.judge.findings();
    assert!(!findings.list.is_empty());
    for finding in &findings.list {
        assert_eq!(
            (finding.by, finding.first.datagram),
            (Culprit::Proxy, None),
            "{finding}"
        );
    }
}

#[test]
fn causes_come_before_their_consequences_and_losses_last() {
    let mut run = Run::new();
    let note = |code| Topic::Note(code);
    let silent = Topic::FindingCode(FindingCode::UpstreamSilent);
    run.judge.report(report(note(Code::SnapPartsMissing), 1));
    run.judge.report(report(note(Code::SurplusBytes), 2));
    run.judge.report(report(note(Code::TrailingBytes), 30));
    run.judge.report(report(note(Code::UnknownFlags), 5000));
    run.judge.report(report(silent, 2000));
    // An ongoing state is reported repeatedly; the last report is its end so far.
    run.judge.report(report(silent, 3000));
    run.judge.report(report(note(Code::MissingField), 9000));
    run.judge.report(report(note(Code::WrongToken), 8000));
    let expected = [
        "wrong-token",
        "missing-field",
        "trailing-bytes",
        "upstream-silent",
        "unknown-flags",
        "snap-parts-missing",
        // No receiver reads these bytes.
        "surplus-bytes",
    ];
    assert_eq!(run.codes(), expected);
    // An error as a consequence raises the rank of the warnings that led to it, and of no others.
    let list = run.judge.findings().list;
    let list: Vec<Finding> = list
        .into_iter()
        .filter(|finding| !["wrong-token", "missing-field"].contains(&finding.topic.name()))
        .map(|finding| Finding {
            severity: match finding.role {
                Role::Consequence => Severity::Error,
                _ => finding.severity,
            },
            ..finding
        })
        .collect();
    let ranked = Findings::rank(list);
    let names: Vec<_> = ranked.iter().map(|finding| finding.topic.name()).collect();
    assert_eq!(names, expected[2..]);
}

/// Returns the codes of the ranked findings with their sessions.
fn order(list: Vec<Finding>) -> Vec<(&'static str, u32)> {
    let ranked = Findings::rank(list);
    ranked
        .iter()
        .map(|one| (one.topic.name(), one.session.unwrap().0))
        .collect()
}

/// A cause is in the session of its consequence, precedes its end, and may lead to a consequence.
#[test]
fn a_warning_is_a_cause_in_its_own_session_up_to_the_end_of_the_consequence() {
    let mut run = Run::new();
    let never = Topic::FindingCode(FindingCode::NeverEntered);
    let of = |topic, at, session| Report {
        session: Some(SessionId(session)),
        ..report(topic, at)
    };
    let note = Topic::Note;
    run.judge.report(of(never, 1000, 1));
    run.judge.report(of(never, 4000, 1));
    run.judge.report(of(note(Code::UnknownFlags), 500, 2));
    run.judge.report(of(note(Code::LateReply), 600, 1));
    run.judge.report(of(note(Code::TrailingBytes), 700, 1));
    // This session has no consequence.
    run.judge.report(of(note(Code::LateReply), 800, 3));
    // The first warning precedes the end of the consequence, the second follows it.
    run.judge.report(of(note(Code::NotVital), 2000, 1));
    run.judge.report(of(note(Code::OutOfRange), 4001, 1));
    let list = run.judge.findings().list;
    let expected = [
        ("trailing-bytes", 1),
        ("not-vital", 1),
        ("never-entered", 1),
        ("unknown-flags", 2),
        ("late-reply", 3),
        ("out-of-range", 1),
        // A harmless warning ranks below all findings of its session that may have led to the consequence.
        ("late-reply", 1),
    ];
    assert_eq!(order(list.clone()), expected);
    // The consequence names one of the warnings as its cause, or the proxy.
    let led = |led_by| {
        let list = list.iter().cloned();
        order(list.map(|one| Finding { led_by, ..one }).collect())
    };
    let first = |list: Vec<(&'static str, u32)>| [list[0].0, list[1].0];
    assert_eq!(
        first(led(PossibleCause::Only(note(Code::NotVital)))),
        ["not-vital", "never-entered"]
    );
    assert_eq!(
        first(led(PossibleCause::Proxy)),
        ["never-entered", "unknown-flags"]
    );
}

/// A warning ranks above an error of the same or the next datagram that follows from it.
#[test]
fn the_first_of_neighbouring_datagrams_stands_above_the_next() {
    let placed = |code, (datagram, dir), by| {
        let topic = Topic::Note(code);
        let place = Occurrence {
            dir: Some(dir),
            datagram: Some(datagram),
            ..Occurrence::at(Time(datagram * 1000))
        };
        Report {
            by,
            place,
            ..report(topic, 0)
        }
    };
    for (datagram, dir, by, is_first) in [
        (7, Dir::C2s, Culprit::Client, true),
        (6, Dir::C2s, Culprit::Client, true),
        (5, Dir::C2s, Culprit::Client, false),
        (8, Dir::C2s, Culprit::Client, false),
        (7, Dir::C2s, Culprit::Server, false),
        // The numbers of the two directions are unrelated.
        (6, Dir::S2c, Culprit::Client, false),
    ] {
        let mut run = Run::new();
        run.judge
            .report(placed(Code::UnknownMessage, (datagram, dir), by));
        run.judge
            .report(placed(Code::MissingField, (7, Dir::C2s), Culprit::Client));
        let expected = match is_first {
            true => ["unknown-message", "missing-field"],
            false => ["missing-field", "unknown-message"],
        };
        assert_eq!(run.codes(), expected, "{datagram} {dir} {by:?}");
    }
}

/// Losses, delays and reordering are attributed to no peer.
#[test]
fn each_kind_has_its_role() {
    let of = |role| {
        let topics = Topic::all().filter(move |topic| topic.role() == role);
        topics.map(Topic::name).collect::<Vec<_>>()
    };
    assert_eq!(
        of(Role::Network),
        [
            "overtaken",
            "seq-ahead",
            "seq-again",
            "resend-request",
            "keepalive-late",
            "cut-by-capture",
            "snap-part-again",
            "snap-parts-missing",
            "snap-late",
            "snap-again",
            "no-session",
            "upstream-unreachable",
            "hole",
            "answered-by-proxy",
            "dropped-by-proxy",
            "half-open-limit",
            "relay-limit",
        ]
    );
    assert_eq!(
        of(Role::Consequence),
        [
            "login-stalled",
            "never-online",
            "never-entered",
            "timed-out",
            "kicked",
            "upstream-silent"
        ]
    );
    assert_eq!(of(Role::End), ["session-end"]);
}

/// Plays a session in which both sides send a message at 0 s, and the client acks nothing. It ends at 12 s.
fn ended(by: Option<Side>, reason: Option<&[u8]>) -> Findings {
    let mut run = Run::new();
    run.event(0, Some(1), EventKind::Session(session(State::Online, Proto::V7)));
    run.datagram(0, Dir::C2s, &chunks(0, false, &[(Some(1), KILL)]), &[]);
    run.datagram(10, Dir::S2c, &chunks(1, false, &[(Some(1), KILL)]), &[]);
    run.datagram(11_990, Dir::S2c, &chunks(1, false, &[(Some(2), KILL)]), &[]);
    for state in [State::Closing, State::Closed] {
        let reason = reason.filter(|_| state == State::Closing);
        let change = SessionChange {
            by: by.filter(|_| state == State::Closing),
            reason: reason.map(Into::into),
            ..session(state, Proto::V7)
        };
        run.event(12_000, Some(1), EventKind::Session(change));
    }
    run.judge.findings()
}

#[test]
fn each_end_of_a_session_is_one_finding_with_its_cause() {
    let (client, server) = (Some(Side::Client), Some(Side::Server));
    for (by, reason, expected) in [
        (
            server,
            Some(&b"Timeout"[..]),
            "warning timed-out: the server closed the session: \"Timeout\"; the last datagram of the client was 12.0 s before; \
             1 to 2 were not acked for 12.0 s; by the client (Teeworlds 0.7.5, assumed), session 1, at 12.000 s",
        ),
        (
            client,
            Some(b"Too weak connection (not acked for 10 seconds)"),
            "warning timed-out: the client closed the session: \"Too weak connection (not acked for 10 seconds)\"; \
             the last datagram of the server was 0.0 s before; by the server (Teeworlds 0.7.5, assumed), session 1, at 12.000 s",
        ),
        (
            server,
            Some(b"Kicked (spam\x1b)"),
            "warning kicked: the server kicked the client: \"Kicked (spam�)\"; by the server (Teeworlds 0.7.5, assumed), \
             session 1, at 12.000 s",
        ),
        (
            server,
            Some(b"You have been banned for 5 minutes (flood)"),
            "warning kicked: the server banned the client: \"You have been banned for 5 minutes (flood)\"; \
             by the server (Teeworlds 0.7.5, assumed), session 1, at 12.000 s",
        ),
        (
            client,
            Some(b"Kicked (by myself)"),
            "info session-end: the client closed the session: \"Kicked (by myself)\"; \
             by the client (Teeworlds 0.7.5, assumed), session 1, at 12.000 s",
        ),
        (
            client,
            Some(b""),
            "info session-end: the client closed the session; by the client (Teeworlds 0.7.5, assumed), session 1, at 12.000 s",
        ),
        (
            None,
            Some(b"teetap was stopped"),
            "info session-end: teetap closed the session: \"teetap was stopped\"; by the proxy, session 1, at 12.000 s",
        ),
        (
            None,
            None,
            "info session-end: never closed: neither peer has sent a CLOSE; the last datagram of the client was 12.0 s before; \
             1 to 2 were not acked for 12.0 s; by nobody, session 1, at 12.000 s",
        ),
    ] {
        let findings = ended(by, reason);
        let ends = findings.list.iter().chain(&findings.ends);
        let codes = ["timed-out", "kicked", "session-end"];
        let ends: Vec<String> = ends
            .filter(|one| codes.contains(&one.topic.name()))
            .map(ToString::to_string)
            .collect();
        assert_eq!(ends, [expected]);
        assert!(findings.ends.iter().all(|end| end.role == Role::End));
        assert!(findings.list.iter().all(|one| one.role != Role::End));
    }
}

#[test]
fn notices_about_peers_are_findings() {
    let mut run = Run::new();
    let stranger = |what| Notice::UnknownSender {
        client: "127.0.0.1:5000".parse().unwrap(),
        len: 12,
        what,
        start: "100000ff".into(),
        bytes: Box::default(),
    };
    for what in [
        OpensNothing::ShortTokenRequest,
        OpensNothing::FlagOfSix,
        OpensNothing::ShortTokenRequest,
        OpensNothing::Other,
        OpensNothing::FlagsOfSeven,
        OpensNothing::FlagOfSix,
        OpensNothing::Running,
        OpensNothing::RefusedTokenRequest,
        OpensNothing::ForeignToken,
    ] {
        run.event(5, None, EventKind::Notice(stranger(what)));
    }
    let findings = run.judge.findings();
    let lines: Vec<String> = findings.list.iter().map(|finding| finding.to_string()).collect();
    let line = |start: &str, middle: &str, end: &str| {
        format!(
            "{start}: 127.0.0.1:5000 sent 12 bytes that open no session{middle}; they begin with 10 00 00 ff; by the client, \
             127.0.0.1:5000, at 0.005 s{end}"
        )
    };
    assert_eq!(
        lines,
        [
            line(
                "error short-token-request",
                ": a TOKEN request of 0.7, but servers answer only requests of 519 bytes or more",
                ", 2 times until 0.005 s"
            ),
            line(
                "error opens-nothing",
                ": byte 0 is 10, the control flag of 0.6: in 0.7 it is 04",
                ", 2 times until 0.005 s"
            ),
            line(
                "error opens-nothing",
                ": the rest is a handshake of 0.7, so byte 0 has to be 04, the control flag",
                ""
            ),
            line("warning opens-nothing", "", ""),
            line(
                "warning protocol-refused",
                ": a TOKEN request of 0.7, which --proto refuses",
                ""
            ),
            line(
                "warning foreign-token",
                ": a handshake of 0.7 with a token that was not given to this address, or too long ago",
                ""
            ),
            line(
                "info no-session",
                ": a datagram of a running session: this address has none (one from before the proxy started, or that is over?)",
                ""
            ),
        ]
    );
}

/// A decision of the proxy because of a limit is a network finding by the proxy, and each decision is counted.
#[test]
fn decisions_of_the_proxy_are_findings_about_no_peer() {
    let mut run = Run::new();
    let client = "127.0.0.1:5000".parse().unwrap();
    let proto = Proto::Ddnet;
    for notice in [
        Notice::AnsweredByProxy { client, proto },
        Notice::AnsweredByProxy { client, proto },
        Notice::DroppedByProxy { client },
        Notice::Suppressed {
            of: "answered_by_proxy".into(),
            count: 240,
        },
        // Suppressed notices of other kinds are not counted.
        Notice::Suppressed {
            of: "unknown_sender".into(),
            count: 99,
        },
    ] {
        run.event(5, None, EventKind::Notice(notice));
    }
    let findings = run.judge.findings();
    let lines: Vec<String> = findings.list.iter().map(|finding| finding.to_string()).collect();
    assert_eq!(
        lines,
        [
            "warning answered-by-proxy: a limit of the proxy is reached: the proxy answered the CONNECT of 127.0.0.1:5000 by itself; the server \
             would have received it and answered with a token of its own, as it did to others; by the proxy, 127.0.0.1:5000, at 0.005 s, 242 times \
             until 0.005 s",
            "warning dropped-by-proxy: a limit of the proxy is reached: the proxy dropped a datagram of 127.0.0.1:5000 that may open a session; \
             the server would have received it; by the proxy, 127.0.0.1:5000, at 0.005 s",
        ]
    );
}

/// A session that was evicted for another session stops because of the proxy, not because of its client.
#[test]
fn a_session_that_gave_way_accuses_no_peer() {
    let mut run = Run::new();
    run.event(0, Some(1), EventKind::Session(session(State::Opening, Proto::V7)));
    run.event(1, Some(1), EventKind::Notice(Notice::HalfOpenLimit));
    run.event(2, Some(1), EventKind::Session(session(State::Closed, Proto::V7)));
    let findings = run.judge.findings();
    let codes: Vec<_> = findings
        .list
        .iter()
        .map(|finding| (finding.topic.name(), finding.by))
        .collect();
    assert_eq!(
        codes,
        [
            ("never-online", Culprit::Proxy),
            ("half-open-limit", Culprit::Proxy)
        ]
    );
}

#[test]
fn runs_of_a_recording_are_apart() {
    let mut run = Run::new();
    run.judge.restart();
    run.datagram(
        10,
        Dir::C2s,
        &chunks(9, false, &[(Some(1), KILL)]),
        &[Code::AckAhead],
    );
    run.judge.restart();
    run.datagram(
        1,
        Dir::C2s,
        &chunks(9, false, &[(Some(1), KILL)]),
        &[Code::AckAhead],
    );
    let findings = run.judge.findings();
    let runs: Vec<_> = findings
        .list
        .iter()
        .map(|finding| (finding.run, finding.count))
        .collect();
    assert_eq!(runs, [(1, 1), (2, 1)]);
    assert!(findings.list[1].place(false).starts_with("run 2, session 1, "));
}

#[test]
fn findings_and_sessions_are_bounded_and_the_rest_is_counted() {
    let mut judge = Judge::default();
    let most = u32::try_from(MOST).unwrap();
    for id in 1..=most + 10 {
        judge.report(Report {
            session: Some(SessionId(id)),
            ..report(Topic::Note(Code::WrongToken), 1)
        });
    }
    // A repeated oddity is still counted.
    judge.report(report(Topic::Note(Code::WrongToken), 2));
    let findings = judge.findings();
    assert_eq!((findings.list.len(), findings.unlisted), (MOST, 10));
    assert!(findings.list.iter().any(|finding| finding.count == 2));
}

#[test]
fn every_kind_has_a_name_of_its_own_and_its_filter_is_right() {
    let mut names: Vec<_> = Topic::all().map(Topic::name).collect();
    for topic in Topic::all() {
        assert_eq!(Topic::named(topic.name()), Ok(topic));
        if let Some(filter) = topic.filter() {
            assert!(Filter::parse(&filter, Registry::builtin()).is_ok(), "{filter}");
        }
        assert!(topic.severity_as(Role::Network) <= Severity::Warning);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len() + FindingCode::ALL.len());
}

/// Nothing that real peers send is an error, even in recordings with losses.
#[test]
fn captures_of_real_peers_have_no_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let mut files = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "pcap") {
            continue;
        }
        files += 1;
        let findings = of_capture(&path);
        let errors: Vec<_> = findings
            .list
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(ToString::to_string)
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        if path.ends_with("loss-tw07.pcap") {
            let lost = findings
                .list
                .iter()
                .filter(|finding| finding.role == Role::Network);
            assert!(lost.count() > 1, "{:?}", findings.list);
        }
        if path.ends_with("npm-to-dd16.pcap") {
            let first = findings.list.first().unwrap();
            assert_eq!(first.topic, Topic::Note(Code::EmptyNoResend), "{first}");
        }
    }
    assert!(files >= 14, "{files}");
}

/// Records an item of a capture. Converts it, since the item's type belongs to another build of this crate.
pub(super) fn take(judge: &mut Judge, decoder: &mut Decoder, item: teetap_capture::Item) {
    use teetap_capture::Item as Read;
    let item = match item {
        Read::Event(event) => Item::Event(event),
        Read::Start { wall, .. } => Item::Start { wall, run: None },
        Read::Gap { at, lost } => Item::Gap { at, lost },
        Read::Log { at, level, text } => Item::Log { at, level, text },
    };
    judge.record(item, decoder, drop);
}

fn of_capture(path: &Path) -> Findings {
    of_playback(Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap())
}

fn of_playback<R: std::io::BufRead>(mut playback: Playback<R>) -> Findings {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    while let Some(item) = playback.read().unwrap() {
        take(&mut judge, &mut decoder, item);
    }
    judge.finish(&mut decoder);
    judge.findings()
}

/// tcpdump drops datagrams on a busy machine although their receivers have them.
#[test]
fn a_recording_that_lacks_a_datagram_accuses_no_peer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    for name in [
        "tw07-session",
        "tw06-session",
        "dd-session",
        "sixup-session",
        "map-dd",
        "dd16-to-tw06",
    ] {
        let bytes = fs::read(folder.join(name).with_extension("pcap")).unwrap();
        let (head, mut rest) = bytes.split_at(24);
        let mut records = Vec::new();
        while let Some(length) = rest.get(8..12) {
            let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
            let (record, after) = rest.split_at(16 + length);
            records.push(record);
            rest = after;
        }
        let errors = |lost: &[usize]| {
            let kept = records.iter().enumerate().filter(|(at, _)| !lost.contains(at));
            let bytes = [
                head,
                &kept.map(|(_, record)| *record).collect::<Vec<_>>().concat(),
            ]
            .concat();
            let list = of_playback(Playback::pcap(std::io::Cursor::new(bytes)).unwrap()).list;
            let errors = list
                .iter()
                .filter(|found| found.severity == Severity::Error && found.by.side().is_some());
            errors.map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(errors(&[]), [] as [&str; 0], "{name}");
        let half = records.len() / 2;
        for at in (8..records.len() - 2).step_by(records.len() / 10) {
            let lost = [at, (at + half) % records.len()];
            assert_eq!(errors(&lost), [] as [&str; 0], "{name} without {lost:?}");
        }
    }
}

/// A run learns the release of the server from its probe, which a recording has as a log line.
#[test]
fn the_release_that_the_probe_was_told_is_named() {
    let line = "the server answers 0.6 in 0.4 ms (\"a, b\", version 0.6.4, 16.4, DM on dm1, 0/16 players) and 0.7 in 0.5 ms";
    let log = |text: &str| Item::Log {
        at: Time::ZERO,
        level: Level::Info,
        text: text.to_owned(),
    };
    for (text, expected) in [
        (line, "DDNet 16.4, by its info"),
        (
            "the server 127.0.0.1:8303 did not answer: nothing listens there",
            "Teeworlds 0.7.5, assumed",
        ),
    ] {
        let mut run = Run::new();
        run.judge.record(log(text), &mut run.decoder, drop);
        let bytes = chunks(9, false, &[(Some(1), KILL)]);
        run.datagram(10, Dir::S2c, &bytes, &[Code::AckAhead]);
        let findings = run.judge.findings().list;
        let program = findings[0].program.as_ref().map(ToString::to_string);
        assert_eq!(program.as_deref(), Some(expected));
    }
}

/// A server of DDNet states its version in the chat to each client that enters. Players cannot state it.
#[test]
fn the_release_that_the_server_writes_in_the_chat_is_named() {
    // The mode, the writer, the receiver and the text.
    let chat = |writer: i32, text: &str| {
        let mut data = vec![6, 1];
        teetap_wire::varint::encode(writer, &mut data);
        [&data, &b"\x40"[..], text.as_bytes(), b"\0"].concat()
    };
    let line = "DDraceNetwork Mod. Version: 0.6.4, 16.4";
    for (writer, text, expected) in [
        (-1, line, "DDNet 16.4, by its chat"),
        (3, line, "Teeworlds 0.7.5, assumed"),
        (
            -1,
            "DDraceNetwork Mod. Version: 0.6.4, x",
            "Teeworlds 0.7.5, assumed",
        ),
        (-1, "Version: 0.6.4, 16.4", "Teeworlds 0.7.5, assumed"),
    ] {
        let mut run = Run::new();
        let bytes = chunks(0, false, &[(Some(1), &chat(writer, text))]);
        run.datagram(10, Dir::S2c, &bytes, &[]);
        let bytes = chunks(9, false, &[(Some(2), KILL)]);
        run.datagram(20, Dir::S2c, &bytes, &[Code::AckAhead]);
        let findings = run.judge.findings().list;
        let found = findings
            .iter()
            .find(|finding| finding.topic.name() == "ack-ahead");
        let program = found
            .and_then(|found| found.program.as_ref())
            .map(ToString::to_string);
        assert_eq!(program.as_deref(), Some(expected), "{writer} {text}");
    }
}

/// Neither a CLOSE nor silence identifies a server.
#[test]
fn a_server_that_has_shown_nothing_has_no_release() {
    for (is_online, expected) in [(false, None), (true, Some("Teeworlds 0.7.5, assumed"))] {
        let mut run = Run::new();
        run.event(0, Some(1), EventKind::Session(session(State::Opening, Proto::V7)));
        if is_online {
            run.event(1, Some(1), EventKind::Session(session(State::Online, Proto::V7)));
        }
        // A CLOSE whose reason lacks its NUL.
        let close = packet(Flags::CONTROL, 0, 0, b"\x04full");
        run.datagram(2, Dir::S2c, &close, &[Code::WrongToken]);
        let findings = run.judge.findings().list;
        let found = findings
            .iter()
            .find(|finding| finding.by == Culprit::Server)
            .unwrap();
        let program = found.program.as_ref().map(ToString::to_string);
        assert_eq!(program.as_deref(), expected, "{found}");
    }
}

/// An item of an extended type is named with the item that would declare the type.
#[test]
fn an_undeclared_type_is_named_with_the_missing_item() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/sixup-session.pcap");
    let list = of_capture(&path).list;
    let found = list.iter().find(|one| one.topic.name() == "snap-undeclared");
    let expected = "got type 32765, which no item of type 0 declares, \
                    expected an item of type 0 with the id 32765 and the UUID of the type";
    let sentence = found.map(Finding::sentence).unwrap_or_default();
    assert!(sentence.contains(expected), "{sentence}");
}

/// A snapshot whose data is too short has no wrong part number.
#[test]
fn a_snapshot_with_too_little_data_has_one_finding() {
    let mut run = Run::new();
    let data = b"\x11\xa4\x32\xa5\x32\x05\x04abc";
    let bytes = crate::testing::chunks(0, false, &[(None, data)]);
    run.datagram(10, Dir::S2c, &bytes, &[]);
    let codes = run.codes();
    assert!(
        codes.contains(&"missing-field") && !codes.contains(&"snap-ignored"),
        "{codes:?}"
    );
}

/// Servers of 0.6.5 and 0.7.5 forward texts as they are.
#[test]
fn a_server_is_not_blamed_for_a_text_that_it_forwards() {
    let (say, chat) = (b"\x30\x01\x40\xff\0", b"\x06\x01\x00\x40\xff\0");
    for (says, by) in [(true, vec![Culprit::Client]), (false, vec![Culprit::Server])] {
        let mut run = Run::new();
        if says {
            run.datagram(10, Dir::C2s, &chunks(0, false, &[(Some(1), say)]), &[]);
        }
        run.datagram(
            20,
            Dir::S2c,
            &chunks(u16::from(says), false, &[(Some(1), chat)]),
            &[],
        );
        let findings = run.judge.findings();
        let invalid = findings
            .list
            .iter()
            .filter(|finding| finding.topic == Topic::Note(Code::InvalidUtf8));
        let found: Vec<_> = invalid.map(|finding| finding.by).collect();
        assert_eq!(found, by, "{says}");
    }
}

/// A server that gets an old ack with a late input refers to a snapshot that the client no longer has.
#[test]
fn a_server_is_not_blamed_for_an_input_that_a_rule_held() {
    let input = [&b"\x29\x05\x06\x28"[..], &[0; 11]].concat();
    for (held, by) in [(true, Culprit::Proxy), (false, Culprit::Server)] {
        let mut run = Run::new();
        let bytes = chunks(0, false, &[(None, &input)]).leak();
        let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, bytes, [&*bytes].into_iter());
        if held {
            datagram.placed = [Placed::new(None, Action::Hold)].into();
        }
        run.event(10, Some(1), EventKind::Datagram(datagram));
        run.datagram(
            20,
            Dir::S2c,
            &chunks(0, false, &[(Some(1), EMOTICON)]),
            &[Code::SnapNoBase],
        );
        let findings = run.judge.findings();
        let found = findings
            .list
            .iter()
            .find(|finding| finding.topic == Topic::Note(Code::SnapNoBase));
        assert_eq!(found.map(|finding| finding.by), Some(by), "{held}");
    }
}

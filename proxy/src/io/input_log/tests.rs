//! A written sequence of inputs is read back equal; damaged and cut logs are reported; a replay finds
//! differences.

#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use std::{
    fs,
    net::{Ipv6Addr, SocketAddr},
    time::{Duration, UNIX_EPOCH},
};

use proptest::{collection::vec, option, prelude::*};
use teetap_rules::{Diagnostic, Program, RuleId};
use teetap_wire::{Dir, Proto, Side, def::Registry};

use super::*;
use crate::session::{
    Command, CommandId, Config, Events, HeldId, Hub, Input, ListenerId, Output, SessionId, Time, UpstreamId,
};

/// A 0.6 server browser request, which the core forwards on a socket of its own.
const REQUEST: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";

const RULES: &str = "drop when c2s and vital\n";

const TEXTS: Texts<'_> = Texts {
    registry: &|definitions| {
        let files: Vec<(&str, &str)> = definitions.iter().map(|of| (&*of.file, &*of.text)).collect();
        let registry = Registry::load(&files)?;
        Ok(Box::leak(Box::new(registry)))
    },
    program: &compile_with,
};

fn compile(source: &str) -> Result<Program, Vec<Diagnostic>> {
    compile_with(source, Registry::builtin())
}

fn compile_with(source: &str, registry: &'static Registry) -> Result<Program, Vec<Diagnostic>> {
    Program::compile(source, registry).map(|(program, _)| program)
}

fn config() -> Config {
    Config {
        seed: 9,
        secret: [7; 16],
        proto: Some(Proto::V7),
        patience: Some(Duration::MAX),
        heals: true,
        events: Events::Nothing,
        registry: Registry::builtin(),
    }
}

pub(super) fn header() -> Header {
    let target = "192.0.2.1:8303".parse().unwrap();
    let listen = "[::1]:9000".parse().unwrap();
    Header::new("0.0.1", &config(), [target, listen], UNIX_EPOCH)
}

/// Returns the text of a log that `act` records.
pub(super) fn written(act: impl FnOnce(&mut Recorder)) -> String {
    written_with(&header(), act)
}

fn written_with(header: &Header, act: impl FnOnce(&mut Recorder)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut recorder, writing) = start(&path, header).unwrap();
    act(&mut recorder);
    drop(recorder);
    writing.finish();
    fs::read_to_string(path).unwrap()
}

/// Handles an input with a core and a recorder, like the driver.
fn step(hub: &mut Hub, recorder: &mut Recorder, at: u64, input: Input<'_>) {
    recorder.begin(Time(at), &input);
    hub.handle(Time(at), input);
    while let Some(output) = hub.poll() {
        recorder.output(&output);
    }
    recorder.end();
}

/// Returns a log in which a client requests the server's info three times, a second apart.
fn recorded() -> String {
    let addr = "127.0.0.1:5000".parse().unwrap();
    let mut hub = Hub::new(config(), header().route());
    written(|recorder| {
        for second in 0..3 {
            let input = Input::FromClient {
                listener: ListenerId::FIRST,
                addr,
                bytes: REQUEST,
            };
            step(&mut hub, recorder, second * 1_000_000, input);
        }
        step(&mut hub, recorder, 60_000_000, Input::Timeout);
    })
}

fn addresses() -> impl Strategy<Value = SocketAddr> {
    let v6 = any::<[u16; 8]>().prop_map(|groups| Ipv6Addr::from(groups).into());
    let v4 = any::<[u8; 4]>().prop_map(std::net::IpAddr::from);
    (prop_oneof![v4, v6], any::<u16>()).prop_map(SocketAddr::from)
}

fn bytes() -> impl Strategy<Value = Hex> {
    vec(any::<u8>(), 0..1400).prop_map(|bytes| Hex(bytes.into()))
}

fn happened() -> impl Strategy<Value = LoggedInput> {
    let error = || any::<String>().prop_map(String::into_boxed_str);
    prop_oneof![
        (any::<u32>(), addresses(), bytes()).prop_map(|(listener, addr, bytes)| LoggedInput::FromClient {
            listener,
            addr,
            bytes
        }),
        (any::<u32>(), addresses())
            .prop_map(|(listener, local)| LoggedInput::ListenerOpened { listener, local }),
        (any::<u32>(), error()).prop_map(|(listener, error)| LoggedInput::ListenerFailed { listener, error }),
        (any::<u32>(), bytes()).prop_map(|(upstream, bytes)| LoggedInput::FromServer { upstream, bytes }),
        (any::<u32>(), addresses())
            .prop_map(|(upstream, local)| LoggedInput::UpstreamOpened { upstream, local }),
        (any::<u32>(), error(), any::<bool>()).prop_map(|(upstream, error, exhausted)| {
            LoggedInput::UpstreamFailed {
                upstream,
                error,
                exhausted,
            }
        }),
        (any::<u32>(), error()).prop_map(|(upstream, error)| LoggedInput::Unreachable { upstream, error }),
        Just(LoggedInput::Timeout),
        (option::of(any::<bool>()), option::of(any::<bool>()))
            .prop_map(|(six, seven)| LoggedInput::Probed { six, seven }),
        option::of(Just(RULES.into())).prop_map(|source| LoggedInput::Program { source, faults: None }),
        bytes().prop_map(|reason| LoggedInput::Shutdown { reason }),
        (any::<u64>(), command()).prop_map(|(id, command)| {
            let id = CommandId(id);
            LoggedInput::Command { id, command }
        }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let session = || any::<u32>().prop_map(SessionId);
    let dir = || prop_oneof![Just(Dir::C2s), Just(Dir::S2c)];
    let side = prop_oneof![Just(Side::Client), Just(Side::Server)];
    let held = || (1..=u32::MAX).prop_map(|held| HeldId(held.try_into().unwrap()));
    let data = || bytes().prop_map(|bytes| bytes.0);
    let name = any::<String>().prop_map(String::into_boxed_str);
    prop_oneof![
        (session(), dir(), any::<bool>(), data()).prop_map(|(session, dir, vital, data)| Command::Inject {
            session,
            dir,
            vital,
            data
        }),
        (session(), any::<u64>()).prop_map(|(session, key)| Command::Release { session, key }),
        (session(), dir(), held()).prop_map(|(session, dir, held)| Command::ReleaseOne {
            session,
            dir,
            held
        }),
        (session(), dir(), held()).prop_map(|(session, dir, held)| Command::Drop { session, dir, held }),
        (session(), dir(), held(), data()).prop_map(|(session, dir, held, data)| Command::Edit {
            session,
            dir,
            held,
            data
        }),
        option::of(session()).prop_map(|session| Command::List { session }),
        session().prop_map(|session| Command::Resync { session }),
        (any::<u16>(), any::<bool>()).prop_map(|(rule, enabled)| Command::Toggle {
            rule: RuleId(rule),
            enabled
        }),
        (any::<u16>(), any::<bool>()).prop_map(|(line, enabled)| Command::ToggleLine { line, enabled }),
        (name, any::<bool>()).prop_map(|(rule, enabled)| Command::ToggleNamed { rule, enabled }),
        (option::of(session()), option::of(side), data()).prop_map(|(session, side, reason)| {
            Command::Close {
                session,
                side,
                reason,
            }
        }),
    ]
}

fn wanted() -> impl Strategy<Value = LoggedOutput> {
    prop_oneof![
        (any::<u32>(), any::<u16>()).prop_map(|(upstream, port)| LoggedOutput::Open { upstream, port }),
        (any::<u32>(), any::<u16>()).prop_map(|(listener, port)| LoggedOutput::Listen { listener, port }),
        any::<u32>().prop_map(LoggedOutput::Close),
        (any::<u32>(), addresses(), bytes()).prop_map(|(listener, addr, bytes)| LoggedOutput::ToClient {
            listener,
            addr,
            bytes
        }),
        (any::<u32>(), bytes()).prop_map(|(upstream, bytes)| LoggedOutput::ToServer { upstream, bytes }),
    ]
}

/// Returns the output of the core that `wanted` records.
fn output(wanted: &LoggedOutput) -> Output<'_> {
    match wanted {
        LoggedOutput::Open { upstream, port } => Output::OpenUpstream {
            upstream: UpstreamId(*upstream),
            port: *port,
        },
        LoggedOutput::Listen { listener, port } => Output::OpenListener {
            listener: ListenerId(*listener),
            port: *port,
        },
        LoggedOutput::Close(upstream) => Output::CloseUpstream(UpstreamId(*upstream)),
        LoggedOutput::ToClient {
            listener,
            addr,
            bytes,
        } => Output::ToClient {
            listener: ListenerId(*listener),
            addr: *addr,
            bytes: &bytes.0,
        },
        LoggedOutput::ToServer { upstream, bytes } => Output::ToServer {
            upstream: UpstreamId(*upstream),
            bytes: &bytes.0,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(
        entries in vec((any::<u64>(), happened(), vec(wanted(), 0..4)), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let entries: Vec<Entry> = entries
            .into_iter()
            .map(|(at, input, outputs)| Entry { at, input, outputs })
            .collect();
        let log = written(|recorder| for entry in &entries {
            recorder.begin(Time(entry.at), &entry.input.input(&compile).unwrap());
            entry.outputs.iter().for_each(|wanted| recorder.output(&output(wanted)));
            recorder.end();
        });
        let mut reader = Reader::open(log.as_bytes()).unwrap();
        prop_assert_eq!(reader.header(), &header());
        let read: Vec<Entry> = reader.by_ref().map(|line| line.unwrap().1).collect();
        prop_assert_eq!(&read, &entries);
        prop_assert_eq!(reader.cut(), None);
        // Cut anywhere after the first line, the log still has a beginning, and is reported as incomplete.
        let first = log.find('\n').unwrap() + 1;
        let cut = first + cut.index(log.len() - first);
        let mut reader = Reader::open(&log.as_bytes()[..cut]).unwrap();
        let read: Vec<Entry> = reader.by_ref().map(|line| line.unwrap().1).collect();
        prop_assert_eq!(&read, &entries[..read.len()]);
        prop_assert!(reader.cut().is_some());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..300), line in ".{0,80}") {
        prop_assert!(Reader::open(bytes.as_slice()).is_err());
        let log = recorded();
        let mut damaged = log.into_bytes();
        damaged.extend_from_slice(line.as_bytes());
        damaged.push(b'\n');
        let reader = Reader::open(damaged.as_slice()).unwrap();
        prop_assert!(reader.last().unwrap().is_err());
    }
}

/// A line of each command, as in the versions from 3 on.
const COMMANDS: [&str; 12] = [
    r#"{"inject":{"id":1,"data":"06ff","dir":"s2c","session":2,"vital":true}}"#,
    r#"{"release":{"id":2,"key":7,"session":2}}"#,
    r#"{"release_one":{"id":3,"dir":"c2s","held":4,"session":2}}"#,
    r#"{"drop_held":{"id":4,"dir":"s2c","held":5,"session":2}}"#,
    r#"{"edit_held":{"id":5,"data":"","dir":"s2c","held":5,"session":2}}"#,
    r#"{"list_held":{"id":6,"session":null}}"#,
    r#"{"toggle":{"id":7,"enabled":false,"rule":3}}"#,
    r#"{"toggle_line":{"id":8,"enabled":true,"line":1}}"#,
    r#"{"toggle_named":{"id":9,"enabled":true,"rule":"drop when sv_chat"}}"#,
    r#"{"resync":{"id":18446744073709551615,"session":4294967295}}"#,
    r#"{"close":{"id":11,"reason":"627965","session":null,"side":"client"}}"#,
    r#"{"close":{"id":12,"reason":"","session":2,"side":null}}"#,
];

#[test]
fn commands_keep_their_names_and_fields() {
    for line in COMMANDS {
        let read: LoggedInput = serde_json::from_str(line).unwrap();
        assert!(matches!(read, LoggedInput::Command { .. }), "{line}");
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
    // The fields may be in any order.
    let first = r#"{"release_one":{"id":3,"session":2,"dir":"c2s","held":4}}"#;
    let read = |line: &str| serde_json::from_str::<LoggedInput>(line).map_err(|error| error.to_string());
    assert_eq!(read(first), read(COMMANDS[2]));
    for (line, why) in [
        (r#"{"resync":{"session":1}}"#, "missing field `id`"),
        (r#"{"resync":{"id":1}}"#, "missing field `session`"),
        (r#"{"resync":{"id":1,"session":1,"x":1}}"#, "unknown field `x`"),
        (
            r#"{"edit_held":{"id":1,"session":1,"dir":"up"}}"#,
            "unknown variant `up`",
        ),
        (r#"{"resinc":{"id":1,"session":1}}"#, "unknown variant `resinc`"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
}

#[test]
fn the_same_core_gives_the_same_outputs() {
    let log = recorded();
    let checked = check(log.as_bytes(), TEXTS).unwrap();
    assert_eq!((checked.difference, checked.cut), (None, None));
    assert_eq!((checked.inputs, checked.received, checked.sent), (4, 3, 3));
    assert_eq!(checked.until, Time(60_000_000));
    assert!(log.contains(r#""in":"timeout","out":[{"close":1}]"#), "{log}");
}

#[test]
fn every_kind_of_difference_is_found() {
    let log = recorded();
    let sent = r#"{"to_server":{"upstream":1,"bytes":"ffffffffffffffffffff6769653307"}}"#;
    let less = format!(",{sent}");
    for (from, to, line, output, [expected, came]) in [
        // One bit differs.
        ("6769653307\"}}", "6769653306\"}}", 2, 2, [true, true]),
        // Less, more, another number.
        (less.as_str(), "", 2, 2, [false, true]),
        (
            "{\"close\":1}]",
            "{\"close\":1},{\"close\":2}]",
            5,
            2,
            [true, false],
        ),
        (
            "\"upstream\":1,\"port\":",
            "\"upstream\":2,\"port\":",
            2,
            1,
            [true, true],
        ),
        ("\"port\":8303", "\"port\":8304", 2, 1, [true, true]),
        // Another secret makes no difference for a request without tokens, but another time does for a
        // timeout.
        ("\"t\":60000000", "\"t\":2000001", 5, 1, [true, false]),
    ] {
        let damaged = log.replacen(from, to, 1);
        assert_ne!(damaged, log);
        let difference = check(damaged.as_bytes(), TEXTS)
            .unwrap()
            .difference
            .expect("a difference");
        assert_eq!(
            (difference.line, difference.output),
            (line, output),
            "{difference}"
        );
        assert_eq!(
            (difference.expected.is_some(), difference.came.is_some()),
            (expected, came),
            "{difference}"
        );
    }
}

#[test]
fn a_damaged_log_is_refused_with_the_line() {
    let log = recorded();
    let other = |from: &str, to: &str| {
        let damaged = log.replacen(from, to, 1);
        assert_ne!(damaged, log);
        check(damaged.as_bytes(), TEXTS)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(other("\"t\":1000000", "\"t\":-1").starts_with("line 3 of the input log is damaged"));
    assert!(other("\"in\":\"timeout\",", "").contains("line 5 of the input log is damaged"));
    for (from, to) in [("3307\"", "330\""), ("3307\"", "330g\""), ("ffff", "+fff")] {
        assert!(other(from, to).contains("even number of hex digits"), "{to}");
    }
    for version in [2, 8] {
        let changed = other("\"input_log\":7", &format!("\"input_log\":{version}"));
        assert!(
            changed.contains(&format!("of version {version}: this teetap reads 3 to 7")),
            "{changed}"
        );
    }
    assert!(other("\"input_log\":7", "\"input_lag\":2").contains("not an input log"));
    assert!(other("0707\"", "07\"").contains("16 bytes"));
    for nothing in ["", "\n", "{}", "{}\n", "\u{0}\n"] {
        assert!(matches!(
            check(nothing.as_bytes(), TEXTS),
            Err(ReadError::NotALog(_))
        ));
    }
}

#[test]
fn a_program_is_in_the_log_as_its_text() {
    let set = |source: &str| {
        let line = format!("{{\"t\":1,\"in\":{{\"program\":{{\"source\":{source}}}}},\"out\":[]}}\n");
        let log = recorded();
        let second = log.find('\n').unwrap() + 1;
        format!("{}{line}{}", &log[..second], &log[second..]).replacen("\"inputs\":4", "\"inputs\":5", 1)
    };
    for source in ["null", "\"\"", &format!("{RULES:?}")] {
        let checked = check(set(source).as_bytes(), TEXTS).unwrap();
        assert_eq!((checked.inputs, checked.difference), (5, None), "{source}");
    }
    let error = check(set("\"drap when c2s\"").as_bytes(), TEXTS).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot compile the program in line 2 of the input log: unknown action `drap`"
    );
}

/// A message that replaces a built-in one with the same name and number.
const DEFINITIONS: &str = "for 0.6 ddnet 0.7\ngame 3 sv_motd s2c vital\n  message str\n";

#[test]
fn definitions_are_in_the_log_and_decide_about_programs() {
    let registry = Box::leak(Box::new(Registry::with("own.tw", DEFINITIONS).unwrap()));
    let config = Config { registry, ..config() };
    let [target, listen] = [header().target, header().listen];
    let header = Header::new("0.0.1", &config, [target, listen], UNIX_EPOCH);
    let rules = "drop when sv_motd.message == \"x\"";
    let log = written_with(&header, |recorder| {
        let mut hub = Hub::new(config.clone(), header.route());
        let program = compile_with(rules, registry).unwrap();
        step(&mut hub, recorder, 0, Input::Program(Some(program.into())));
    });
    let of_log = |log: &str| check(log.as_bytes(), TEXTS);
    let checked = of_log(&log).unwrap();
    assert_eq!((checked.inputs, checked.difference), (1, None));
    assert_eq!(
        checked.header.definitions,
        [Definitions {
            file: "own.tw".into(),
            text: DEFINITIONS.into()
        }]
    );
    let wrong = log.replacen("for 0.6", "for 0.8", 1);
    assert_ne!(wrong, log);
    assert_eq!(
        of_log(&wrong).unwrap_err().to_string(),
        "cannot read the definitions in line 1 of the input log: own.tw:1:5: unknown protocol `0.8` (0.6, ddnet or 0.7)"
    );
    let other = log.replacen("message str", "text str", 1);
    assert!(matches!(of_log(&other), Err(ReadError::Program { line: 2, .. })));
}

#[test]
fn a_log_of_version_3_had_the_built_in_definitions() {
    let log = recorded().replacen("\"input_log\":7", "\"input_log\":3", 1);
    assert!(log.starts_with("{\"input_log\":3,") && !log.contains("definitions"));
    let checked = check(log.as_bytes(), TEXTS).unwrap();
    assert_eq!((checked.inputs, checked.difference), (4, None));
}

#[test]
fn an_input_that_crashes_the_core_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut recorder, writing) = start(&path, &header()).unwrap();
    let crashed = std::thread::spawn(move || {
        recorder.begin(Time(3), &Input::Timeout);
        panic!("expected by this test");
    });
    assert!(crashed.join().is_err());
    writing.finish();
    let text = fs::read(&path).unwrap();
    let mut reader = Reader::open(text.as_slice()).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 1);
    assert!(matches!(reader.cut(), Some(Cut::Because(end)) if end.reason == Reason::Crashed));
}

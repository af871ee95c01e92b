//! Tests of invented events that are recorded and played back, of other people's files, of crashes, and of files that
//! cannot be written.

use std::{fs, io::BufReader, os::unix::fs::PermissionsExt as _, path::Path, thread};

use teetap_inspect::Decoder;
use teetap_kit::capture;
use teetap_wire::{Code, Dir, Note, Proto, Seq, Side, def::Registry};

mod notes;

use super::{writer::TICK, *};
use crate::{Encoder, Item, Playback, ReadError, Run};
use teetap_proxy::{
    io::Bus,
    session::{
        Action, Connless, Datagram, Ends, Event, EventKind, Notice, OpensNothing, Origin, Placed,
        SessionChange, SessionId, State, Transit,
    },
};

fn run() -> Run {
    Run {
        version: "0.0.0".into(),
        wall: 1_700_000_000_000_000_789,
        seed: 7,
        target: "host".into(),
        server: "10.0.0.2:8303".parse().unwrap(),
        listen: "0.0.0.0:8304".parse().unwrap(),
    }
}

fn gist(decoded: &DecodedEvent) -> String {
    format!("gist {}", decoded.event.at.0)
}

fn event(at: u64, what: EventKind) -> Event {
    Event {
        at: Time(at),
        session: Some(SessionId(3)),
        what,
    }
}

fn ends() -> Ends {
    Ends {
        client: Some("127.0.0.1:4444".parse().unwrap()),
        upstream: None,
        local: Some("10.0.0.1:5555".parse().unwrap()),
        ..Ends::default()
    }
}

fn datagram(dir: Dir, received: &[u8], sent: &[&[u8]]) -> Datagram {
    let origin = if received.is_empty() {
        Origin::Proxy
    } else {
        Origin::Peer
    };
    let mut datagram = Datagram::new(dir, Proto::V7, origin, received, sent.iter().copied());
    datagram.ends = ends();
    datagram.ordinal = 9;
    datagram
}

fn delayed(_: &[u8]) -> Transit {
    Transit {
        delay: std::time::Duration::from_millis(40),
        ..Transit::default()
    }
}

/// Returns one event of every kind.
fn events() -> Vec<Event> {
    let change = SessionChange {
        state: State::Closing,
        proto: Proto::V65,
        client: "127.0.0.1:4444".parse().unwrap(),
        server: None,
        upstream: Some("10.0.0.1:5555".parse().unwrap()),
        by: Some(Side::Server),
        reason: Some(b"bye\xff"[..].into()),
    };
    let mut placed = datagram(Dir::S2c, b"received", &[b"sent", b"and more"]);
    placed.placed = [
        Placed::new(Some(Seq::new(1023)), Action::Edit),
        Placed::new(None, Action::Hold),
    ]
    .into();
    placed.notes.push(Note {
        code: Code::AckAhead,
        at: 0,
        len: 2,
    });
    let mut refused = datagram(Dir::C2s, b"refused", &[]);
    refused.leg = Some(Side::Client);
    let connless = |sent: Option<&[u8]>| Connless {
        dir: Dir::C2s,
        client: "127.0.0.1:4444".parse().unwrap(),
        bytes: b"asks"[..].into(),
        cut: 0,
        forwarded: sent.is_some(),
        sent: sent.map(Into::into),
        link: sent.into_iter().map(delayed).collect(),
        ends: ends(),
        placed: None,
        made: None,
    };
    vec![
        event(1000, EventKind::Session(change)),
        event(1001, EventKind::Datagram(placed)),
        event(1002, EventKind::Datagram(refused)),
        event(2000, EventKind::Datagram(datagram(Dir::C2s, b"", &[b"made"]))),
        event(2001, EventKind::Connless(connless(Some(b"asked")))),
        event(2002, EventKind::Connless(connless(None))),
        event(3000, EventKind::Notice(Notice::HalfOpenLimit)),
        event(
            3001,
            EventKind::Notice(Notice::UnknownSender {
                client: "127.0.0.1:4445".parse().unwrap(),
                len: 4,
                what: OpensNothing::Close,
                start: Box::default(),
                bytes: b"lost"[..].into(),
            }),
        ),
    ]
}

/// Returns everything that is shown of an event.
fn shown(event: &Event) -> String {
    let mut event = event.clone();
    if let EventKind::Notice(notice) = &event.what {
        return format!("{} {:?} {:?} {notice}", event.at, event.session, notice.level());
    }
    if let Some(ends) = event.ends_mut() {
        *ends = Ends::default();
    }
    format!("{event:?}")
}

fn play(path: &Path) -> (Vec<Item>, Option<ReadError>) {
    let mut playback = Playback::pcapng(BufReader::new(fs::File::open(path).unwrap()));
    let mut items = Vec::new();
    loop {
        match playback.read() {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return (items, None),
            Err(error) => return (items, Some(error)),
        }
    }
}

fn encoder() -> Box<dyn Encode> {
    Box::new(Encoder::new(run(), gist))
}

/// Records `events` through a bus with this capacity.
fn record(path: &Path, capacity: usize, events: &[Event]) -> Recorded {
    let bus = Bus::with_capacity(capacity);
    let watcher = bus.watch();
    let (mut publisher, worker) = bus.open(Decoder::new(Registry::builtin()));
    events.iter().cloned().for_each(|event| publisher.publish(event));
    drop(publisher);
    worker.run(Clock::start());
    let file = RecordingFile::open(path, end_of_pcapng).unwrap();
    let recording = start(file, encoder(), watcher, Clock::start()).unwrap();
    let done = recording.finish().unwrap();
    let recorded = done.recorded();
    done.summary(Time(9000), "the end", b"");
    recorded
}

#[test]
fn every_event_is_played_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let recorded = record(&path, 64, &events());
    assert_eq!((recorded.packets, recorded.missing, recorded.lost), (9, 0, 0));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let (items, error) = play(&path);
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(&items[0], Item::Start { run: Some(found), .. } if *found == run()));
    let played: Vec<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Event(event) => Some(shown(event)),
            _ => None,
        })
        .collect();
    assert_eq!(played, events().iter().map(shown).collect::<Vec<_>>());
    assert!(
        matches!(items.last(), Some(Item::Log { at: Time(9000), level: Level::Info, text }) if text == "the end")
    );
}

#[test]
fn others_read_the_packets_with_addresses_times_and_comments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    record(&path, 64, &events());
    let packets = capture::read_recording(&path).unwrap();
    let (client, server) = ("teetap client leg", "teetap server leg");
    let seen: Vec<_> = packets
        .iter()
        .map(|packet| {
            let payload = String::from_utf8(packet.payload.clone()).unwrap();
            (
                packet.interface.as_str(),
                packet.from.to_string(),
                packet.to.to_string(),
                payload,
                packet.is_inbound,
            )
        })
        .collect();
    let expected = [
        (server, "10.0.0.2:8303", "10.0.0.1:5555", "received", true),
        (client, "127.0.0.1:8304", "127.0.0.1:4444", "sent", false),
        (client, "127.0.0.1:8304", "127.0.0.1:4444", "and more", false),
        (client, "127.0.0.1:4444", "127.0.0.1:8304", "refused", true),
        (server, "10.0.0.1:5555", "10.0.0.2:8303", "made", false),
        (client, "127.0.0.1:4444", "127.0.0.1:8304", "asks", true),
        (server, "10.0.0.1:5555", "10.0.0.2:8303", "asked", false),
        (client, "127.0.0.1:4444", "127.0.0.1:8304", "asks", true),
        (client, "127.0.0.1:4445", "127.0.0.1:8304", "lost", true),
    ];
    let expected = expected.map(|(leg, from, to, payload, inbound)| {
        (
            leg,
            from.to_owned(),
            to.to_owned(),
            payload.to_owned(),
            Some(inbound),
        )
    });
    assert_eq!(seen, expected);
    assert_eq!(packets[0].nanoseconds, u128::from(run().wall) + 1_001_000);
    assert_eq!(
        (packets[0].comment.as_deref(), packets[1].comment.as_deref()),
        (Some("gist 1001"), Some("gist 1001"))
    );
    assert!(packets.iter().all(|packet| packet.drops == 0));
}

/// After a redirect, packets have the ports of the redirect's listen socket and server.
#[test]
fn what_a_redirect_led_elsewhere_is_recorded_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let mut elsewhere = datagram(Dir::C2s, b"received", &[b"sent"]);
    elsewhere.ends.listen_port = Some(9001);
    elsewhere.ends.server_port = Some(8305);
    record(&path, 64, &[event(1000, EventKind::Datagram(elsewhere))]);
    let packets = capture::read_recording(&path).unwrap();
    let ends = |packet: &capture::Leg| [packet.from, packet.to].map(|end| end.to_string());
    let seen: Vec<_> = packets.iter().map(ends).collect();
    assert_eq!(
        seen,
        [
            ["127.0.0.1:4444", "127.0.0.1:9001"],
            ["10.0.0.1:5555", "10.0.0.2:8305"]
        ]
    );
}

#[test]
fn what_the_recorder_misses_is_counted_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let many: Vec<Event> = (0..100)
        .map(|at| event(at, EventKind::Datagram(datagram(Dir::C2s, b"x", &[b"x"]))))
        .collect();
    let recorded = record(&path, 16, &many);
    assert_eq!((recorded.packets, recorded.missing, recorded.lost), (32, 0, 84));
    let packets = capture::read_recording(&path).unwrap();
    assert_eq!((packets[0].drops, packets[1].drops), (84, 0));
    let (items, _) = play(&path);
    assert!(matches!(items[1], Item::Gap { lost: 84, .. }), "{:?}", items[1]);
}

#[test]
fn a_recording_is_gone_on_with_and_a_broken_end_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    record(&path, 64, &events());
    let first = fs::read(&path).unwrap();
    record(&path, 64, &events());
    let both = fs::read(&path).unwrap();
    assert!(both.starts_with(&first) && both.len() == 2 * first.len());
    let starts = |path: &Path| {
        let (items, error) = play(path);
        assert!(error.is_none(), "{error:?}");
        items
            .iter()
            .filter(|item| matches!(item, Item::Start { .. }))
            .count()
    };
    assert_eq!(starts(&path), 2);
    for cut in [1, 5, 30, first.len() / 2] {
        fs::write(&path, &both[..both.len() - cut]).unwrap();
        let (items, error) = play(&path);
        assert!(
            matches!(error, Some(ReadError::Cut(_))) && items.len() > 3,
            "{error:?}"
        );
        let file = RecordingFile::open(&path, end_of_pcapng).unwrap();
        assert!(file.cut() > 0 && file.is_appended());
        drop(file);
        assert_eq!(
            fs::read(&path).unwrap().len(),
            both.len() - cut,
            "nothing is cut before a run begins"
        );
        record(&path, 64, &events());
        assert_eq!(starts(&path), 3);
        fs::write(&path, &both).unwrap();
    }
}

#[test]
fn nothing_of_anybody_else_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    record(&path, 64, &events());
    let ours = fs::read(&path).unwrap();
    let mut theirs = ours.clone();
    let name = theirs.windows(7).position(|window| window == b"teetap ").unwrap();
    let mut damaged = ours.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 400].fill(0x55);
    let program = theirs
        .windows(12)
        .rposition(|window| window == b"teetap 0.0.0")
        .unwrap();
    assert!(program >= name);
    theirs[program] = b'T';
    let other = folder.path().join("other.pcapng");
    for (bytes, is_damaged) in [
        (b"mine".to_vec(), false),
        (theirs, false),
        (damaged, true),
        (vec![0; 100], false),
    ] {
        fs::write(&other, &bytes).unwrap();
        let error = RecordingFile::open(&other, end_of_pcapng).unwrap_err();
        assert_eq!(matches!(error, FileError::Damaged { .. }), is_damaged, "{error}");
        assert!(is_damaged || matches!(error, FileError::NotOurs(_)), "{error}");
        assert_eq!(fs::read(&other).unwrap(), bytes);
    }
    assert!(matches!(
        RecordingFile::open(folder.path(), end_of_pcapng),
        Err(FileError::NotOurs(_))
    ));
    let nowhere = folder.path().join("no/such/run.pcapng");
    assert!(matches!(
        RecordingFile::open(&nowhere, end_of_pcapng),
        Err(FileError::Create { .. })
    ));
    // A file that is being written, and a recording that was never started.
    let held = RecordingFile::open(&path, end_of_pcapng).unwrap();
    assert!(matches!(
        RecordingFile::open(&path, end_of_pcapng),
        Err(FileError::Busy(_))
    ));
    drop(held);
    let fresh = folder.path().join("fresh.pcapng");
    let file = RecordingFile::open(&fresh, end_of_pcapng).unwrap();
    assert!(fresh.exists() && file.cut() == 0 && !file.is_appended());
    drop(file);
    assert!(!fresh.exists() && path.exists());
}

/// The file contains an event within the promised time, although the run has not ended.
#[test]
fn a_crash_loses_no_more_than_a_tick() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    let bus = Bus::with_capacity(64);
    let file = RecordingFile::open(&path, end_of_pcapng).unwrap();
    let recording = start(file, encoder(), bus.watch(), Clock::start()).unwrap();
    let (mut publisher, worker) = bus.open(Decoder::new(Registry::builtin()));
    thread::spawn(move || worker.run(Clock::start()));
    events().into_iter().for_each(|event| publisher.publish(event));
    let whole = |path: &Path| {
        play(path)
            .0
            .iter()
            .filter(|item| matches!(item, Item::Event(_)))
            .count()
    };
    for _ in 0..500 {
        if whole(&path) == events().len() {
            break;
        }
        thread::sleep(TICK);
    }
    assert_eq!(whole(&path), events().len());
    assert!(recording.finish().is_some());
}

/// Packets are still written to the file, and the change of its path is reported once.
#[test]
fn a_file_that_is_no_longer_at_its_path_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    type Change = fn(&Path);
    let changes: [(Change, bool); 4] = [
        (|_| (), false),
        (|path| fs::remove_file(path).unwrap(), true),
        (|path| fs::rename(path, path.with_extension("old")).unwrap(), true),
        (
            |path| {
                fs::rename(path, path.with_extension("old")).unwrap();
                fs::write(path, b"").unwrap();
            },
            true,
        ),
    ];
    for (change, is_gone) in changes {
        let bus = Bus::<DecodedEvent>::with_capacity(64);
        let file = RecordingFile::open(&path, end_of_pcapng).unwrap();
        let recording = start(file, encoder(), bus.watch(), Clock::start()).unwrap();
        let faults = recording.faults();
        change(&path);
        let looks = if is_gone { 500 } else { 60 };
        let is_noticed = (0..looks).any(|_| {
            thread::sleep(TICK);
            faults.is_gone()
        });
        assert_eq!(is_noticed, is_gone);
        // The change is reported only once, even at the end.
        assert!(recording.finish().is_some());
        assert!(!faults.is_gone());
        let _not_there = fs::remove_file(&path);
    }
}

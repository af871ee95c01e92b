//! Tests of log files: their contents, their mode, and files that cannot be written.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::{
    io::input_log::{Cut, End, Entry, Header, LoggedInput, Reader, Reason},
    session::{Config, Events},
};

fn header() -> Header {
    let config = Config {
        seed: 7,
        secret: [1; 16],
        proto: None,
        patience: None,
        heals: false,
        events: Events::All,
        registry: teetap_wire::def::Registry::builtin(),
    };
    let addr = "127.0.0.1:8303".parse().unwrap();
    Header::new("0.0.1", &config, [addr, addr], std::time::UNIX_EPOCH)
}

fn entry(at: u64) -> Entry {
    Entry {
        at,
        input: LoggedInput::Timeout,
        outputs: Vec::new(),
    }
}

fn push(sender: &mut LogSender<Entry>, count: u64) {
    for at in 0..count {
        sender.push(entry(at));
    }
}

/// Returns the number of inputs in a log, and how it ends.
fn read(text: &[u8]) -> (u64, Option<Cut>) {
    let mut reader = Reader::open(text).unwrap();
    let entries = reader.by_ref().map(Result::unwrap).count();
    (entries.try_into().unwrap(), reader.cut().cloned())
}

#[test]
fn the_file_is_its_owners_alone_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (sender, writing) = start::<Entry>(&path, &header()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(sender);
    writing.finish();
    let before = fs::read(&path).unwrap();
    let again = start::<Entry>(&path, &header()).unwrap_err();
    assert!(matches!(again, LogError::Exists { .. }), "{again}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let nowhere = start::<Entry>(&path.join("below a file"), &header()).unwrap_err();
    assert!(matches!(nowhere, LogError::Create { .. }), "{nowhere}");
}

#[test]
fn a_full_queue_ends_the_log_and_not_the_run() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let (mut sender, receiver) = LogSender::new(10 * LogEntry::weight(&entry(0)));
    let shared = Arc::clone(&sender.shared);
    push(&mut sender, 25);
    assert!(!sender.is_open());
    let faults = sender.faults();
    assert!(faults.news().unwrap().contains("produced faster"));
    assert_eq!(faults.news(), None);
    let mut writer = Writer::new(file.reopen().unwrap(), file.path());
    writer.line(&header(), false).unwrap();
    writer.run(receiver, &shared);
    let mut text = Vec::new();
    io::Read::read_to_end(&mut file, &mut text).unwrap();
    let end = End {
        reason: Reason::QueueFull,
        inputs: 10,
        error: None,
    };
    assert_eq!(read(&text), (10, Some(Cut::Because(end))));
}

#[test]
fn the_queue_has_room_again_when_it_is_written() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (mut sender, receiver) = LogSender::new(1 << 20);
    let shared = Arc::clone(&sender.shared);
    push(&mut sender, 100);
    assert!(shared.queued.load(Ordering::Relaxed) > 0);
    drop(sender);
    Writer::new(file.reopen().unwrap(), file.path()).run(receiver, &shared);
    assert_eq!(shared.queued.load(Ordering::Relaxed), 0);
    assert!(shared.fault.get().is_none());
}

#[test]
fn a_file_that_cannot_be_written_ends_the_log_and_not_the_run() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (mut sender, receiver) = LogSender::new(QUEUE);
    push(&mut sender, 3);
    let read_only = File::open(file.path()).unwrap();
    Writer::new(read_only, file.path()).run(receiver, &Arc::clone(&sender.shared));
    let news = sender.faults().news().unwrap();
    assert!(
        news.starts_with("the input log ends before the run: a write failed: "),
        "{news}"
    );
    // The first entry without a receiver closes the sender.
    push(&mut sender, 2);
    assert!(!sender.is_open());
}

#[test]
fn a_crash_of_the_data_thread_is_the_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (mut sender, writing) = start::<Entry>(&path, &header()).unwrap();
    let crashed = thread::spawn(move || {
        push(&mut sender, 4);
        panic!("expected by this test");
    });
    assert!(crashed.join().is_err());
    writing.finish();
    let (entries, cut) = read(&fs::read(&path).unwrap());
    assert_eq!(entries, 4);
    assert!(matches!(
        cut,
        Some(Cut::Because(End {
            reason: Reason::Crashed,
            ..
        }))
    ));
}

/// Lines are written to the file that was opened, and its absence is reported once.
#[test]
fn a_log_that_is_no_longer_at_its_path_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    type Change = fn(&Path);
    let changes: [(Change, bool); 3] = [
        (|_| (), false),
        (|path| fs::remove_file(path).unwrap(), true),
        (
            |path| {
                fs::rename(path, path.with_extension("old")).unwrap();
                fs::write(path, b"").unwrap();
            },
            true,
        ),
    ];
    for (change, is_moved) in changes {
        let (mut sender, writing) = start::<Entry>(&path, &header()).unwrap();
        let faults = writing.faults();
        push(&mut sender, 3);
        change(&path);
        let looks = if is_moved { 500 } else { 80 };
        let news = (0..looks).find_map(|_| {
            thread::sleep(TICK);
            faults.news()
        });
        let expected = format!(
            "the input log {} was deleted or moved; the run continues and writes to the file that was there",
            path.display()
        );
        assert_eq!(news, is_moved.then_some(expected));
        push(&mut sender, 3);
        drop(sender);
        writing.finish();
        assert_eq!(faults.news(), None);
        let _not_there = fs::remove_file(&path);
    }
    // The same at the end of a run.
    let (sender, writing) = start::<Entry>(&path, &header()).unwrap();
    let faults = writing.faults();
    fs::remove_file(&path).unwrap();
    drop(sender);
    writing.finish();
    assert!(faults.news().unwrap().contains("deleted or moved"));
}

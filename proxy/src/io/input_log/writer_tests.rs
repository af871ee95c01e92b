//! The file, and what happens when it takes no more.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{super::tests::header, *};
use crate::io::input_log::{Cut, Reader};

fn log(path: PathBuf) -> InputLog {
    InputLog {
        path,
        version: "0.0.1",
    }
}

fn timeouts(recorder: &mut Recorder, count: u64) {
    for at in 0..count {
        recorder.begin(Time(at), &Input::Timeout);
        recorder.end();
    }
}

/// Returns the number of inputs in a log, and its end.
fn read(text: &[u8]) -> (u64, Option<Cut>) {
    let mut reader = Reader::open(text).unwrap();
    let entries = reader.by_ref().map(Result::unwrap).count();
    (entries.try_into().unwrap(), reader.cut().cloned())
}

#[test]
fn the_file_is_its_owners_alone_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (recorder, writing) = start(&log(path.clone()), &header()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(recorder);
    writing.finish();
    let before = fs::read(&path).unwrap();
    let again = start(&log(path.clone()), &header()).unwrap_err();
    assert!(matches!(again, LogError::Exists(_)), "{again}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let nowhere = start(&log(path.join("below a file")), &header()).unwrap_err();
    assert!(matches!(nowhere, LogError::Create { .. }), "{nowhere}");
}

#[test]
fn a_full_queue_ends_the_log_and_not_the_run() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let weight = Entry {
        at: 0,
        input: Happened::Timeout,
        outputs: Vec::new(),
    }
    .weight();
    let (mut recorder, receiver) = Recorder::new(10 * weight);
    let shared = Arc::clone(&recorder.shared);
    timeouts(&mut recorder, 25);
    assert!(recorder.sender.is_none() && recorder.open.is_none());
    let faults = Faults(Arc::clone(&shared));
    assert!(faults.news().unwrap().contains("more came"));
    assert_eq!(faults.news(), None);
    let mut writer = Writer::new(file.reopen().unwrap());
    writer.line(&header()).unwrap();
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
    let (mut recorder, receiver) = Recorder::new(1 << 20);
    let shared = Arc::clone(&recorder.shared);
    timeouts(&mut recorder, 100);
    assert!(shared.queued.load(Ordering::Relaxed) > 0);
    drop(recorder);
    Writer::new(file.reopen().unwrap()).run(receiver, &shared);
    assert_eq!(shared.queued.load(Ordering::Relaxed), 0);
    assert!(shared.fault.get().is_none());
}

#[test]
fn a_file_that_cannot_be_written_ends_the_log_and_not_the_run() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (mut recorder, receiver) = Recorder::new(QUEUE);
    let shared = Arc::clone(&recorder.shared);
    timeouts(&mut recorder, 3);
    let read_only = File::open(file.path()).unwrap();
    Writer::new(read_only).run(receiver, &shared);
    let news = Faults(Arc::clone(&shared)).news().unwrap();
    assert!(news.contains("could not be written"), "{news}");
    // The first input without a receiver closes the recorder's end.
    timeouts(&mut recorder, 2);
    assert!(recorder.sender.is_none() && recorder.open.is_none());
}

#[test]
fn an_input_that_crashes_the_core_is_in_the_log() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let (mut recorder, receiver) = Recorder::new(QUEUE);
    let shared = Arc::clone(&recorder.shared);
    timeouts(&mut recorder, 3);
    let crashed = thread::spawn(move || {
        recorder.begin(Time(3), &Input::Timeout);
        panic!("expected by this test");
    });
    assert!(crashed.join().is_err());
    let mut writer = Writer::new(file.reopen().unwrap());
    writer.line(&header()).unwrap();
    writer.run(receiver, &shared);
    let mut text = Vec::new();
    io::Read::read_to_end(&mut file, &mut text).unwrap();
    let (entries, cut) = read(&text);
    assert_eq!(entries, 4);
    assert!(matches!(
        cut,
        Some(Cut::Because(End {
            reason: Reason::Crashed,
            ..
        }))
    ));
}

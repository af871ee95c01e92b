//! The input log of a walk: recorded, replayed, and read with damage.

use std::{fmt::Write as _, fs, time::UNIX_EPOCH};

use teetap_kit::world::route;
use teetap_proxy::{
    io::{
        Writing,
        input_log::{self, Header, Recorder, Texts},
    },
    session::Config,
};
use teetap_repeatable::{Random, checksum};
use teetap_rules::Program;
use tempfile::TempDir;

use crate::messages::registry;

/// Number of damaged copies of a log.
const DAMAGED: u32 = 6;

/// An input log that is being written.
pub(crate) struct Recording {
    folder: TempDir,
    writing: Writing,
}

impl Recording {
    /// Creates the log of a run with this configuration.
    pub(crate) fn start(config: &Config) -> (Recorder, Self) {
        let folder = tempfile::tempdir().unwrap();
        let header = Header::new(
            "of this test",
            config,
            [route().server, route().listen],
            UNIX_EPOCH,
        );
        let (recorder, writing) = input_log::start(&folder.path().join("log"), &header).unwrap();
        (recorder, Self { folder, writing })
    }

    /// Replays the log, and damaged copies of it. Returns the results.
    pub(crate) fn finish(self, random: &mut Random) -> String {
        self.writing.finish();
        let log = fs::read(self.folder.path().join("log")).unwrap();
        let mut text = format!("log {} {:016x}\n{}", log.len(), checksum(&log), replayed(&log));
        for _ in 0..DAMAGED {
            let mut copy = log.clone();
            let at = usize::try_from(random.below(log.len() as u64)).unwrap();
            match random.below(4) {
                0 => copy.truncate(at),
                1 => copy[at] ^= 1 << random.below(7),
                2 => drop(copy.drain(at..(at + 20).min(log.len()))),
                _ => {
                    // A whole line is missing.
                    let mut lines: Vec<_> = log.split_inclusive(|byte| *byte == b'\n').collect();
                    lines.remove(usize::try_from(random.below(lines.len() as u64)).unwrap());
                    copy = lines.concat();
                }
            }
            text += &replayed(&copy);
        }
        text
    }
}

/// Returns the result of a replay.
fn replayed(log: &[u8]) -> String {
    let texts = Texts {
        registry: &|_| Ok(registry()),
        program: &|source, registry| Program::compile(source, registry).map(|(program, _)| program),
    };
    let mut text = String::new();
    let _infallible = match input_log::check(log, texts) {
        Ok(checked) => writeln!(
            text,
            "{} inputs {} received {} sent until {} {:?} {:?} {:?}",
            checked.inputs,
            checked.received,
            checked.sent,
            checked.until,
            checked.header,
            checked.difference.map(|difference| difference.to_string()),
            checked.cut.map(|cut| cut.to_string()),
        ),
        Err(error) => writeln!(text, "{error}"),
    };
    text
}

//! The events of a walk: as a run emits them, or as a reader of a recording adds them.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use teetap_capture::{Item, Playback};
use teetap_inspect::{DecodedEvent, Decoder, Snapshots};
use teetap_proxy::session::{Event, Time};
use teetap_wire::def::Registry;

use super::{BYTES, Walk};
use crate::{Reading, Seek};

/// Returns the events of a recording in the project, and the decoder for them.
pub(super) fn recorded(path: &str) -> Vec<Event> {
    let file = BufReader::new(File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap());
    let mut playback = match path.ends_with("pcapng") {
        true => Playback::pcapng(file),
        false => Playback::pcap(file).unwrap(),
    };
    let items = std::iter::from_fn(|| playback.read().unwrap());
    let events = items.filter_map(|item| match item {
        Item::Event(event) => Some(event),
        _ => None,
    });
    events.collect()
}

/// Returns a decoder for a screen, as for a run.
pub(super) fn decoder(snapshots: &Snapshots) -> Decoder {
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.measure_items();
    decoder.ignore_items();
    decoder.share_snapshots(snapshots.clone());
    decoder
}

impl Walk {
    /// Adds the next events of a run.
    pub(super) fn receive(&mut self) {
        for _ in 0..self.random.below(2 * self.pace + 1) {
            let Some(event) = self.events.get(self.next).cloned() else {
                break;
            };
            self.next += 1;
            let at = event.at;
            let decoded = Arc::new(self.decoder.decode(event));
            self.app.push(&decoded);
            self.app.tick(at);
        }
        let now = self.app.now();
        self.app
            .tick(Time(now.0 + self.random.below(400_000) / self.pace));
    }

    /// Adds the next events of a recording, from the position that the screen asks for.
    pub(super) fn read(&mut self) {
        let size = self.events.len() as u64 * BYTES;
        let end = self.events.last().map(|event| event.at);
        match self.below(3) {
            0 => self.app.set_index(size, end),
            _ => self.app.set_index(self.random.below(size), None),
        }
        if let Some(seek) = self.app.take_seek() {
            self.note("seek", &format!("{seek:?}"));
            let after = |at: u64| usize::try_from(at / BYTES).unwrap();
            let place = match seek {
                Seek::Stop => return self.app.set_reading(Reading::Stopped),
                Seek::Filter if self.app.reader_filter().is_some() => 0,
                Seek::Filter => after(self.app.offset()),
                Seek::To(offset) => after(offset),
                Seek::Time(time) => self.events.partition_point(|event| event.at < time),
                Seek::End => after(self.app.tail()),
            };
            self.selects = match seek {
                Seek::End => None,
                Seek::Time(time) => Some(time),
                _ => Some(Time::ZERO),
            };
            self.app.begin_reading(seek, place as u64 * BYTES);
            self.app.set_reading(Reading::On);
            self.decoder = decoder(&self.snapshots);
            self.next = place;
        }
        if !self.app.wants_rows() {
            return self.app.set_reading(Reading::Waiting);
        }
        self.app.mark_offset(self.next as u64 * BYTES);
        let is_filtered = self.app.reader_filter().is_some();
        for _ in 0..self.random.below(8 * self.pace) {
            let Some(event) = self.events.get(self.next).cloned() else {
                self.app.set_reading(Reading::Ended);
                break;
            };
            self.next += 1;
            let decoded: Arc<DecodedEvent> = Arc::new(self.decoder.decode(event));
            // Some of the events match the filter.
            if !is_filtered || self.next.is_multiple_of(5) {
                self.app.push_read(&decoded);
            }
        }
        self.selects.take_if(|time| self.app.select_time(*time));
        self.app.set_read(self.next as u64 * BYTES);
        let now = self.app.now();
        self.app.tick(now);
    }
}

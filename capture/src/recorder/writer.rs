//! The thread of the recorder.

use std::{
    sync::{Arc, atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::{Clock, Seen, Watcher},
    session::{Event, EventKind, Level, Notice, Time},
};
use teetap_wire::{counted, printable_path};

use super::{
    destination::Destination,
    flight::{AFTER, Flight, Goal, LONGEST_FILE, MOST_FILES},
    format::Encode,
    outcome::{Recorded, Shared, Trouble},
    ring::{Kind, LIMIT},
};

/// Interval between two polls of the bus.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// Number of polls between two checks of the file's path.
const FILE_EVERY: u32 = 50;

/// Bytes per write.
const BLOCK: usize = 256 << 10;

/// A recording that is complete except for its summary.
pub struct CompletedRecording {
    pub(super) writer: Writer,
}

/// State of the recorder's thread.
pub(super) struct Writer {
    /// `None` while a flight recorder writes no file.
    pub(super) destination: Option<Destination>,
    /// `None` if every event is written at once.
    pub(super) flight: Option<Flight>,
    pub(super) encode: Box<dyn Encode>,
    pub(super) block: Vec<u8>,
    /// Ends of the complete events in the block, and the number of packets in each.
    pub(super) ends: Vec<usize>,
    pub(super) packets: Vec<u64>,
    pub(super) recorded: Recorded,
    pub(super) shared: Arc<Shared>,
}

impl CompletedRecording {
    /// Returns the outcome.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        self.writer.recorded.clone()
    }

    /// Writes the summary of the run, as text or as a JSON line. A flight recorder without an open file has none.
    pub fn summary(mut self, at: Time, text: &str, json: &[u8]) {
        if self.writer.destination.is_none() {
            return;
        }
        let Writer { encode, block, .. } = &mut self.writer;
        encode.summary(at, text, json, block);
        self.writer.end_of(0);
        self.writer.write();
    }
}

impl Writer {
    /// Records until the end of the run.
    pub(super) fn run(
        mut self,
        mut watcher: Watcher<DecodedEvent>,
        lines: &mpsc::Receiver<(Time, Level, String)>,
        clock: Clock,
    ) -> CompletedRecording {
        let mut looks = 0;
        let mut was_gone = false;
        loop {
            // Loaded before the last poll, so that no event is left.
            let is_last = self.shared.stop.load(Ordering::Acquire);
            while let Some(seen) = watcher.poll() {
                self.record(&seen, clock.now());
            }
            for (at, level, text) in lines.try_iter() {
                self.append(at, Kind::Other, 0, |encode, block| {
                    encode.log(at, level, &text, block);
                });
            }
            self.write();
            self.tick(clock.now(), is_last);
            looks = (looks + 1) % FILE_EVERY;
            let is_gone = || self.destination.as_ref().is_some_and(Destination::is_gone);
            if (looks == 0 || is_last) && !was_gone && is_gone() {
                was_gone = true;
                self.shared.is_gone.store(true, Ordering::Relaxed);
            }
            if self
                .destination
                .as_ref()
                .is_some_and(Destination::has_lost_reader)
            {
                let _the_first_counts = self.shared.fault.set(Trouble::ReaderLeft);
            }
            if is_last {
                self.recorded.lost = watcher.lost();
                return CompletedRecording { writer: self };
            }
            thread::sleep(TICK);
        }
    }

    fn record(&mut self, seen: &Seen<DecodedEvent>, now: Time) {
        let (at, kind, packets, saves) = match seen {
            Seen::Event(decoded) => {
                let event = &decoded.event;
                (event.at, Kind::of(event), packets_of(event), decoded.saves)
            }
            Seen::Gap(_) => (now, Kind::Other, 0, false),
        };
        self.append(at, kind, packets, |encode, block| encode.seen(seen, now, block));
        if saves {
            self.trigger(at);
        }
    }

    /// Adds an encoded event to the file, to the events of a flight recorder, or to both.
    fn append(
        &mut self,
        at: Time,
        kind: Kind,
        packets: u64,
        encode: impl FnOnce(&mut dyn Encode, &mut Vec<u8>),
    ) {
        if self.shared.fault.get().is_some() {
            self.recorded.missing += packets;
            return;
        }
        let begin = self.block.len();
        encode(&mut *self.encode, &mut self.block);
        if let Some(flight) = &mut self.flight {
            flight.push(at, kind, self.block.get(begin..).unwrap_or_default(), packets);
            if self.destination.is_none() {
                self.block.truncate(begin);
                return;
            }
        }
        self.end_of(packets);
    }

    /// Ends an event with this number of packets.
    fn end_of(&mut self, packets: u64) {
        self.ends.push(self.block.len());
        self.packets.push(packets);
        if self.block.len() >= BLOCK {
            self.write();
        }
    }

    /// Writes the complete events.
    pub(super) fn write(&mut self) {
        if self.shared.fault.get().is_none()
            && !self.block.is_empty()
            && let Some(destination) = &mut self.destination
        {
            let (whole, trouble) = match destination.write(&self.block, &self.ends, &self.shared.stop) {
                Ok(()) => (self.ends.len(), None),
                Err((whole, trouble)) => (whole, Some(trouble)),
            };
            let (written, missing) = self.packets.split_at(whole.min(self.packets.len()));
            self.recorded.packets += written.iter().sum::<u64>();
            self.recorded.missing += missing.iter().sum::<u64>();
            if let Some(trouble) = trouble {
                self.fail(trouble);
            }
        } else {
            self.recorded.missing += self.packets.iter().sum::<u64>();
        }
        self.block.clear();
        self.ends.clear();
        self.packets.clear();
    }

    /// Ends the recording, or the file of a flight recorder, because of an error.
    fn fail(&mut self, trouble: Trouble) {
        self.recorded.has_failed |= matches!(trouble, Trouble::Write(_));
        if self.ends_file(&trouble) {
            return;
        }
        let _the_first_counts = self.shared.fault.set(trouble);
    }
}

/// The flight recorder.
impl Writer {
    /// Begins a file because a message matched at the time `at`, or continues the current file.
    fn trigger(&mut self, at: Time) {
        let Some(flight) = &mut self.flight else { return };
        if let Some((first, until)) = &mut flight.current {
            *until = (at + AFTER).min(*first + LONGEST_FILE);
            return;
        }
        let Goal::OnMatch(names) = &mut flight.goal else {
            return;
        };
        if flight.files >= MOST_FILES || at < flight.not_before {
            return;
        }
        let created = names.create();
        match created {
            Ok(file) => {
                flight.files += 1;
                flight.current = Some((at, at + AFTER));
                self.recorded.saved = Some((flight.files, file.path().to_owned()));
                let path = printable_path(file.path());
                let mut file = Destination::from(file);
                let kept = file.keep();
                self.destination = Some(file);
                if let Err(error) = kept {
                    return self.fail(Trouble::Write(error.to_string()));
                }
                self.shared
                    .say(Level::Info, format!("--save-on matched: recording to {path}"));
                self.write_ring(at);
            }
            Err(error) => {
                flight.not_before = at + AFTER;
                self.recorded.has_failed = true;
                self.shared.say(Level::Warning, error.to_string());
            }
        }
    }

    /// Leaves out old events, and ends the current file if it is complete. At the end of the run, `is_last`, writes the
    /// events to the file that has waited for it.
    fn tick(&mut self, now: Time, is_last: bool) {
        let Some(flight) = &mut self.flight else { return };
        flight.ring.end_old(now);
        if let (true, Goal::AtEnd(file)) = (is_last, &mut flight.goal)
            && let Some(mut file) = file.take()
        {
            let kept = file.keep();
            self.destination = Some(file);
            match kept {
                Ok(()) => self.write_ring(now),
                Err(error) => self.fail(Trouble::Write(error.to_string())),
            }
            return;
        }
        // At the end of the run, the summary follows in the file.
        if !is_last && flight.current.is_some_and(|(_, until)| now > until) {
            flight.current = None;
            let is_last_file = flight.files >= MOST_FILES;
            self.write();
            self.destination = None;
            if is_last_file {
                let text =
                    format!("--save-on has recorded {MOST_FILES} files: later matches are not recorded");
                self.shared.say(Level::Warning, text);
            }
        }
    }

    /// Writes the start of the run and the kept events.
    fn write_ring(&mut self, now: Time) {
        let Some(mut flight) = self.flight.take() else {
            return;
        };
        self.block.clear();
        self.block.extend_from_slice(&flight.header);
        self.end_of(0);
        flight
            .ring
            .state()
            .for_each(|state| self.block.extend_from_slice(state));
        let left_out = flight.ring.left_out();
        if left_out > 0 {
            let begin = flight.ring.begin().unwrap_or(now);
            self.encode.left_out(begin, left_out, &mut self.block);
        }
        self.end_of(0);
        for (bytes, packets) in flight.ring.events() {
            self.block.extend_from_slice(bytes);
            self.end_of(packets);
            if self.destination.is_none() || self.shared.fault.get().is_some() {
                break;
            }
        }
        self.write();
        if flight.ring.take_short() {
            let since = flight.ring.begin().map_or(0, |begin| now.since(begin).as_secs());
            self.shared.say(
                Level::Warning,
                format!(
                    "--keep holds at most {} MiB: the recording begins {} before its end or match",
                    LIMIT >> 20,
                    counted(since, "second")
                ),
            );
        }
        // A write error has ended the file in the meantime.
        if self.destination.is_none() {
            flight.current = None;
            flight.not_before = now + AFTER;
        }
        self.flight = Some(flight);
    }

    /// Ends the file that a match began, because of an error. Returns false if the recording has no such file.
    fn ends_file(&mut self, trouble: &Trouble) -> bool {
        let is_on_match = self.recorded.saved.is_some();
        let Some(file) = self.destination.take_if(|_| is_on_match) else {
            return is_on_match;
        };
        if let Some(flight) = &mut self.flight
            && let Some((_, until)) = std::mem::take(&mut flight.current)
        {
            flight.not_before = until;
        }
        if let Trouble::Write(why) = trouble {
            let path = printable_path(file.path());
            self.shared.say(
                Level::Warning,
                format!("cannot write {path}: {why}; it is incomplete at its end, and the run continues"),
            );
        }
        true
    }
}

/// Returns the number of packets of an event.
pub(crate) fn packets_of(event: &Event) -> u64 {
    let packets = match &event.what {
        EventKind::Datagram(datagram) => usize::from(datagram.received().is_some()) + datagram.sent().count(),
        EventKind::Connless(connless) => {
            usize::from(connless.received().is_some()) + usize::from(connless.sent.is_some())
        }
        EventKind::Notice(Notice::UnknownSender { bytes, .. }) => usize::from(!bytes.is_empty()),
        EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => 0,
    };
    packets as u64
}

//! The screen of a recording: the positions that the user asks for, and the rows that a reader of the file adds.

use std::{sync::Arc, time::SystemTime};

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::Time;
use teetap_rules::Filter;

use super::{
    App,
    cursor::Moves as _,
    filter::Filtering,
    timeline::{Reading, Seek, Timeline},
};

/// Maximum number of rows between the selected row and the last row at which the reader continues.
const NEAR: usize = 100;

impl App {
    /// Shows a recording of `size` bytes.
    pub fn show_recording(&mut self, size: u64) {
        // Rows of other parts can be read again.
        self.messages.history.keeps_rare = false;
        self.timeline = Some(Timeline::new(size));
    }

    /// Sets the time at which the recording, or a run in it, was started. A run has a `seed`.
    pub fn set_start(&mut self, wall: SystemTime, seed: Option<u64>) {
        // Times of day refer to the first start, or to the start of the last run in the recording.
        if self.messages.is_empty() || seed.is_some() {
            self.run.title.start = wall;
        }
        if seed.is_some() {
            self.run.title.seed = seed;
        }
    }

    /// Sets the number of bytes that the index covers, and the time of the last event; `None` until it is known.
    pub fn set_index(&mut self, indexed: u64, until: Option<Time>) {
        if let Some(timeline) = &mut self.timeline {
            self.terminal.changed |= (timeline.indexed, timeline.until) != (indexed, until);
            (timeline.indexed, timeline.until) = (indexed, until);
        }
    }

    /// Returns the requested position and clears it. A position that the index has not reached yet stays requested.
    pub fn take_seek(&mut self) -> Option<Seek> {
        let timeline = self.timeline.as_mut()?;
        let seek = timeline.take_wanted()?;
        if !timeline.is_beyond(seek) {
            return Some(seek);
        }
        timeline.seek(seek);
        let percent = timeline.percent(timeline.indexed);
        self.dialog
            .say(format!("the index is at {percent} %: waiting for it"));
        self.terminal.changed = true;
        None
    }

    /// Returns the byte offset of the selected row in the recording.
    #[must_use]
    pub fn offset(&self) -> u64 {
        let row = self.messages.number();
        let timeline = self.timeline.as_ref();
        timeline.map_or(0, |timeline| {
            row.map_or(timeline.listed.start, |row| timeline.offset_of(row))
        })
    }

    /// Returns the byte offset at which reading starts to show the end of the recording.
    #[must_use]
    pub fn tail(&self) -> u64 {
        self.timeline.as_ref().map_or(0, Timeline::tail)
    }

    /// Returns the filter that the reader evaluates; `None` if there is none.
    #[must_use]
    pub fn reader_filter(&self) -> Option<&Filter> {
        self.messages.filter().and_then(Filtering::for_reader)
    }

    /// Removes all rows and starts to list rows from byte `offset`, where reading starts for a position.
    pub fn begin_reading(&mut self, seek: Seek, offset: u64) {
        let is_filtered = self.reader_filter().is_some();
        // Other views keep their sessions while the list shows the matches of a filter.
        self.clear(!is_filtered);
        if let Some(timeline) = &mut self.timeline {
            timeline.begin(offset);
            timeline.is_long = is_filtered || seek == Seek::End;
        }
    }

    /// Records that the following rows were read after byte `offset`.
    pub fn mark_offset(&mut self, offset: u64) {
        let rows = self.messages.history.numbers();
        if let Some(timeline) = &mut self.timeline {
            timeline.mark(rows.end, offset, rows.start);
        }
        self.terminal.changed = true;
    }

    /// Adds an event of the recording, which passes the filter of the reader.
    pub fn push_read(&mut self, decoded: &Arc<DecodedEvent>) {
        self.run.now = self.run.now.max(decoded.event.at);
        match self.reader_filter() {
            Some(_) => self.push_match(decoded),
            None => self.push(decoded),
        }
    }

    /// Selects the first row at `time` or later. Returns false if it was not read yet; selects the first row until then.
    pub fn select_time(&mut self, time: Time) -> bool {
        let is_read = self.messages.select_time(time);
        if !is_read && !self.messages.is_empty() {
            self.messages.first();
        }
        is_read
    }

    /// Returns true if further rows should be read: the list still keeps all rows, or its last rows are selected or
    /// followed.
    #[must_use]
    pub fn wants_rows(&self) -> bool {
        let list = &self.messages;
        let is_near = || {
            list.selected()
                .is_some_and(|selected| selected + NEAR >= list.len())
        };
        !list.history.is_full() || !list.is_frozen() && (list.follows() || is_near())
    }

    /// Sets the byte offset up to which rows were read.
    pub fn set_read(&mut self, offset: u64) {
        if let Some(timeline) = &mut self.timeline {
            let before = std::mem::replace(&mut timeline.listed.end, offset);
            self.terminal.changed |= before != offset;
        }
    }

    /// Sets the state of the reading.
    pub fn set_reading(&mut self, reading: Reading) {
        if let Some(timeline) = &mut self.timeline {
            let before = std::mem::replace(&mut timeline.reading, reading);
            self.terminal.changed |= before != reading;
        }
    }
}

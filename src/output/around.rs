//! The matches of a search, with the messages around them.
//!
//! Law: a search keeps at most as many messages as it prints before a match.

use std::collections::VecDeque;

use teetap_inspect::{
    DecodedEvent, EventLines, Reading, Style,
    fold::Moment,
    jsonl,
    lines::{About, Line},
};

use super::plain::Lines;

/// Context and limits of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Number of messages printed before each match.
    pub(crate) before: usize,
    /// Number of messages printed after each match.
    pub(crate) after: usize,
    /// Number of matches after which the search ends.
    pub(crate) max: Option<u64>,
    /// True to print only the number of matches.
    pub(crate) count: bool,
}

/// A search.
#[derive(Debug)]
pub(crate) struct Around {
    extent: Extent,
    /// Messages that are printed if a match follows.
    waiting: VecDeque<Vec<u8>>,
    /// Number of messages still to be printed after the last match.
    left: usize,
    /// True if messages were left out after the last printed message.
    is_apart: bool,
    found: u64,
}

/// A rendered message with the lines that belong to it.
struct Unit {
    text: Vec<u8>,
    matches: bool,
}

/// Line between printed messages that are not neighbours, if context is printed.
const SEPARATOR: &[u8] = b"--\n";

impl Extent {
    /// Returns true if messages that do not match are printed.
    pub(crate) const fn has_context(self) -> bool {
        self.before > 0 || self.after > 0
    }
}

impl Around {
    pub(crate) const fn new(extent: Extent) -> Self {
        Self {
            extent,
            waiting: VecDeque::new(),
            left: 0,
            is_apart: false,
            found: 0,
        }
    }

    /// Returns the number of matches.
    pub(crate) const fn found(&self) -> u64 {
        self.found
    }

    /// Returns true if only the number of matches is printed.
    pub(crate) const fn counts(&self) -> bool {
        self.extent.count
    }

    /// Returns true if nothing more will be printed.
    pub(crate) fn is_done(&self) -> bool {
        self.has_all() && self.left == 0
    }

    fn has_all(&self) -> bool {
        self.extent.max.is_some_and(|max| self.found >= max)
    }

    /// Adds an event, and appends the messages that can be printed now.
    pub(crate) fn event(
        &mut self,
        decoded: &DecodedEvent,
        style: Style,
        plain: &mut Lines,
        out: &mut Vec<u8>,
    ) {
        if self.extent.count {
            let found = self.found + decoded.matches;
            self.found = self.extent.max.map_or(found, |max| max.min(found));
            return;
        }
        for unit in units(decoded, style, plain) {
            if self.is_done() {
                return;
            }
            self.add_unit(unit, style.json, out);
        }
    }

    fn add_unit(&mut self, unit: Unit, json: bool, out: &mut Vec<u8>) {
        let is_match = unit.matches && !self.has_all();
        self.found += u64::from(is_match);
        if is_match {
            let is_first = self.found == 1;
            if self.is_apart && !is_first && self.extent.has_context() && !json {
                out.extend_from_slice(SEPARATOR);
            }
            self.waiting.drain(..).for_each(|before| out.extend(before));
            out.extend(unit.text);
            (self.left, self.is_apart) = (self.extent.after, false);
        } else if self.left > 0 {
            self.left -= 1;
            out.extend(unit.text);
        } else {
            self.waiting.push_back(unit.text);
            if self.waiting.len() > self.extent.before {
                self.waiting.pop_front();
                self.is_apart = true;
            }
        }
    }
}

/// Renders the messages of an event. Lines of a datagram belong to its first message, items of a snapshot to the
/// message that completes it. A datagram without messages counts as one message.
fn units(decoded: &DecodedEvent, style: Style, plain: &mut Lines) -> Vec<Unit> {
    let lines = EventLines::from_event(decoded, style);
    let moment = Moment::of_event(decoded);
    // Messages around a match may never be printed, so they get no sentences.
    let mut render = |line: &Line, matches: bool, out: &mut Vec<u8>| match style.json {
        true => jsonl::line(&lines, line, style, out),
        false => plain.line((&lines, line), moment, style, matches, out),
    };
    let mut units: Vec<Unit> = Vec::new();
    let mut start = Vec::new();
    for line in &lines.list {
        let matches = match line.about {
            About::Message { index, .. } => lines
                .message(index)
                .is_some_and(|message| message.visibility.shown),
            About::Connless => lines.message(0).is_some_and(|message| message.visibility.shown),
            About::Items(_) | About::Whole(_) => {
                if let Some(unit) = units.last_mut() {
                    render(line, false, &mut unit.text);
                }
                continue;
            }
            About::Datagram => {
                let reading = lines.reading.filter(|reading| reading.is_bare());
                let Some(reading) = reading else {
                    render(line, false, &mut start);
                    continue;
                };
                reading.shown
            }
            About::Bytes(_) if lines.reading.is_some_and(Reading::is_bare) => {
                if let Some(unit) = units.last_mut() {
                    render(line, false, &mut unit.text);
                }
                continue;
            }
            _ => {
                render(line, false, &mut start);
                continue;
            }
        };
        let mut text = std::mem::take(&mut start);
        render(line, matches, &mut text);
        units.push(Unit { text, matches });
    }
    if !start.is_empty() {
        units.push(Unit {
            text: start,
            matches: false,
        });
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches ten messages of which those in `matching` match. Returns the output.
    fn printed(extent: Extent, matching: &[usize]) -> String {
        let (mut around, mut out) = (Around::new(extent), Vec::new());
        for number in 0..10 {
            let unit = Unit {
                text: format!("{number}\n").into_bytes(),
                matches: matching.contains(&number),
            };
            if !around.is_done() {
                around.add_unit(unit, false, &mut out);
            }
        }
        String::from_utf8(out).unwrap().replace('\n', " ")
    }

    #[test]
    fn context_is_that_of_grep() {
        let extent = |before, after| Extent {
            before,
            after,
            ..Extent::default()
        };
        assert_eq!(printed(extent(0, 0), &[3, 7]), "3 7 ");
        assert_eq!(printed(extent(1, 0), &[3, 7]), "2 3 -- 6 7 ");
        assert_eq!(printed(extent(0, 2), &[3, 7]), "3 4 5 -- 7 8 9 ");
        // Neighbouring messages are not separated, and no message is printed twice.
        assert_eq!(printed(extent(1, 2), &[3, 7]), "2 3 4 5 6 7 8 9 ");
        assert_eq!(printed(extent(3, 3), &[0, 1, 9]), "0 1 2 3 4 -- 6 7 8 9 ");
        assert_eq!(printed(extent(2, 2), &[]), "");
    }

    #[test]
    fn a_search_ends_after_its_last_match() {
        let extent = |before, after, max| Extent {
            before,
            after,
            max: Some(max),
            count: false,
        };
        assert_eq!(printed(extent(0, 0, 2), &[1, 3, 5]), "1 3 ");
        assert_eq!(printed(extent(0, 3, 2), &[1, 3, 5]), "1 2 3 4 5 6 ");
        assert_eq!(printed(extent(1, 0, 1), &[4, 5]), "3 4 ");
    }
}

//! Lines that fit the terminal.

use std::{borrow::Cow, io};

use teetap_inspect::diff::FieldDifference;

use crate::{
    command::diff::lists::NONE,
    look::{Look, Stream, TextColor, columns},
    output::fit,
};

/// Columns of a line if stdout is not a terminal.
const WIDTH: usize = 80;

/// Minimum columns of a line.
const LEAST: usize = 40;

/// Characters of a long value shown before the first difference.
const BEFORE: usize = 6;

/// Lines that fit the terminal.
pub(super) struct Page {
    pub(super) out: String,
    pub(super) look: Stream,
    pub(super) width: usize,
    /// True to list the names of equal messages.
    pub(super) all: bool,
}

impl Page {
    pub(super) fn new(all: bool) -> Self {
        Self {
            out: String::new(),
            look: Look::get().out,
            width: columns(io::stdout()).unwrap_or(WIDTH).max(LEAST),
            all,
        }
    }

    /// Joins names with commas. Replaces names in the middle by an ellipsis if there are too many for `room` columns.
    pub(super) fn one_line(&self, names: &[String], room: usize) -> String {
        let whole = names.join(", ");
        match names {
            [first, .., last] if fit::width(&whole) > room => {
                format!("{first} {} {last}", self.look.text("…"))
            }
            _ => whole,
        }
    }

    /// Returns a field with both values, in at most `room` columns.
    pub(super) fn pair(&self, field: &FieldDifference, room: usize) -> String {
        let [a, b] = field.values.each_ref().map(|value| {
            let value = value.as_deref().unwrap_or(NONE);
            self.look.text(value).into_owned()
        });
        let path = &field.path;
        let whole = format!("{path}: {a} | {b}");
        if fit::width(&whole) <= room {
            return whole;
        }
        let each = room.saturating_sub(fit::width(path) + 5) / 2;
        let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
        let [a, b] = [a, b].map(|value| self.around(&value, same, each));
        format!("{path}: {a} | {b}")
    }

    /// Returns the part of a value around the first difference, in at most `room` columns.
    fn around(&self, value: &str, same: usize, room: usize) -> String {
        if fit::width(value) <= room {
            return value.to_owned();
        }
        let ellipsis = self.look.text("…");
        // The first character that differs is between two ellipses.
        let before = BEFORE.min(room.saturating_sub(2 * fit::width(&ellipsis) + 1));
        let skipped = if same > 2 * BEFORE { same - before } else { 0 };
        let rest: String = value.chars().skip(skipped).collect();
        let start = if skipped > 0 { ellipsis } else { Cow::Borrowed("") };
        let shown = format!("{start}{rest}");
        if fit::width(&shown) <= room {
            return shown;
        }
        let cut = fit::cut(&[(TextColor::Plain, shown.into())], room, self.look.ascii);
        cut.into_iter().map(|(_, text)| text).collect()
    }

    pub(super) fn blank(&mut self) {
        self.out.push('\n');
    }

    pub(super) fn title(&mut self, title: &str) {
        self.blank();
        self.line(&[(TextColor::Bold, title.to_owned())]);
    }

    /// Prints a line, cut to the width.
    pub(super) fn line(&mut self, parts: &[(TextColor, String)]) {
        let parts: Vec<fit::Span<'_>> = parts
            .iter()
            .map(|(ink, text)| (*ink, Cow::from(self.look.text(text).into_owned())))
            .collect();
        let width: usize = parts.iter().map(|(_, text)| fit::width(text)).sum();
        let parts = if width > self.width {
            fit::cut(&parts, self.width, self.look.ascii)
        } else {
            parts
        };
        for (ink, text) in parts {
            self.look.paint(ink, &text, &mut self.out);
        }
        self.out.push('\n');
    }
}

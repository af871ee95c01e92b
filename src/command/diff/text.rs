//! The result of a comparison as lines for people.

use std::{borrow::Cow, io};

use teetap_inspect::diff::{Comparison, Difference, FieldDifference, Found, How, Run};
use teetap_wire::{Dir, counted, printable};

use super::{Outcome, Read};
use crate::{
    exit::Exit,
    look::{Look, Stream, TextColor, columns},
    output::fit,
};

/// Columns of a line if stdout is not a terminal.
const WIDTH: usize = 80;

/// Minimum columns of a line.
const LEAST: usize = 40;

/// Columns before a field, which is printed below the name.
const INDENT: usize = 11;

/// Number of further messages of the same name that are folded into one line instead of printed one by one.
const FEW: usize = 3;

/// Characters of a long value shown before the first difference.
const BEFORE: usize = 6;

/// Lines that fit the terminal.
struct Page {
    out: String,
    look: Stream,
    width: usize,
    /// True to list the names of equal messages.
    all: bool,
}

/// Returns the result as lines.
pub(super) fn text(result: &Outcome, all: bool) -> String {
    let width = columns(io::stdout()).unwrap_or(WIDTH).max(LEAST);
    let mut page = Page {
        out: String::new(),
        look: Look::get().out,
        width,
        all,
    };
    page.result(result);
    page.out
}

impl Page {
    fn result(&mut self, result: &Outcome) {
        let Outcome {
            sides,
            comparison,
            exit,
        } = result;
        if *exit == Exit::Ok {
            return self.same(comparison);
        }
        let names = sides.each_ref().map(|read| read.source.name());
        let longest = names.iter().map(|name| fit::width(name)).max().unwrap_or(0);
        for ((letter, ink), (name, read)) in [("A", TextColor::Error), ("B", TextColor::Session)]
            .into_iter()
            .zip(names.iter().zip(sides))
        {
            let space = " ".repeat(longest - fit::width(name));
            let about = about(read);
            self.line(&[
                (ink, letter.into()),
                (TextColor::Plain, format!("  {name}{space}  {about}")),
            ]);
        }
        for (dir, title) in [(Dir::C2s, "client to server"), (Dir::S2c, "server to client")] {
            let of_dir = |found: &&Found| match found {
                Found::Alike(run) => run.dir == dir,
                Found::Different(difference) => difference.dir == dir,
            };
            let all = comparison.messages.iter().chain(&comparison.noise);
            self.part(title, all.filter(of_dir));
        }
        self.part("by tick", comparison.ticks.iter());
        if comparison.same_game == Some(false) {
            self.blank();
            let text = "inputs and snapshots are of two games: not compared by tick";
            self.line(&[(TextColor::Faint, text.to_owned())]);
        }
        self.blank();
        self.line(&[(TextColor::Bold, summary(comparison))]);
    }

    fn same(&mut self, comparison: &Comparison) {
        let totals = comparison.totals;
        let ticks = match totals.ticks_alike {
            0 => String::new(),
            count => format!(", {count} inputs and snapshots"),
        };
        let messages = counted(totals.alike, "message");
        self.line(&[(TextColor::Session, format!("the same: {messages}{ticks}"))]);
    }

    /// Prints a section unless it is empty.
    fn part<'f>(&mut self, title: &str, found: impl Iterator<Item = &'f Found>) {
        let mut found = found.peekable();
        if found.peek().is_none() {
            return;
        }
        self.blank();
        self.line(&[(TextColor::Bold, title.to_owned())]);
        while let Some(first) = found.next() {
            let first = match first {
                Found::Alike(run) => {
                    self.alike(run);
                    continue;
                }
                Found::Different(first) => first,
            };
            let mut more = Vec::new();
            while let Some(next) = found.peek().and_then(|next| like(first, next)) {
                more.push(next);
                found.next();
            }
            self.differences(first, &more);
        }
    }

    fn alike(&mut self, run: &Run) {
        if self.all {
            for name in &run.names {
                self.line(&[(TextColor::Faint, format!("  {name}"))]);
            }
            return;
        }
        let count = run.names.len();
        let mut line = format!("  {count} alike: {}", folded(&run.names).join(", "));
        if let [first, .., last] = &*run.names
            && fit::width(&line) > self.width
        {
            let ellipsis = self.look.text("…").into_owned();
            line = format!("  {count} alike: {first} {ellipsis} {last}");
        }
        self.line(&[(TextColor::Faint, line)]);
    }

    /// Prints consecutive messages of the same name that only one side has.
    fn differences(&mut self, first: &Difference, more: &[&Difference]) {
        if self.all || more.len() < FEW {
            self.difference(first);
            more.iter().for_each(|difference| self.difference(difference));
            return;
        }
        let folded = Difference {
            name: format!("{} ×{}", first.name, 1 + more.len()).into(),
            fields: Vec::new(),
            ..first.clone()
        };
        self.difference(&folded);
    }

    fn difference(&mut self, difference: &Difference) {
        let (sign, ink) = match difference.how {
            How::Changed => ('~', TextColor::Warning),
            How::OnlyA => ('-', TextColor::Error),
            How::OnlyB => ('+', TextColor::Session),
            How::Moved => ('>', TextColor::Notice),
        };
        let [at_a, at_b] = difference.at;
        let at = at_a.or(at_b).unwrap_or_default().as_secs_f64();
        let name = name(difference);
        let start = format!("{sign} {at:>8.3} {name}");
        let more = extent(difference);
        let mut head = vec![(ink, start.clone()), (TextColor::Faint, more.clone())];
        let room = self
            .width
            .saturating_sub(fit::width(&start) + fit::width(&more) + 2);
        match (&*difference.fields, difference.how) {
            ([], _) => self.line(&head),
            (fields, How::OnlyA | How::OnlyB) => {
                let side = usize::from(difference.how == How::OnlyB);
                let values = fields.iter().filter_map(|field| {
                    let value = field.values.get(side)?.as_deref()?;
                    Some(format!(" {}={value}", field.path))
                });
                head.push((TextColor::Plain, format!(" {}", values.collect::<String>())));
                self.line(&head);
            }
            ([field], _) if fit::width(&self.pair(field, usize::MAX)) <= room => {
                head.push((TextColor::Plain, format!("  {}", self.pair(field, room))));
                self.line(&head);
            }
            (fields, _) => {
                self.line(&head);
                for field in fields {
                    let pair = self.pair(field, self.width - INDENT);
                    self.line(&[(TextColor::Plain, format!("{}{pair}", " ".repeat(INDENT)))]);
                }
            }
        }
    }

    /// Returns a field with both values, in at most `room` columns.
    fn pair(&self, field: &FieldDifference, room: usize) -> String {
        let [a, b] = field.values.each_ref().map(|value| {
            let value = value.as_deref().unwrap_or("(none)");
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

    fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Prints a line, cut to the width.
    fn line(&mut self, parts: &[(TextColor, String)]) {
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

/// Returns `next` if only one side has both messages, and they have the same name.
fn like<'f>(one: &Difference, next: &'f Found) -> Option<&'f Difference> {
    let Found::Different(next) = next else { return None };
    let is_alone = matches!(one.how, How::OnlyA | How::OnlyB) && one.tick.is_none();
    (is_alone && one.how == next.how && one.name == next.name).then_some(next)
}

/// Describes a side: its session, protocol, duration and player name.
fn about(read: &Read) -> String {
    let side = &read.side;
    let mut facts = vec![format!("session {}", side.session.0)];
    facts.extend(side.proto.map(|proto| proto.to_string()));
    facts.push(format!("{:.3} s", side.lasted.as_secs_f64()));
    facts.extend(
        side.player
            .as_ref()
            .map(|name| format!("\"{}\"", printable(name.as_bytes()))),
    );
    facts.join(", ")
}

/// Returns the names. Consecutive equal names become one name with its count.
fn folded(names: &[Box<str>]) -> Vec<String> {
    let rows = names.chunk_by(|a, b| a == b);
    rows.filter_map(|row| {
        let name = row.first()?;
        Some(match row.len() {
            1 => name.to_string(),
            count => format!("{name} ×{count}"),
        })
    })
    .collect()
}

fn name(difference: &Difference) -> String {
    match (difference.layer, difference.id) {
        (None, Some(id)) if difference.count == 1 => format!("snap.{}[{id}]", difference.name),
        (None, _) => format!("snap.{}", difference.name),
        (Some(_), _) => difference.name.to_string(),
    }
}

/// Returns the count and the position of a difference.
fn extent(difference: &Difference) -> String {
    let [at_a, at_b] = difference.at;
    match (difference.how, difference.tick, difference.count) {
        (How::Moved, ..) => {
            let at = at_b.or(at_a).unwrap_or_default().as_secs_f64();
            format!("  in another place: in B at {at:.3}")
        }
        (_, Some(tick), 1) => format!("  tick {tick}"),
        (_, Some(tick), count) => format!("  {count} times from tick {tick} on"),
        (How::OnlyA | How::OnlyB, None, count) if count > 1 => format!("  {count} messages"),
        (_, None, _) => String::new(),
    }
}

fn summary(comparison: &Comparison) -> String {
    let totals = comparison.totals;
    let counts = [
        (totals.changed, "changed"),
        (totals.only_a, "only in A"),
        (totals.only_b, "only in B"),
        (totals.moved, "moved"),
        (totals.unlisted, "not listed"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let differences = counted(totals.differences(), "difference");
    let alike = format!("{} alike", totals.alike);
    match &*counts {
        [] => format!("{differences}; {alike}"),
        counts => format!("{differences}: {}; {alike}", counts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(width: usize, ascii: bool) -> Page {
        Page {
            out: String::new(),
            look: Stream {
                colours: false,
                ascii,
            },
            width,
            all: false,
        }
    }

    fn field(a: &str, b: &str) -> FieldDifference {
        FieldDifference {
            path: "message".into(),
            values: [Some(a.into()), Some(b.into())],
        }
    }

    fn changed(fields: Vec<FieldDifference>) -> Difference {
        Difference {
            how: How::Changed,
            dir: Dir::C2s,
            layer: Some(teetap_inspect::Layer::Game),
            name: "cl_say".into(),
            at: [Some(teetap_proxy::session::Time(1_500_000)), None],
            frame: [None, None],
            tick: None,
            id: None,
            count: 1,
            fields,
        }
    }

    #[test]
    fn one_field_is_on_the_line_of_its_message_and_more_are_below_it() {
        let mut lines = page(80, false);
        lines.difference(&changed(vec![field("\"a\"", "\"b\"")]));
        lines.difference(&changed(vec![field("1", "2"), field("3", "4")]));
        assert_eq!(
            lines.out,
            "~    1.500 cl_say  message: \"a\" | \"b\"\n\
             ~    1.500 cl_say\n           message: 1 | 2\n           message: 3 | 4\n"
        );
    }

    #[test]
    fn long_values_are_cut_around_the_first_difference() {
        let start = "x".repeat(100);
        for (width, ascii) in [(80, false), (40, true), (60, true)] {
            let mut lines = page(width, ascii);
            let fields = vec![field(&format!("{start}1 ünd"), &format!("{start}2{start}"))];
            lines.difference(&changed(fields));
            assert!(
                lines.out.contains("x1") && lines.out.contains("x2"),
                "{}",
                lines.out
            );
            assert!(
                lines.out.lines().all(|line| fit::width(line) <= width),
                "{}",
                lines.out
            );
            assert!(!ascii || lines.out.is_ascii());
        }
    }

    #[test]
    fn many_messages_of_a_name_are_one_line() {
        let only = |name: &str| {
            Found::Different(Difference {
                how: How::OnlyB,
                name: name.into(),
                ..changed(Vec::new())
            })
        };
        let mut lines = page(80, false);
        let found = ["a", "b", "b", "c", "c", "c", "c"].map(only);
        lines.part("title", found.iter());
        let rows: Vec<&str> = lines.out.lines().skip(2).collect();
        let row = |name: &str| format!("+    1.500 {name}");
        assert_eq!(rows, ["a", "b", "b", "c ×4"].map(row));
    }

    #[test]
    fn names_in_a_row_are_folded() {
        let run = |names: &[&str]| Run {
            dir: Dir::C2s,
            names: names.iter().map(|name| (*name).into()).collect(),
        };
        let mut lines = page(40, false);
        lines.alike(&run(&["info", "sv_chat", "sv_chat", "ready"]));
        lines.alike(&run(&["first_of_them", "one_in_the_middle", "last_of_them"]));
        assert_eq!(
            lines.out,
            "  4 alike: info, sv_chat ×2, ready\n  3 alike: first_of_them … last_of_them\n"
        );
    }
}

//! The result of a comparison as lines for people.

use std::{borrow::Cow, io};

use teetap_inspect::diff::{
    Comparison, Difference, FieldDifference, Found, How, Measure, Run, Statistic, Stop,
};
use teetap_wire::{Dir, counted, printable};

use super::{
    Outcome, Read,
    lists::{NONE, with_lists_joined},
    reference::of_proto,
};
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

/// Maximum characters of the name of a rule.
const RULE: usize = 40;

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
            join_only,
        } = result;
        self.protocols(sides);
        if *exit == Exit::Ok {
            self.same(comparison);
            if self.all || comparison.statistics.iter().any(|one| one.differs) {
                self.statistics(&comparison.statistics);
            }
            return;
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
        if *join_only {
            let text = "messages are compared up to enter_game, because a reference is a join";
            self.line(&[(TextColor::Faint, text.to_owned())]);
        }
        for (dir, title) in [(Dir::C2s, "client to server"), (Dir::S2c, "server to client")] {
            let of_dir = |found: &&Found| match found {
                Found::Alike(run) => run.dir == dir,
                Found::Different(difference) => difference.dir == dir,
            };
            let stop = comparison.stops[dir].as_ref();
            let tail = stop.map_or(0, |stop| stop.more);
            let messages: Vec<&Found> = comparison.messages.iter().filter(of_dir).collect();
            let (both, tail) = messages.split_at(messages.len().saturating_sub(tail));
            let noise = comparison.noise.iter().filter(of_dir);
            let is_empty = messages.is_empty() && noise.clone().next().is_none();
            if is_empty {
                continue;
            }
            self.title(title);
            self.list(both.iter().copied());
            if let Some(stop) = stop {
                self.stop(stop, tail);
            }
            self.list(noise);
        }
        if !comparison.ticks.is_empty() {
            self.title("by tick");
            self.list(comparison.ticks.iter());
        }
        if comparison.same_game == Some(false) {
            self.blank();
            let text = "inputs and snapshots are of two games: compared by statistics, not by tick";
            self.line(&[(TextColor::Faint, text.to_owned())]);
        }
        self.statistics(&comparison.statistics);
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

    /// Says that the sides speak different protocols, if they do.
    fn protocols(&mut self, [a, b]: &[Read; 2]) {
        if let (Some(of_a), Some(of_b)) = (a.side.proto, b.side.proto)
            && of_a != of_b
        {
            let text = format!("two protocols: A speaks {of_a}, B speaks {of_b}");
            self.line(&[(TextColor::Warning, text)]);
            let other = if a.source.reference.is_some() { of_b } else { of_a };
            let is_reference = |read: &Read| read.source.reference.is_some();
            if is_reference(a) != is_reference(b)
                && let Some(better) = of_proto(other)
            {
                let text = format!("a reference of the same protocol: {better}");
                self.line(&[(TextColor::Plain, text)]);
            }
        }
    }

    /// Prints where a side stops, and the further messages of the other side.
    fn stop(&mut self, stop: &Stop, tail: &[&Found]) {
        let letter = if stop.side == 0 { "A" } else { "B" };
        let after = match &stop.after {
            Some((name, at)) => format!("after {name} at {:.3}", at.as_secs_f64()),
            None => "before its first message".to_owned(),
        };
        let verb = match &*stop.still {
            [] => "stops".to_owned(),
            still => format!("sends only {}", still.join(", ")),
        };
        let text = format!("  {letter} {verb} {after}");
        self.line(&[(TextColor::Warning, text)]);
        let (first, rest) = tail.split_at(tail.len().min(if self.all { tail.len() } else { 1 }));
        self.list(first.iter().copied());
        let names: Vec<Box<str>> = rest
            .iter()
            .filter_map(|found| match found {
                Found::Different(difference) => Some(difference.name.clone()),
                Found::Alike(_) => None,
            })
            .collect();
        if !names.is_empty() {
            let (sign, ink) = sign(if stop.side == 0 { How::OnlyB } else { How::OnlyA });
            let start = format!("{sign} {} more: ", names.len());
            let room = self.width.saturating_sub(fit::width(&start));
            let list = self.one_line(&folded(&names), room);
            self.line(&[(ink, start), (TextColor::Plain, list)]);
        }
    }

    /// Joins names with commas. Replaces names in the middle by an ellipsis if there are too many for `room` columns.
    fn one_line(&self, names: &[String], room: usize) -> String {
        let whole = names.join(", ");
        match names {
            [first, .., last] if fit::width(&whole) > room => {
                format!("{first} {} {last}", self.look.text("…"))
            }
            _ => whole,
        }
    }

    fn title(&mut self, title: &str) {
        self.blank();
        self.line(&[(TextColor::Bold, title.to_owned())]);
    }

    /// Prints the statistics that differ; all with `-v`.
    fn statistics(&mut self, all: &[Statistic]) {
        let shown: Vec<&Statistic> = all.iter().filter(|one| self.all || one.differs).collect();
        let alike = all.iter().filter(|one| !one.differs).count();
        if shown.is_empty() && alike < FEW {
            return;
        }
        self.title("statistics of the game, not counted as differences");
        for one in shown {
            let (sign, ink) = if one.differs {
                ('~', TextColor::Warning)
            } else {
                (' ', TextColor::Faint)
            };
            let about = one.about.map_or(String::new(), |about| format!(" ({about})"));
            let [a, b] = one.values.each_ref().map(measure);
            let pair = FieldDifference {
                path: format!("{}{about}", one.name).into(),
                values: [Some(a.into()), Some(b.into())],
            };
            let pair = self.pair(&pair, self.width.saturating_sub(2));
            self.line(&[(ink, format!("{sign} {pair}"))]);
        }
        if !self.all && alike > 0 {
            let text = format!("  {alike} alike: -v lists them");
            self.line(&[(TextColor::Faint, text)]);
        }
    }

    /// Prints a list of differences and equal messages.
    fn list<'f>(&mut self, found: impl Iterator<Item = &'f Found>) {
        let mut found = found.peekable();
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
        let start = format!("  {} alike: ", run.names.len());
        let room = self.width.saturating_sub(fit::width(&start));
        let list = self.one_line(&folded(&run.names), room);
        self.line(&[(TextColor::Faint, format!("{start}{list}"))]);
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
        let (sign, ink) = sign(difference.how);
        let [at_a, at_b] = difference.at;
        let at = at_a.or(at_b).unwrap_or_default().as_secs_f64();
        let name = name(difference);
        let start = format!("{sign} {at:>8.3} {name}");
        let more = format!("{}{}", rules(difference), extent(difference));
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
            (fields, _) => {
                let fields = with_lists_joined(fields);
                if let [field] = &*fields
                    && fit::width(&self.pair(field, usize::MAX)) <= room
                {
                    head.push((TextColor::Plain, format!("  {}", self.pair(field, room))));
                    return self.line(&head);
                }
                self.line(&head);
                for field in &fields {
                    let pair = self.pair(field, self.width - INDENT);
                    self.line(&[(TextColor::Plain, format!("{}{pair}", " ".repeat(INDENT)))]);
                }
            }
        }
    }

    /// Returns a field with both values, in at most `room` columns.
    fn pair(&self, field: &FieldDifference, room: usize) -> String {
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

/// Returns the value of a statistic as text.
fn measure(value: &Measure) -> String {
    match value {
        Measure::PerSecond(rate) => format!("{rate:.1}"),
        Measure::Percent(percent) => format!("{percent:.0} %"),
        Measure::Spread(middle, least, greatest) if least == greatest => middle.to_string(),
        Measure::Spread(middle, least, greatest) => format!("{middle} ({least} to {greatest})"),
        Measure::Count(count) => count.to_string(),
        Measure::Always(value) => format!("always {value}"),
        Measure::Varies => "varies".to_owned(),
    }
}

const fn sign(how: How) -> (char, TextColor) {
    match how {
        How::Changed => ('~', TextColor::Warning),
        How::OnlyA => ('-', TextColor::Error),
        How::OnlyB => ('+', TextColor::Session),
        How::Moved => ('>', TextColor::Notice),
    }
}

/// Returns the names of the rules that acted on a message: ` (slow; chat4)`; empty if there are none.
fn rules(difference: &Difference) -> String {
    let names: Vec<String> = difference
        .rules
        .iter()
        .map(|rule| printable(rule.as_bytes()).chars().take(RULE).collect())
        .collect();
    match &*names {
        [] => String::new(),
        names => format!(" ({})", names.join("; ")),
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
            rules: Vec::new(),
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
        lines.list(found.iter());
        let rows: Vec<&str> = lines.out.lines().collect();
        let row = |name: &str| format!("+    1.500 {name}");
        assert_eq!(rows, ["a", "b", "b", "c ×4"].map(row));
    }

    #[test]
    fn the_elements_of_a_list_are_one_line() {
        let element = |path: &str, a: Option<&str>, b: &str| FieldDifference {
            path: path.into(),
            values: [a.map(Into::into), Some(b.into())],
        };
        let mut lines = page(80, false);
        lines.difference(&changed(vec![
            element("count", Some("1"), "3"),
            element("clients", Some("[1]"), "[13]"),
            element("clients[0].name", Some("\"a\""), "\"b\""),
            element("clients[0].clan", Some("1"), "2"),
            element("clients[1].name", Some("\"d\""), "\"e\""),
            element("clients[12].name", None, "\"c\""),
            element("parts[0]", None, "1"),
            element("parts[1]", None, "2"),
        ]));
        assert_eq!(
            lines.out,
            "~    1.500 cl_say\n           count: 1 | 3\n           \
             clients[0-1,12].name: \"a\", \"d\", (none) | \"b\", \"e\", \"c\"\n           \
             clients[0].clan: 1 | 2\n           parts[0-1]: (none) | 1, 2\n"
        );
    }

    #[test]
    fn the_name_of_a_rule_is_escaped_and_short() {
        let mut lines = page(80, false);
        lines.difference(&Difference {
            rules: vec!["slow".into(), "\u{1b}[2Jx".into(), "y".repeat(60).into()],
            ..changed(Vec::new())
        });
        assert!(
            lines.out.starts_with("~    1.500 cl_say (slow; "),
            "{}",
            lines.out
        );
        assert!(!lines.out.contains('\u{1b}'), "{}", lines.out);
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

//! The result of a comparison as lines for people.

mod list;
mod page;

use teetap_inspect::diff::{Comparison, FieldDifference, Found, How, Measure, Statistic, Stop};
use teetap_wire::{Dir, counted, printable};

use super::{Outcome, Read, reference::of_proto};
use crate::{exit::Exit, look::TextColor, output::fit};
use list::{folded, sign};
use page::Page;

/// Number of further messages of the same name that are folded into one line instead of printed one by one.
const FEW: usize = 3;

/// Returns the result as lines.
pub(super) fn text(result: &Outcome, all: bool) -> String {
    let mut page = Page::new(all);
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
        self.sides(sides);
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

    /// Prints the name and the session of each side.
    fn sides(&mut self, sides: &[Read; 2]) {
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
mod tests;

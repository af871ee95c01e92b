//! Messages that differ, and rows of equal messages.

use teetap_inspect::diff::{Difference, Found, How, Run};
use teetap_wire::printable;

use super::{FEW, page::Page};
use crate::{command::diff::lists::with_lists_joined, look::TextColor, output::fit};

/// Columns before a field, which is printed below the name.
const INDENT: usize = 11;

/// Maximum characters of the name of a rule.
const RULE: usize = 40;

impl Page {
    /// Prints a list of differences and equal messages.
    pub(super) fn list<'f>(&mut self, found: impl Iterator<Item = &'f Found>) {
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

    pub(super) fn alike(&mut self, run: &Run) {
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

    pub(super) fn difference(&mut self, difference: &Difference) {
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
}

pub(super) const fn sign(how: How) -> (char, TextColor) {
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

/// Returns the names. Consecutive equal names become one name with its count.
pub(super) fn folded(names: &[Box<str>]) -> Vec<String> {
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

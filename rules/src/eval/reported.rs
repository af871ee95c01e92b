//! Values of messages for reports of rules, with their secret parts.

use std::ops::Range;

use super::facts::Facts;
use super::key::DefKey;
use super::memory::Memory;
use super::program::{Number, Program, Source, Text};
use super::run::{Run, with_fields};
use super::variables::Variables;

/// A text, and the range of it that is secret.
pub(crate) type Reported = (Vec<u8>, Option<Range<usize>>);

impl Program {
    /// Returns a text of a message with its secret range; `None` if the message lacks the text.
    pub(crate) fn reported(
        &self,
        text: Text,
        facts: &impl Facts,
        (key, memory): (Option<&DefKey>, &Memory),
        variables: &Variables,
    ) -> Option<Reported> {
        let run = self.run(facts, key, memory);
        let bytes = run.text(text, <[u8]>::to_vec)?;
        let secret = match text {
            Text::Field(at) => run.secret(at),
            Text::Variable(at) => of_variable(variables, at).then_some(0..usize::MAX),
            Text::Player | Text::Client | Text::Rule => None,
        };
        let secret = secret.map(|secret| secret.start.min(bytes.len())..secret.end.min(bytes.len()));
        Some((bytes, secret.filter(|secret| !secret.is_empty())))
    }

    /// Returns true if a number is secret or computed from a secret number. The length of a secret is not secret,
    /// since the size of its message shows it.
    pub(crate) fn is_secret(
        &self,
        number: &Number,
        facts: &impl Facts,
        (key, memory): (Option<&DefKey>, &Memory),
        variables: &Variables,
    ) -> bool {
        let of = |number: &Number| self.is_secret(number, facts, (key, memory), variables);
        match number {
            Number::Field(at) => self.run(facts, key, memory).secret(*at).is_some(),
            Number::Variable(at) => of_variable(variables, *at),
            Number::Negate(inner) => of(inner),
            Number::Arith(_, sides) => of(&sides.0) || of(&sides.1),
            Number::Fixed(_)
            | Number::Length(_)
            | Number::TextLength(_)
            | Number::Packet(_)
            | Number::Session(_)
            | Number::State
            | Number::Proto
            | Number::Leg
            | Number::Done(_)
            | Number::Snap(_)
            | Number::Time
            | Number::Ordinal
            | Number::Count(_)
            | Number::Since(_) => false,
        }
    }
}

fn of_variable(variables: &Variables, at: u16) -> bool {
    variables
        .with_secrecy(at)
        .is_some_and(|(_, is_secret)| *is_secret)
}

impl<F: Facts> Run<'_, F> {
    /// Returns the secret range of a field; `None` if it is not secret.
    fn secret(&self, at: u16) -> Option<Range<usize>> {
        let field = self.fields(at)?;
        match field.source {
            Source::Message => {
                let (_, entry) = self.entry(field)?;
                let fields = self.facts().fields()?;
                fields.secret(fields.decoded.find(entry.path.as_ref()?)?)
            }
            Source::Last(slot) => self.kept(slot)?.is_secret.then_some(0..usize::MAX),
            Source::Item(id) => with_fields(self, field, id, |path, fields| {
                fields.secret(fields.decoded.find(path)?)
            }),
        }
    }
}

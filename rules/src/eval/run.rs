//! Evaluates programs in three-valued logic.
//!
//! Law: `None` is unknown. `and` is false if one part is false, and `or` is true if one part is true, regardless of
//! unknown parts.

use std::ops::ControlFlow;

use teetap_wire::def::{Dialect, Record, Type, Value};

use super::facts::{Facts, Fields};
use super::key::DefKey;
use super::memory::{Kept, Memory};
use super::program::{Cond, Field, Number, Program, Source, Text};
use super::test::{Test, TextTest, compare};
use crate::syntax::{Arith, Compare};

/// Value of a field.
pub(super) enum Found<'v> {
    Int(i64),
    Bytes(&'v [u8]),
    List(u32),
    Group,
}

/// The current element of a list.
#[derive(Clone, Copy)]
struct Element<'e> {
    list: u16,
    entry: usize,
    fields: &'e Fields<'e>,
    record: &'e Record,
}

#[derive(Clone, Copy)]
pub(super) struct Run<'a, F> {
    program: &'a Program,
    facts: &'a F,
    memory: &'a Memory,
    key: Option<&'a DefKey>,
    element: Option<Element<'a>>,
}

impl Program {
    /// Evaluates the expression for one message.
    pub(crate) fn decide(&self, facts: &impl Facts, key: Option<&DefKey>, memory: &Memory) -> Option<bool> {
        self.run(facts, key, memory).holds(&self.root)
    }

    /// Returns true if `n` counts this message; `result` is the value of the expression for it.
    pub(crate) fn is_counted(
        &self,
        result: Option<bool>,
        facts: &impl Facts,
        key: Option<&DefKey>,
        memory: &Memory,
    ) -> bool {
        let result = match &self.matches {
            Some(cond) => self.run(facts, key, memory).holds(cond),
            None => result,
        };
        result == Some(true)
    }

    /// Evaluates a condition of the program for one message.
    pub(crate) fn truth(
        &self,
        cond: &Cond,
        facts: &impl Facts,
        key: Option<&DefKey>,
        memory: &Memory,
    ) -> Option<bool> {
        self.run(facts, key, memory).holds(cond)
    }

    pub(super) fn run<'a, F: Facts>(
        &'a self,
        facts: &'a F,
        key: Option<&'a DefKey>,
        memory: &'a Memory,
    ) -> Run<'a, F> {
        Run {
            program: self,
            facts,
            memory,
            key,
            element: None,
        }
    }
}

pub(super) fn with_value<R>(fields: &Fields<'_>, record: &Record, read: impl FnOnce(Found<'_>) -> R) -> R {
    match record.value {
        Value::Int(value) => read(Found::Int(value)),
        Value::Text(_) | Value::Bytes => read(Found::Bytes(&fields.bytes(record))),
        Value::List(len) => read(Found::List(len)),
        Value::Group => read(Found::Group),
    }
}

impl<'a, F: Facts> Run<'a, F> {
    fn holds(&self, cond: &Cond) -> Option<bool> {
        match cond {
            Cond::Unknown => None,
            Cond::All(parts) => self.join(parts, false),
            Cond::Any(parts) => self.join(parts, true),
            Cond::Not(inner) => self.holds(inner).map(|value| !value),
            Cond::Dir(dir) => Some(self.facts.dir() == *dir),
            Cond::Is(target) => {
                let target = self.program.targets.get(usize::from(*target))?;
                Some(target.holds(self.key, &self.facts.subject()))
            }
            Cond::Flag(flag) => Some(self.facts.flag(*flag)),
            Cond::Lint(code) => Some(self.facts.lint(*code)),
            Cond::Mark(name) => Some(self.facts.mark(name.as_deref())),
            Cond::Search(test) => Some(self.search(test)),
            Cond::Field(field, tests) => {
                self.field(*field, |entry, value| match (tests.get(entry)?, value) {
                    (Test::Int(test), Found::Int(value)) => Some(test.holds(value)),
                    (Test::Text(test), Found::Bytes(value)) => Some(test.holds(value)),
                    _ => None,
                })?
            }
            Cond::Number(number, test) => Some(test.holds(self.number(number)?)),
            // No rule that acted has the name.
            Cond::Text(Text::Rule, TextTest::Equal(name, false)) => {
                self.facts.any_rule(&mut |rule| *rule == **name).map(|any| !any)
            }
            Cond::Text(Text::Rule, test) => self.facts.any_rule(&mut |rule| test.holds(rule)),
            Cond::Text(text, test) => self.text(*text, |text| test.holds(text)),
            Cond::Compare(op, sides) => Some(compare(*op, self.number(&sides.0)?, self.number(&sides.1)?)),
            Cond::CompareText(op, left, right) => self.compare_text(*op, *left, *right),
            Cond::Has(field) => Some(self.field(*field, |_, _| ()).is_some()),
            Cond::Seen(slot) => Some(self.memory.seen.get(usize::from(*slot))?.count > 0),
            Cond::Each { all, list, inner } => self.each(*all, *list, inner),
        }
    }

    /// Evaluates `and` or `or`. `decisive` is the value of a part that decides the result.
    fn join(&self, parts: &[Cond], decisive: bool) -> Option<bool> {
        let mut result = Some(!decisive);
        for part in parts {
            match self.holds(part) {
                Some(value) if value == decisive => return Some(decisive),
                Some(_) => {}
                None => result = None,
            }
        }
        result
    }

    fn search(&self, test: &TextTest) -> bool {
        let data = self.facts.data();
        let subject = self.facts.subject();
        let Some(def) = subject.def else {
            return subject.class.is_some() && test.holds(data);
        };
        // Searching the raw bytes is sufficient unless text is packed into ints, so most messages need not be decoded.
        if let TextTest::Contains(finder) = test
            && finder.find(data).is_none()
            && !def.fields.iter().any(|field| matches!(field.ty, Type::Packed(_)))
        {
            return false;
        }
        self.facts
            .fields()
            .is_some_and(|fields| fields.any_text(|text| test.holds(text)))
    }

    fn field<R>(&self, at: u16, read: impl FnMut(usize, Found<'_>) -> R) -> Option<R> {
        let mut read = read;
        if let Some(element) = self.element.filter(|element| element.list == at) {
            return Some(with_value(element.fields, element.record, |value| {
                read(element.entry, value)
            }));
        }
        let field = self.program.fields.get(usize::from(at))?;
        match field.source {
            Source::Message => {
                let (at, entry) = self.entry(field)?;
                let fields = self.facts.fields()?;
                let record = fields.decoded.find(entry.path.as_ref()?)?;
                Some(with_value(&fields, record, |value| read(at, value)))
            }
            Source::Last(slot) => {
                let kept = self.memory.kept.get(usize::from(slot))?;
                kept.read(|value| read(kept.entry, value))
            }
            Source::Item(id) => {
                let mut result = None;
                self.items(field, id, &mut |at, fields| {
                    let path = field.entries.get(at).and_then(|entry| entry.path.as_ref());
                    result = match path {
                        None => Some(read(at, Found::Group)),
                        Some(path) => {
                            let record = fields.decoded.find(path);
                            record.map(|record| with_value(fields, record, |value| read(at, value)))
                        }
                    };
                    if result.is_some() {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                });
                result
            }
        }
    }

    pub(super) fn facts(&self) -> &F {
        self.facts
    }

    /// Returns a field of the program.
    pub(super) fn fields(&self, at: u16) -> Option<&'a Field> {
        self.program.fields.get(usize::from(at))
    }

    /// Returns the last value of a field.
    pub(super) fn kept(&self, slot: u16) -> Option<&'a Kept> {
        self.memory.kept.get(usize::from(slot))
    }

    /// Returns the entry of a field for this message.
    pub(super) fn entry<'f>(&self, field: &'f Field) -> Option<(usize, &'f super::program::FieldVariant)> {
        let key = self.key?;
        field
            .entries
            .iter()
            .enumerate()
            .find(|(_, entry)| entry.key == *key)
    }

    /// Calls `each` with the snapshot items that a field may belong to.
    fn items(
        &self,
        field: &Field,
        id: Option<u16>,
        each: &mut dyn FnMut(usize, &Fields<'_>) -> ControlFlow<()>,
    ) {
        let dialect = Dialect::from(self.facts.proto());
        for (at, entry) in field
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.dialect == dialect)
        {
            let mut done = false;
            self.facts.items(&entry.id, id, &mut |_, fields| {
                let flow = each(at, fields);
                done = flow.is_break();
                flow
            });
            if done {
                return;
            }
        }
    }

    fn each(&self, all: bool, list: u16, inner: &Cond) -> Option<bool> {
        let field = self.program.fields.get(usize::from(list))?;
        // A false element decides `all`, and a true element decides `any`. Without elements `all` is unknown.
        let mut result = if all { None } else { Some(false) };
        let mut unknown = false;
        let mut decide = |at: usize, fields: &Fields<'_>, record: &Record| {
            let element = Element {
                list,
                entry: at,
                fields,
                record,
            };
            let run = Run {
                program: self.program,
                facts: self.facts,
                memory: self.memory,
                key: self.key,
                element: Some(element),
            };
            match run.holds(inner) {
                Some(value) if value != all => {
                    (result, unknown) = (Some(value), false);
                    return ControlFlow::Break(());
                }
                Some(_) => result = Some(all),
                None => unknown = true,
            }
            ControlFlow::Continue(())
        };
        match field.source {
            Source::Message => {
                let (at, entry) = self.entry(field)?;
                let fields = self.facts.fields()?;
                let _decided = elements(&fields, entry.path.as_ref()?, &mut |record| {
                    decide(at, &fields, record)
                });
            }
            Source::Item(id) => {
                self.facts.snap(super::facts::SnapFact::Tick)?;
                self.items(field, id, &mut |at, fields| {
                    let path = field.entries.get(at).and_then(|entry| entry.path.as_ref());
                    path.map_or(ControlFlow::Continue(()), |path| {
                        elements(fields, path, &mut |record| decide(at, fields, record))
                    })
                });
            }
            Source::Last(_) => return None,
        }
        if unknown { None } else { result }
    }

    pub(super) fn text<R>(&self, text: Text, mut read: impl FnMut(&[u8]) -> R) -> Option<R> {
        match text {
            Text::Variable(at) => {
                let mut result = None;
                self.facts
                    .variable_text(at, &mut |text| result = Some(read(text)));
                result
            }
            Text::Player => self.facts.player().map(read),
            // Without a test, the name of the first rule.
            Text::Rule => {
                let mut result = None;
                self.facts.any_rule(&mut |rule| {
                    result = Some(read(rule));
                    true
                });
                result
            }
            Text::Client => Some(read(self.facts.client()?.to_string().as_bytes())),
            Text::Field(field) => self.field(field, |_, value| match value {
                Found::Bytes(bytes) => Some(read(bytes)),
                _ => None,
            })?,
        }
    }

    fn compare_text(&self, op: Compare, left: Text, right: Text) -> Option<bool> {
        self.text(left, |left| {
            self.text(right, |right| match op {
                Compare::Equal => Some(left == right),
                Compare::Unequal => Some(left != right),
                Compare::Contains => Some(memchr::memmem::find(left, right).is_some()),
                _ => None,
            })?
        })?
    }

    pub(super) fn number(&self, number: &Number) -> Option<i64> {
        let signed = |value: u64| i64::try_from(value).ok();
        match number {
            Number::Fixed(value) => Some(*value),
            Number::Field(field) => self.field(*field, |_, value| match value {
                Found::Int(value) => Some(value),
                _ => None,
            })?,
            Number::Length(field) => self.field(*field, |_, value| match value {
                Found::Bytes(bytes) => i64::try_from(bytes.len()).ok(),
                Found::List(len) => Some(len.into()),
                _ => None,
            })?,
            Number::TextLength(text) => i64::try_from(self.text(*text, <[u8]>::len)?).ok(),
            Number::Variable(at) => self.facts.variable(*at),
            Number::Packet(fact) => self.facts.packet(*fact),
            Number::Session(fact) => self.facts.session(*fact),
            Number::State => Some(self.facts.state() as i64),
            Number::Proto => Some(self.facts.proto() as i64),
            Number::Leg => Some(self.facts.leg()? as i64),
            Number::Done(fact) => self.facts.done(*fact),
            Number::Snap(fact) => self.facts.snap(*fact),
            Number::Time => signed(self.facts.time()),
            // A copy is the same message, so that it is not counted.
            Number::Ordinal if self.facts.repeated() => None,
            Number::Ordinal => signed(self.memory.matched(self.facts.dir()).checked_add(1)?),
            Number::Count(slot) => signed(self.memory.seen.get(usize::from(*slot))?.count),
            Number::Since(slot) => {
                let seen = self
                    .memory
                    .seen
                    .get(usize::from(*slot))
                    .filter(|seen| seen.count > 0)?;
                signed(self.facts.time().checked_sub(seen.at)?)
            }
            Number::Negate(inner) => self.number(inner)?.checked_neg(),
            Number::Arith(op, sides) => arith(*op, self.number(&sides.0)?, self.number(&sides.1)?),
        }
    }
}

/// Returns the first result for a snapshot item to which a field may belong.
pub(super) fn with_fields<F: Facts, R>(
    run: &Run<'_, F>,
    field: &Field,
    id: Option<u16>,
    mut read: impl FnMut(&teetap_wire::def::Path, &Fields<'_>) -> Option<R>,
) -> Option<R> {
    let mut result = None;
    run.items(field, id, &mut |at, fields| {
        let path = field.entries.get(at).and_then(|entry| entry.path.as_ref());
        result = path.and_then(|path| read(path, fields));
        // The value is read from the first item with the field.
        match path.is_some_and(|path| fields.decoded.find(path).is_some()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    result
}

/// Calls `each` with the elements at a path: the elements of the list at its end, or one in each element of the list in
/// its middle.
fn elements(
    fields: &Fields<'_>,
    path: &teetap_wire::def::Path,
    each: &mut dyn FnMut(&Record) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let decoded = fields.decoded;
    let broke = match path.is_list() {
        false => decoded.find_map(path, |record| each(record).is_break().then_some(())),
        true => {
            let list = decoded.find(path);
            list.and_then(|list| {
                decoded
                    .parts(Some(list))
                    .find_map(|record| each(record).is_break().then_some(()))
            })
        }
    };
    broke.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Computes the result; `None` for an overflow or a division by zero.
fn arith(op: Arith, left: i64, right: i64) -> Option<i64> {
    match op {
        Arith::Add => left.checked_add(right),
        Arith::Subtract => left.checked_sub(right),
        Arith::Multiply => left.checked_mul(right),
        Arith::Divide => left.checked_div(right),
        Arith::Remainder => left.checked_rem(right),
    }
}

//! A message as its receiver got it, if a rule, a person or the link changed it.
//!
//! Law: this is the one place that compares a message as received with the message as sent. The decoder calls it only
//! for messages whose bytes differ. A secret of the received message stays hidden in the changed message, even if it is
//! no longer in its field.

use std::borrow::Cow;

use teetap_rules::context::Players;
use teetap_wire::{
    Code, Note, counted,
    def::{Decoded, Def, Found, Record, Records, Secrets, Source, Value},
};

use crate::gist;

/// Maximum number of flipped bits that are listed.
const MAX_BITS: usize = 8;
/// Maximum length of a value in a summary, in characters.
const MAX_VALUE: usize = 64;
/// Replaces values that may contain a secret of the received message.
const HIDDEN: &str = "•••";

/// A message as its receiver got it.
#[derive(Clone, Debug)]
pub struct After {
    /// The id and the fields, in bytes.
    pub data: Vec<u8>,
    /// The definition; `None` if unknown.
    pub def: Option<&'static Def>,
    /// The notes on the changed message that the received message does not have.
    pub notes: Vec<Note>,
    /// The flipped bits, counted from the lowest bit of the first byte of the message; empty unless a rule or the link
    /// corrupted the message.
    pub bits: Vec<usize>,
    /// True if the link changed the message; false for a rule or a person.
    pub is_by_link: bool,
    /// True if the changed message may contain a secret of the received message outside of its secret fields.
    leaks: bool,
    decoded: Decoded,
}

/// A decoded message as it was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    /// The definition; `None` if unknown.
    pub(crate) def: Option<&'static Def>,
    /// The id and the fields, in bytes.
    pub(crate) data: &'a [u8],
    pub(crate) records: Records<'a>,
    pub(crate) notes: &'a [Note],
    /// True if the receiver is known to be DDNet.
    pub(crate) for_ddnet: bool,
    /// The players of the session.
    pub(crate) players: Option<&'a Players>,
}

/// What happened to the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A rule or a person gave it other values.
    Edit,
    /// A rule flipped bits.
    Corrupt,
    /// The link flipped bits.
    Link,
}

impl After {
    /// Compares a message with the bytes that its receiver got. `found` is the definition of those
    /// bytes.
    pub(crate) fn new(
        before: &Before<'_>,
        data: &[u8],
        found: Option<Found<'static>>,
        change: Change,
    ) -> Self {
        let mut decoded = Decoded::new();
        decoded.set_for_ddnet(before.for_ddnet);
        let def = found.map(|found| {
            decoded.read(found.def, data, found.body);
            found.def
        });
        let is_new = |note: &Note| before.notes.iter().all(|known| known.code != note.code);
        let notes = decoded.notes().iter().filter(is_new).collect();
        let bits = match change {
            Change::Edit => Vec::new(),
            Change::Corrupt | Change::Link => flipped(before.data, data),
        };
        let leaks = leaks(before, (def, data, decoded.view()), change);
        Self {
            data: data.to_vec(),
            def,
            notes,
            bits,
            is_by_link: change == Change::Link,
            leaks,
            decoded,
        }
    }

    /// Adds a note on the changed message.
    pub(crate) fn add_note(&mut self, code: Code) {
        if self.notes.iter().all(|note| note.code != code) {
            self.notes.push(Note { code, at: 0, len: 0 });
        }
    }

    /// Returns a one-line summary with the names of `players`. Empty if the id is unknown.
    fn gist(&self, players: Option<&Players>, secrets: Secrets) -> String {
        let source = Source::Bytes(&self.data);
        match self.def {
            Some(_) if self.hides(secrets) => HIDDEN.to_owned(),
            Some(def) => gist::line(self.records(), def, source, secrets, players),
            None => String::new(),
        }
    }

    /// Returns the fields as a JSON object; `None` if the id is unknown or the fields are hidden.
    pub(crate) fn json(&self, secrets: Secrets) -> Option<String> {
        let def = self.def.filter(|_| !self.hides(secrets))?;
        let mut out = String::new();
        self.records()
            .json(def, Source::Bytes(&self.data), secrets, &mut out);
        Some(out)
    }

    /// Returns true if the fields are hidden, because they may contain a secret of the received message.
    #[must_use]
    pub fn hides(&self, secrets: Secrets) -> bool {
        self.leaks && secrets == Secrets::Hide
    }

    /// Returns the decoded fields.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        self.decoded.view()
    }

    /// Returns the flipped bits, such as `bits 17, 300`; `None` if there are none.
    #[must_use]
    pub fn bits_text(&self) -> Option<String> {
        bits_text(&self.bits)
    }

    /// Returns what to show behind the outcome of the message: the flipped bits, for the link with the word `corrupt`.
    /// Empty if there are none.
    #[must_use]
    pub fn damage(&self) -> String {
        match (self.bits_text(), self.is_by_link) {
            (Some(bits), true) => format!(" corrupt: {bits}"),
            (None, true) => " corrupt".to_owned(),
            (Some(bits), false) => format!(": {bits}"),
            (None, false) => String::new(),
        }
    }

    /// Returns the notes on the changed message, such as ` as sent !unterminated-text`; empty if there are none.
    fn marks(&self) -> String {
        let marks: Vec<String> = self
            .notes
            .iter()
            .map(|note| format!("!{}", note.code.name()))
            .collect();
        match marks.is_empty() {
            true => String::new(),
            false => format!(" as sent {}", marks.join(" ")),
        }
    }

    /// Returns the memory held, in bytes.
    pub(crate) fn held(&self) -> usize {
        size_of::<Self>()
            + self.data.capacity()
            + self.bits.capacity() * size_of::<usize>()
            + self.notes.capacity() * size_of::<Note>()
            + size_of_val(self.decoded.records())
    }

    /// Returns what changed in one line: the received summary `gist`, an arrow, and the part of the new summary that
    /// differs. If both summaries are the same, lists the fields that differ.
    pub(crate) fn summary(&self, before: &Before<'_>, gist: &str, secrets: Secrets) -> String {
        self.change(before, gist, secrets) + &self.marks()
    }

    /// Returns the summary of a snapshot with the fields that differ in the message that completes it.
    pub(crate) fn of_snapshot(&self, before: &Before<'_>, snapshot: &str, secrets: Secrets) -> String {
        let fields = self.fields(before, secrets);
        let change = match fields.is_empty() {
            true => counted(self.data.len(), "byte").to_string(),
            false => fields,
        };
        format!("{snapshot}, as sent {change}") + &self.marks()
    }

    /// Returns the two summaries, or the fields that differ.
    fn change(&self, before: &Before<'_>, gist: &str, secrets: Secrets) -> String {
        let new = self.gist(before.players, secrets);
        let is_known = self.def.is_some() && !new.is_empty();
        if is_known && new != gist {
            let same = self
                .def
                .zip(before.def)
                .is_some_and(|(new, old)| std::ptr::eq(new, old));
            return match self.def.filter(|_| !same) {
                Some(def) => format!("{gist} → {} {new}", def.name),
                None => format!("{gist} → {}", changed_part(gist, &new)),
            };
        }
        let fields = self.fields(before, secrets);
        match (fields.is_empty(), self.def) {
            (false, _) => format!("{gist} ({fields})").trim_start().to_owned(),
            (true, Some(_)) => format!("{gist} → {}", counted(self.data.len(), "byte")),
            (true, None) => format!("{gist} → unknown message, {}", counted(self.data.len(), "byte")),
        }
    }

    /// Returns the fields that differ, such as `team 0 → 1, message "line 2" → "edited"`. Empty if the message has
    /// another definition or another number of values.
    fn fields(&self, before: &Before<'_>, secrets: Secrets) -> String {
        let Before { records, data, .. } = *before;
        let (Some(def), Some(new)) = (before.def, self.def) else {
            return String::new();
        };
        if !std::ptr::eq(def, new) || records.all().len() != self.records().all().len() {
            return String::new();
        }
        let pairs = records.all().iter().zip(self.records().all());
        let changes = pairs.filter_map(|(old, new)| {
            let name = &def.field(old.field)?.name;
            let text = |records: Records<'_>, record, data| {
                records.value_text(def, record, Source::Bytes(data), secrets)
            };
            let (old, new) = (text(records, old, data), text(self.records(), new, &self.data));
            (old != new).then(|| format!("{name} {} → {}", shortened(&old), shortened(&new)))
        });
        let changes: Vec<String> = changes.take(4).collect();
        changes.join(", ")
    }

    /// Returns the value of a field as sent; `None` if the message was sent in another form.
    #[must_use]
    pub fn value(&self, (def, at, record): (&Def, usize, &Record), secrets: Secrets) -> Option<String> {
        let same = self.def.filter(|new| std::ptr::eq(*new, def))?;
        let records = self.records();
        let new = records.all().get(at).filter(|new| new.field == record.field)?;
        if self.hides(secrets) {
            return Some(HIDDEN.to_owned());
        }
        Some(records.value_text(same, new, Source::Bytes(&self.data), secrets))
    }
}

/// Returns the numbers of flipped bits, such as `bits 17, 300`; `None` if there are none.
pub(crate) fn bits_text<T: ToString>(bits: &[T]) -> Option<String> {
    let listed: Vec<String> = bits.iter().take(MAX_BITS).map(ToString::to_string).collect();
    let more = match bits.len().saturating_sub(MAX_BITS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let word = if bits.len() == 1 { "bit" } else { "bits" };
    (!listed.is_empty()).then(|| format!("{word} {}{more}", listed.join(", ")))
}

/// Returns the bits that differ, counted from the lowest bit of the first byte; empty if the lengths differ.
fn flipped(before: &[u8], after: &[u8]) -> Vec<usize> {
    if before.len() != after.len() {
        return Vec::new();
    }
    let pairs = before.iter().zip(after).enumerate();
    let bits = pairs.flat_map(|(at, (old, new))| {
        let diff = old ^ new;
        (0..8)
            .filter(move |bit| diff & (1 << bit) != 0)
            .map(move |bit| 8 * at + bit)
    });
    bits.collect()
}

/// Returns true if the changed message may show a secret of the received message in a field that is not secret: its
/// bytes are read in another way, or a value contains the bytes of the secret.
fn leaks(
    before: &Before<'_>,
    (new, data, changed): (Option<&Def>, &[u8], Records<'_>),
    change: Change,
) -> bool {
    let Some(def) = before.def else { return false };
    let (records, source) = (before.records, Source::Bytes(before.data));
    let of = |record: &Record| records.secret(def, record, source);
    let mut secrets = records.all().iter().filter_map(of).peekable();
    if secrets.peek().is_none() {
        return false;
    }
    let same = new.is_some_and(|new| std::ptr::eq(new, def));
    if change != Change::Edit || !same || records.all().len() != changed.all().len() {
        return true;
    }
    secrets.any(|range| {
        let secret = before.data.get(range).unwrap_or_default();
        changed.all().iter().any(|record| {
            let open = matches!(record.value, Value::Text(_) | Value::Bytes)
                && changed.secret(def, record, Source::Bytes(data)).is_none();
            open && contains(&def.bytes(record, Source::Bytes(data)), secret)
        })
    })
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_VALUE) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
    }
}

/// Returns the end of a changed summary, without the beginning up to a colon that both summaries have.
fn changed_part<'a>(before: &str, after: &'a str) -> &'a str {
    match (before.split_once(": "), after.split_once(": ")) {
        (Some((head, _)), Some((same, rest))) if head == same => rest,
        _ => after,
    }
}

#[cfg(test)]
#[path = "after_tests.rs"]
mod tests;

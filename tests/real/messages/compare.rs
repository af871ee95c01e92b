//! Compares our decoding of datagrams with the oracle's, field by field.
//!
//! Law: everything on either side is compared or listed as an exception in [`known`]; nothing is skipped. Both sides
//! have the form of the program's JSON: `layer`, `id`, `uuid`, `name`, `vital`, `resend`, `seq`, `fields`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};
use teetap_kit::real::text;

use super::known;
use super::oracle::{Question, ask};

/// A datagram and our decoding of it.
#[derive(Debug, Default)]
pub(crate) struct Datagram {
    pub(crate) seven: bool,
    pub(crate) c2s: bool,
    /// The datagram's bytes.
    pub(crate) hex: String,
    /// A description of its origin, for people.
    pub(crate) at: String,
    /// `ack`, `chunks` and `flags`; `None` outside a connection.
    pub(crate) header: Option<Value>,
    pub(crate) messages: Vec<Value>,
}

/// The counts of the comparisons.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) datagrams: usize,
    /// Messages that both sides decode.
    pub(crate) messages: usize,
    /// Equal values in these messages.
    pub(crate) values: usize,
    /// Number of comparisons of each message, by our name.
    pub(crate) names: BTreeMap<String, usize>,
    /// Number of uses of each exception, by its key.
    pub(crate) exceptions: BTreeMap<String, usize>,
    /// Messages that only we decode.
    pub(crate) only_ours: BTreeMap<String, usize>,
    /// Messages that only the oracle decodes.
    pub(crate) only_theirs: BTreeMap<String, usize>,
    /// Each disagreement once, with its count and an example.
    wrong: BTreeMap<String, (usize, String)>,
}

/// One difference between two decodings of a message.
struct Difference<'a> {
    /// Field names joined by dots; `[]` for any element of a list.
    path: String,
    ours: Option<&'a Value>,
    theirs: Option<&'a Value>,
}

impl Tally {
    /// Asks the oracle about all datagrams and compares the answers.
    pub(crate) fn compare(&mut self, datagrams: &[Datagram]) -> Result<()> {
        let questions = datagrams.iter().map(|datagram| Question {
            seven: datagram.seven,
            c2s: datagram.c2s,
            hex: datagram.hex.clone(),
        });
        let answers = ask(questions.collect())?;
        for (datagram, answer) in datagrams.iter().zip(&answers) {
            self.datagram(datagram, answer)?;
        }
        Ok(())
    }

    fn datagram(&mut self, ours: &Datagram, theirs: &Value) -> Result<()> {
        self.datagrams += 1;
        if let Some(error) = theirs.get("error") {
            self.wrong("a datagram it cannot read".to_owned(), || {
                format!("{}: {error} {}", ours.at, ours.hex)
            });
            return Ok(());
        }
        if let Some(Value::Object(header)) = &ours.header {
            for (name, value) in header {
                self.same(&format!("header {name}"), ours, Some(value), theirs.get(name));
            }
        }
        let messages = theirs.get("messages").and_then(Value::as_array);
        let messages = messages.context("an answer without messages")?;
        if messages.len() != ours.messages.len() {
            self.wrong("not as many messages".to_owned(), || {
                format!(
                    "{}: {} and {} in {}",
                    ours.at,
                    ours.messages.len(),
                    messages.len(),
                    ours.hex
                )
            });
            return Ok(());
        }
        for (mine, other) in ours.messages.iter().zip(messages) {
            self.message(ours, mine, other);
        }
        Ok(())
    }

    /// Compares two values of the framing.
    fn same(&mut self, what: &str, at: &Datagram, ours: Option<&Value>, theirs: Option<&Value>) {
        if ours == theirs {
            self.values += 1;
        } else {
            self.wrong(what.to_owned(), || {
                format!("{}: {ours:?} and {theirs:?} in {}", at.at, at.hex)
            });
        }
    }

    fn message(&mut self, at: &Datagram, ours: &Value, theirs: &Value) {
        let layer = text(ours, "layer");
        if ["system", "game"].contains(&layer) {
            for key in ["id", "uuid", "vital", "resend", "seq", "hex"] {
                self.same(&format!("message {key}"), at, ours.get(key), theirs.get(key));
            }
        }
        self.same("message layer", at, ours.get("layer"), theirs.get("layer"));
        let dialect = if at.seven { "0.7" } else { "0.6" };
        let name = text(ours, "name");
        let unknown = name.is_empty()
            || ours
                .get("notes")
                .is_some_and(|notes| notes.to_string().contains("\"unknown-message\""));
        let label = format!(
            "{dialect} {layer} {}",
            if unknown { text(ours, "uuid") } else { name }
        );
        if let Some(error) = theirs.get("error").and_then(Value::as_str) {
            match known::failure(name, dialect, error) {
                Some(failure) => count(&mut self.exceptions, &failure.key()),
                None if known::is_unknown(error) && !unknown => count(&mut self.only_ours, &label),
                None if known::is_unknown(error) => count(&mut self.only_ours, &format!("{label} (neither)")),
                None => self.wrong(format!("{label}: it cannot read it"), || {
                    format!("{}: {error} {ours}", at.at)
                }),
            }
            return;
        }
        let other = known::our_name(text(theirs, "name"), dialect, layer);
        let both = format!("{label} {other}");
        if unknown || known::ONLY_THEIRS.iter().any(|(known, _)| *known == both) {
            count(&mut self.only_theirs, &both);
            return;
        }
        self.messages += 1;
        count(&mut self.names, &label);
        if other != name {
            self.wrong(format!("{label}: called {other}"), || {
                format!("{}: {ours}", at.at)
            });
        }
        self.fields(at, &label, name, ours, theirs);
    }

    fn fields(&mut self, at: &Datagram, label: &str, name: &str, ours: &Value, theirs: &Value) {
        let empty = Value::Object(Map::new());
        let mine = ours
            .get("fields")
            .filter(|fields| fields.is_object())
            .unwrap_or(&empty);
        let other = known::with_our_names(name, mine, theirs.get("fields").unwrap_or(&empty));
        let mut differences = Vec::new();
        self.values += walk(String::new(), Some(mine), Some(&other), &mut differences);
        for Difference {
            path,
            ours: left,
            theirs: right,
        } in differences
        {
            let found = known::exception(name, &path, if at.seven { "0.7" } else { "0.6" }, left, right);
            match found {
                Some(exception) => count(&mut self.exceptions, &exception.key()),
                None => self.wrong(format!("{label}.{path}"), || {
                    format!(
                        "{}: {left:?} and {right:?} in {} of {}",
                        at.at,
                        text(ours, "hex"),
                        at.hex
                    )
                }),
            }
        }
    }

    fn wrong(&mut self, what: String, example: impl FnOnce() -> String) {
        self.wrong.entry(what).or_insert_with(|| (0, example())).0 += 1;
    }

    /// Prints the figures past the test harness, which would swallow them.
    pub(crate) fn report(&self, what: &str) -> Result<()> {
        let excused: usize = self.exceptions.values().sum();
        writeln!(
            std::io::stderr(),
            "oracle, {what}: {} datagrams, {} messages of {} kinds, {} values the same, {excused} exceptions of {} kinds, {} messages only known to us, {} only to it",
            self.datagrams,
            self.messages,
            self.names.len(),
            self.values,
            self.exceptions.len(),
            self.only_ours.values().sum::<usize>(),
            self.only_theirs.values().sum::<usize>(),
        )?;
        Ok(())
    }

    /// Checks that both sides agree, and that each side knows every message of the other side except the messages in
    /// [`known`].
    pub(crate) fn verdict(&self) -> Result<()> {
        let mut list = String::new();
        for (what, (count, example)) in &self.wrong {
            let example: String = example.chars().take(600).collect();
            list.push_str(&format!("\n{count} times {what}\n    {example}"));
        }
        ensure!(self.wrong.is_empty(), "the oracle disagrees:{list}");
        let sides = [
            (&self.only_ours, &known::ONLY_OURS[..]),
            (&self.only_theirs, &known::ONLY_THEIRS[..]),
        ];
        for (seen, known) in sides {
            let new = seen
                .keys()
                .filter(|label| !known.iter().any(|(name, _)| name == label));
            let new: Vec<_> = new.collect();
            ensure!(new.is_empty(), "messages that only one of both knows: {new:?}");
        }
        Ok(())
    }
}

fn count(counts: &mut BTreeMap<String, usize>, what: &str) {
    match counts.get_mut(what) {
        Some(count) => *count += 1,
        None => {
            counts.insert(what.to_owned(), 1);
        }
    }
}

/// Returns true if two values are equivalent: a bool is 0 or 1, the oracle divides a tuning by 100 and writes a UUID
/// without dashes.
fn equal(ours: &Value, theirs: &Value) -> bool {
    let number = |value: &Value| value.as_i64().or(value.as_bool().map(i64::from));
    match (ours, theirs) {
        _ if ours == theirs => true,
        (Value::Number(ours), Value::Number(theirs)) if theirs.is_f64() => ours
            .as_f64()
            .zip(theirs.as_f64())
            .is_some_and(|(ours, theirs)| ours == (theirs * 100.0).round()),
        (Value::String(ours), Value::String(theirs)) => ours.len() == 36 && ours.replace('-', "") == *theirs,
        _ => number(ours).is_some() && number(ours) == number(theirs),
    }
}

/// Compares two values recursively. Returns the number of equal simple values, and appends the differences.
fn walk<'a>(
    path: String,
    ours: Option<&'a Value>,
    theirs: Option<&'a Value>,
    out: &mut Vec<Difference<'a>>,
) -> usize {
    match (ours, theirs) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            let below = |key: &str| {
                if path.is_empty() {
                    key.to_owned()
                } else {
                    format!("{path}.{key}")
                }
            };
            keys.into_iter()
                .map(|key| walk(below(key), left.get(key), right.get(key), out))
                .sum()
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            let most = left.len().max(right.len());
            let below = format!("{path}[]");
            (0..most)
                .map(|at| walk(below.clone(), left.get(at), right.get(at), out))
                .sum()
        }
        (Some(left), Some(right)) if equal(left, right) => 1,
        // The oracle reports a missing value in this way.
        (None, Some(Value::Null)) => 1,
        _ => {
            out.push(Difference { path, ours, theirs });
            0
        }
    }
}

//! A form with the fields of a message: edits a held message or sends a new one.
//!
//! Law: the result is a text in the rule language, which is checked after each key.

use std::time::Duration;

use crossterm::event::KeyCode;
use teetap_inspect::{DecodedHeld, expect::expected};
use teetap_proxy::session::{HeldMessage, SessionId};
use teetap_rules::{
    Draft, DraftError, Made, Span,
    syntax::{Expr, Kind},
};
use teetap_wire::{
    Dir, Proto,
    def::{self, Def, Record, Records, Registry, Secrets, Source, Value},
};

use super::{cursor::Cursor, editor::Editor, filter::SyntaxError};
use crate::keymap::KeyPress;

/// Text shown for a secret that the user has not typed.
const HIDDEN: &str = "•••";

/// Purpose of a form.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Edit a held message.
    Edit(Box<HeldMessage>),
    /// Send a new message in this direction.
    Inject(Dir),
    /// Send a changed copy of a message that was seen.
    Row(Box<SeenMessage>),
}

/// A message that was seen in a session.
#[derive(Clone, Debug)]
pub(crate) struct SeenMessage {
    /// The session.
    pub(crate) session: SessionId,
    /// The direction.
    pub(crate) dir: Dir,
    /// The protocol of the session.
    pub(crate) proto: Proto,
    /// True if the message is vital.
    pub(crate) vital: bool,
    /// Message id and fields.
    pub(crate) data: Vec<u8>,
}

/// Name of the field with the session of a new message.
const SESSION: &str = "session";

/// Maximum number of changes that can be undone.
const UNDONE: usize = 100;

/// The reason why the message of a form cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// The fields do not form a valid message.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The held message cannot be changed in this way.
    #[error(transparent)]
    Edit(#[from] DraftError),
    /// The field of the session is not a number.
    #[error("write the number of a session, such as 1")]
    Session,
    /// The bytes of a message that is no longer held cannot be built.
    #[error("the message cannot be built")]
    Late,
}

/// A field of a form.
#[derive(Clone, Debug)]
pub(crate) struct FormField {
    /// The name.
    pub(crate) name: String,
    /// Editor of the value.
    pub(crate) editor: Editor,
    /// Value when the form was opened.
    before: String,
    is_text: bool,
    /// Values that receivers expect.
    pub(crate) hint: String,
    /// Names of values.
    pub(crate) words: Vec<String>,
    /// Text that was typed before the first completion; `None` if another key was pressed since.
    stem: Option<String>,
}

/// A form while it is open.
#[derive(Clone, Debug)]
pub(crate) struct MessageForm {
    /// Purpose of the form.
    pub(crate) target: Target,
    /// Name of the message.
    pub(crate) message: String,
    /// The fields.
    pub(crate) fields: Vec<FormField>,
    /// Cursor in the fields.
    pub(crate) cursor: Cursor,
    /// Error in the current message; `None` if the message is valid.
    pub(crate) error: Option<FormError>,
    /// Interval at which the message is sent again.
    pub(crate) every: Option<Duration>,
    /// True if the message is no longer held, so that it will be sent as a new one.
    pub(crate) is_late: bool,
    /// True if the last key was Esc, so that the next one discards the changes.
    pub(crate) is_leaving: bool,
    /// Values before the last changes, each with the place of its field and whether it was typed over.
    undo: Vec<(usize, String, bool)>,
}

impl FormField {
    fn new(field: &def::Field, value: String) -> Self {
        let words = field.set().map_or_else(Vec::new, |set| {
            set.labels.iter().map(|label| label.name.to_string()).collect()
        });
        Self {
            name: field.name.to_string(),
            editor: Editor::new(value.clone()),
            before: value,
            is_text: field.is_text(),
            hint: expected(field)
                .unwrap_or_else(|| if field.is_text() { "text" } else { "number" }.to_owned()),
            words,
            stem: None,
        }
    }

    /// Returns the field of the session: the given one of these.
    fn session(session: Option<SessionId>, online: &[SessionId]) -> Self {
        let value = session.map_or(String::new(), |session| session.0.to_string());
        let words: Vec<String> = online.iter().map(|session| session.0.to_string()).collect();
        let hint = match words.is_empty() {
            true => "no session is online".to_owned(),
            false => format!("online: {}", words.join(", ")),
        };
        Self {
            name: SESSION.to_owned(),
            editor: Editor::new(value.clone()),
            before: value,
            is_text: false,
            hint,
            words,
            stem: None,
        }
    }

    /// Returns true if the value was changed.
    #[must_use]
    pub(crate) fn is_changed(&self) -> bool {
        self.editor.text() != self.before
    }

    /// Completes the typed value by the next or previous name that begins with it, or contains it.
    fn next_word(&mut self, forward: bool) {
        let is_name = self.words.iter().any(|word| word == self.editor.text());
        let stem = self.stem.take().unwrap_or_else(|| match is_name {
            true => String::new(),
            false => self.editor.text().to_lowercase(),
        });
        let begins = |word: &&String| word.to_lowercase().starts_with(&stem);
        let contains = |word: &&String| word.to_lowercase().contains(&stem);
        let mut words: Vec<&String> = self.words.iter().filter(begins).collect();
        if words.is_empty() {
            words = self.words.iter().filter(contains).collect();
        }
        if words.is_empty() && self.editor.text().parse::<i64>().is_ok() {
            words = self.words.iter().collect();
        }
        let count = words.len();
        let at = words.iter().position(|word| *word == self.editor.text());
        let next = match (at, forward) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        if let Some(word) = words.get(next) {
            self.editor = Editor::new((*word).clone());
        }
        self.stem = Some(stem);
    }

    fn written(&self) -> String {
        let text = self.editor.text();
        match self.is_text {
            true => quoted(text),
            false => text.trim().to_owned(),
        }
    }
}

/// Returns a text as a literal of the rule language.
#[must_use]
pub(crate) fn quoted(text: &str) -> String {
    Expr::new(Kind::Text(text.to_owned()), Span::default()).to_string()
}

/// Returns the fields that a form can change: single numbers and texts.
fn simple(def: &Def) -> impl Iterator<Item = (u16, &def::Field)> {
    def.parts(None)
        .filter(|(_, field)| (field.is_number() || field.is_text()) && !field.is_list())
}

/// Returns the default value of a field.
fn default(field: &def::Field) -> String {
    match (&field.default, field.is_text()) {
        (Some(def::Default::Int(value)), _) => value.to_string(),
        (Some(def::Default::Text(text)), _) => text.to_string(),
        (None, true) => String::new(),
        (None, false) => 0
            .clamp(field.bounds.min, field.bounds.max.max(field.bounds.min))
            .to_string(),
    }
}

/// Returns the value of a field in the form in which a person types it; `None` if it is neither a number nor UTF-8
/// text.
#[must_use]
pub(crate) fn typed(def: &Def, record: &Record, source: Source<'_>) -> Option<String> {
    let field = def.field(record.field)?;
    match record.value {
        Value::Int(value) => Some(match field.set().filter(|set| !set.flags) {
            Some(set) => set
                .label(value)
                .map_or_else(|| value.to_string(), |label| label.name.to_string()),
            None => value.to_string(),
        }),
        Value::Text(_) => String::from_utf8(def.bytes(record, source).into_owned()).ok(),
        _ => None,
    }
}

/// Returns a message in the syntax of rules, with all its fields; `None` if a field cannot be written.
#[must_use]
pub(crate) fn message_text(def: &Def, records: Records<'_>, source: Source<'_>) -> Option<String> {
    let mut parts = Vec::new();
    for record in records.parts(None) {
        let field = def.field(record.field)?;
        let value = typed(def, record, source)?;
        let value = if field.is_text() { quoted(&value) } else { value };
        parts.push(format!("{}: {value}", field.name));
    }
    Some(format!("{}{{{}}}", def.name, parts.join(", ")))
}

impl MessageForm {
    /// Returns a form for a held message; `None` if its fields are unknown.
    #[must_use]
    pub(crate) fn edit(held: &DecodedHeld, secrets: Secrets, registry: &'static Registry) -> Option<Self> {
        let def = held.def?;
        let view = held.fields().view();
        let source = Source::Bytes(&held.message.data);
        let fields = simple(def).filter_map(|(number, field)| {
            let record = view.parts(None).find(|record| record.field == number)?;
            // A secret that the user does not type remains unchanged.
            let is_secret = secrets == Secrets::Hide && view.secret(def, record, source).is_some();
            let value = match is_secret {
                true => HIDDEN.to_owned(),
                false => typed(def, record, source)?,
            };
            Some(FormField::new(field, value))
        });
        let target = Target::Edit(Box::new(held.message.clone()));
        Some(Self::new(target, held.name.clone(), fields.collect(), registry))
    }

    /// Returns a form for a new message with the values of `newest`, or with default values.
    #[must_use]
    pub(crate) fn inject(
        dir: Dir,
        def: &Def,
        newest: Option<(Records<'_>, &[u8])>,
        (session, online): (Option<SessionId>, &[SessionId]),
        registry: &'static Registry,
    ) -> Self {
        let fields = simple(def).map(|(number, field)| {
            let seen = newest.and_then(|(records, data)| {
                let source = Source::Bytes(data);
                let record = records.parts(None).find(|record| record.field == number)?;
                // A secret is never sent again without being typed.
                let is_secret = records.secret(def, record, source).is_some();
                typed(def, record, source).filter(|_| !is_secret)
            });
            FormField::new(field, seen.unwrap_or_else(|| default(field)))
        });
        let fields = fields.chain([FormField::session(session, online)]);
        Self::new(
            Target::Inject(dir),
            def.name.to_string(),
            fields.collect(),
            registry,
        )
    }

    /// Returns a form for a changed copy of a message that was seen.
    #[must_use]
    pub(crate) fn again(
        seen: SeenMessage,
        def: &Def,
        records: Records<'_>,
        online: &[SessionId],
        secrets: Secrets,
        registry: &'static Registry,
    ) -> Self {
        let source = Source::Bytes(&seen.data);
        let fields = simple(def).filter_map(|(number, field)| {
            let record = records.parts(None).find(|record| record.field == number)?;
            let is_secret = secrets == Secrets::Hide && records.secret(def, record, source).is_some();
            let value = match is_secret {
                true => HIDDEN.to_owned(),
                false => typed(def, record, source)?,
            };
            Some(FormField::new(field, value))
        });
        let fields = fields.chain([FormField::session(Some(seen.session), online)]);
        let fields = fields.collect();
        Self::new(
            Target::Row(Box::new(seen)),
            def.name.to_string(),
            fields,
            registry,
        )
    }

    fn new(target: Target, message: String, fields: Vec<FormField>, registry: &'static Registry) -> Self {
        let mut form = Self {
            target,
            message,
            fields,
            cursor: Cursor::default(),
            error: None,
            every: None,
            is_late: false,
            is_leaving: false,
            undo: Vec::new(),
        };
        form.cursor.set_len(form.fields.len());
        form.check(registry);
        form
    }

    /// Returns the message in the syntax of rules; of a held message, only the changed fields.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let fields = self.fields.iter().filter(|field| !self.is_session(field));
        let parts = fields.filter(|field| match self.target {
            Target::Edit(_) | Target::Row(_) => field.is_changed(),
            // A field without a value has its default.
            Target::Inject(_) => field.is_text || !field.editor.text().trim().is_empty(),
        });
        let parts: Vec<String> = parts
            .map(|field| format!("{}: {}", field.name, field.written()))
            .collect();
        let message = format!("{}{{{}}}", self.message, parts.join(", "));
        match self.target {
            Target::Edit(_) | Target::Row(_) => message,
            Target::Inject(dir) => format!("{dir} {message}"),
        }
    }

    /// Returns the changed bytes of a message that was seen or is no longer held, for sending as a new message.
    ///
    /// # Errors
    /// The bytes cannot be built, or the form is about a new message.
    pub(crate) fn late(&self, registry: &'static Registry) -> Result<Made, FormError> {
        let (proto, dir, vital, data) = match &self.target {
            Target::Edit(held) => (held.proto, held.dir, held.vital, &*held.data),
            Target::Row(seen) => (seen.proto, seen.dir, seen.vital, &*seen.data),
            Target::Inject(_) => return Err(FormError::Late),
        };
        let (draft, _) = Draft::edit(&self.text(), registry).map_err(|_| FormError::Late)?;
        let data = draft.edited(proto, dir, data);
        Ok(Made {
            dir,
            vital,
            data: data.map_err(|_| FormError::Late)?,
            rule: None,
        })
    }

    /// Returns true for the field of the session.
    fn is_session(&self, field: &FormField) -> bool {
        let last = self.fields.last();
        !matches!(self.target, Target::Edit(_)) && last.is_some_and(|last| std::ptr::eq(last, field))
    }

    /// Returns the session in its field; `None` if there is none.
    #[must_use]
    pub(crate) fn session(&self) -> Option<SessionId> {
        let field = self.fields.last().filter(|field| self.is_session(field))?;
        let text = field.editor.text().trim().trim_start_matches('#');
        text.parse().ok().map(SessionId)
    }

    /// Returns true if a value was changed.
    #[must_use]
    pub(crate) fn is_changed(&self) -> bool {
        self.fields.iter().any(FormField::is_changed)
    }

    /// Handles a key in the selected field.
    pub(crate) fn key(&mut self, key: KeyPress) {
        let forward = match key.code() {
            KeyCode::Tab => Some(true),
            KeyCode::BackTab => Some(false),
            _ => None,
        };
        self.change(key.typed().is_some(), |field| match forward {
            Some(forward) => field.next_word(forward),
            None => {
                field.stem = None;
                field.editor.key(key);
            }
        });
    }

    /// Inserts a pasted text in the selected field.
    pub(crate) fn paste(&mut self, text: &str) {
        self.change(false, |field| field.editor.insert(text));
    }

    /// Changes the selected field, and remembers the value before. Characters typed one after the other are one change.
    fn change(&mut self, is_typed: bool, change: impl FnOnce(&mut FormField)) {
        let Some(place) = self.cursor.selected_of(self.fields.len()) else {
            return;
        };
        let Some(field) = self.fields.get_mut(place) else {
            return;
        };
        let before = field.editor.text().to_owned();
        change(field);
        let goes_on = self
            .undo
            .last()
            .is_some_and(|(last, _, was_typed)| is_typed && *was_typed && *last == place);
        if field.editor.text() != before && !goes_on {
            self.undo.push((place, before, is_typed));
            if self.undo.len() > UNDONE {
                self.undo.remove(0);
            }
        }
    }

    /// Undoes the last change, and selects its field.
    pub(crate) fn undo(&mut self) {
        let Some((place, before, _)) = self.undo.pop() else {
            return;
        };
        if let Some(field) = self.fields.get_mut(place) {
            field.editor = Editor::new(before);
            field.stem = None;
            self.cursor.select(place);
        }
    }

    /// Checks the current message and sets the error.
    pub(crate) fn check(&mut self, registry: &'static Registry) {
        self.error = self.checked(registry).err();
    }

    fn checked(&self, registry: &'static Registry) -> Result<(), FormError> {
        let text = self.text();
        match &self.target {
            Target::Edit(held) => {
                let (draft, _) = Draft::edit(&text, registry).map_err(SyntaxError::from)?;
                draft.edited(held.proto, held.dir, &held.data)?;
            }
            Target::Row(seen) => {
                let (draft, _) = Draft::edit(&text, registry).map_err(SyntaxError::from)?;
                draft.edited(seen.proto, seen.dir, &seen.data)?;
            }
            Target::Inject(_) => {
                Draft::inject(&text, registry).map_err(SyntaxError::from)?;
            }
        }
        let session = self.fields.last().filter(|field| self.is_session(field));
        let is_named = session.is_some_and(|field| !field.editor.text().trim().is_empty());
        if is_named && self.session().is_none() {
            return Err(FormError::Session);
        }
        Ok(())
    }
}

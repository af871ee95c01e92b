//! A form with the fields of a message: edits a held message or sends a new one.
//!
//! Law: the result is a text in the rule language, which is checked after each key.

use std::time::Duration;

use teetap_inspect::{DecodedHeld, expect::expected};
use teetap_proxy::session::{HeldMessage, SessionId};
use teetap_rules::{
    Draft, DraftError, Made, Span,
    syntax::{Expr, Kind},
};
use teetap_wire::{
    Dir,
    def::{self, Def, Record, Records, Registry, Secrets, Source, Value},
};

use super::{cursor::Cursor, editor::Editor, filter::SyntaxError};

/// Text shown for a secret that the user has not typed.
const HIDDEN: &str = "•••";

/// Purpose of a form.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Edit a held message.
    Edit(Box<HeldMessage>),
    /// Send a new message in this direction and session.
    Inject(Dir, Option<SessionId>),
}

/// The reason why the message of a form cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// The fields do not form a valid message.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The held message cannot be changed in this way.
    #[error(transparent)]
    Edit(#[from] DraftError),
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
        }
    }

    /// Returns true if the value was changed.
    #[must_use]
    pub(crate) fn is_changed(&self) -> bool {
        self.editor.text() != self.before
    }

    /// Replaces the value by its next or previous name.
    pub(crate) fn next_word(&mut self, forward: bool) {
        let count = self.words.len();
        if count == 0 {
            return;
        }
        let at = self.words.iter().position(|word| word == self.editor.text());
        let next = match (at, forward) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        if let Some(word) = self.words.get(next) {
            self.editor = Editor::new(word.clone());
        }
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

    /// Returns a form for a new message with its default values.
    #[must_use]
    pub(crate) fn inject(
        dir: Dir,
        def: &Def,
        session: Option<SessionId>,
        registry: &'static Registry,
    ) -> Self {
        let fields = simple(def).map(|(_, field)| {
            let default = match (&field.default, field.is_text()) {
                (Some(def::Default::Int(value)), _) => value.to_string(),
                (Some(def::Default::Text(text)), _) => text.to_string(),
                (None, true) => String::new(),
                (None, false) => 0
                    .clamp(field.bounds.min, field.bounds.max.max(field.bounds.min))
                    .to_string(),
            };
            FormField::new(field, default)
        });
        let target = Target::Inject(dir, session);
        Self::new(target, def.name.to_string(), fields.collect(), registry)
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
        };
        form.cursor.set_len(form.fields.len());
        form.check(registry);
        form
    }

    /// Returns the message in the syntax of rules; of a held message, only the changed fields.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let parts = self.fields.iter().filter(|field| match self.target {
            Target::Edit(_) => field.is_changed(),
            // A field without a value has its default.
            Target::Inject(..) => field.is_text || !field.editor.text().trim().is_empty(),
        });
        let parts: Vec<String> = parts
            .map(|field| format!("{}: {}", field.name, field.written()))
            .collect();
        let message = format!("{}{{{}}}", self.message, parts.join(", "));
        match self.target {
            Target::Edit(_) => message,
            Target::Inject(dir, _) => format!("{dir} {message}"),
        }
    }

    /// Returns the changed bytes of a message that is no longer held, for sending as a new message.
    ///
    /// # Errors
    /// The bytes cannot be built, or the form is not about a held message.
    pub(crate) fn late(&self, registry: &'static Registry) -> Result<Made, FormError> {
        let Target::Edit(held) = &self.target else {
            return Err(FormError::Late);
        };
        let (draft, _) = Draft::edit(&self.text(), registry).map_err(|_| FormError::Late)?;
        let data = draft.edited(held.proto, held.dir, &held.data);
        Ok(Made {
            dir: held.dir,
            vital: held.vital,
            data: data.map_err(|_| FormError::Late)?,
            rule: None,
        })
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
            Target::Inject(..) => {
                Draft::inject(&text, registry).map_err(SyntaxError::from)?;
            }
        }
        Ok(())
    }

    /// Returns the selected field.
    pub(crate) fn field(&mut self) -> Option<&mut FormField> {
        let place = self.cursor.selected_of(self.fields.len())?;
        self.fields.get_mut(place)
    }
}

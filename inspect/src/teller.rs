//! Text and JSON of messages.
//!
//! Law: what cannot be read is a note. Secrets are dots unless asked for.

use teetap_rules::context::Players;
use teetap_wire::{
    Code, Note,
    def::{Decoded, Def, Secrets, Source},
    snap::Completed,
};

use crate::{gist, snapshot};

/// What is made of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line for people.
    Gist,
    /// A JSON object.
    Json,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Its name; `None` when its id, or UUID, is not known.
    pub name: Option<&'static str>,
    /// Its fields in the form that was asked for; empty when its id is not known.
    pub fields: String,
    /// The snapshot that it completes, as a JSON object; empty when it completes none or JSON was not asked for.
    pub snap: String,
    /// A line for each of its items that changed, where the form is a gist and items were asked for.
    pub items: Vec<String>,
    /// What is odd about it. Ranges are of its data.
    pub notes: Vec<Note>,
    /// No filter is against it.
    pub shown: bool,
}

/// Makes text and JSON.
pub(crate) struct Teller {
    pub(crate) secrets: Secrets,
    pub(crate) form: Form,
    pub(crate) items: bool,
    pub(crate) decoded: Decoded,
    /// For snapshot items.
    item: Decoded,
}

impl Teller {
    /// Without items of snapshots.
    pub(crate) fn new(secrets: Secrets, form: Form) -> Self {
        Self {
            secrets,
            form,
            items: false,
            decoded: Decoded::new(),
            item: Decoded::new(),
        }
    }

    /// What was read of `data`.
    pub(crate) fn content(&self, def: Option<&'static Def>, data: &[u8], players: &Players) -> Content {
        let source = Source::Bytes(data);
        let mut fields = String::new();
        if let Some(def) = def {
            match self.form {
                Form::Gist => fields = gist::line(&self.decoded, def, source, self.secrets, players),
                Form::Json => self.decoded.view().json(def, source, self.secrets, &mut fields),
            }
        }
        let notes: Vec<Note> = self.decoded.notes().iter().collect();
        // What has an unknown UUID is read as the envelope it is, which is not its name.
        let unknown = notes.iter().any(|note| note.code == Code::UnknownMessage);
        Content {
            name: def.filter(|_| !unknown).map(|def| &*def.name),
            fields,
            notes,
            shown: true,
            ..Content::default()
        }
    }

    /// What a snapshot says is of more use than the numbers of its message.
    pub(crate) fn add_snapshot(&mut self, completed: &Completed<'_>, content: &mut Content) {
        let Self {
            secrets, items, item, ..
        } = self;
        match self.form {
            Form::Gist => {
                content.fields = completed.to_string();
                if *items {
                    content.items = snapshot::lines(completed, *secrets, item);
                }
            }
            Form::Json => content.snap = snapshot::json(completed, *items, *secrets, item),
        }
        // Of one that came in parts there is no range in this message.
        let at = completed.data_at;
        content.notes.extend(completed.data_notes.iter().map(|note| Note {
            at: at.map_or(0, |at| at + note.at),
            len: at.map_or(0, |_| note.len),
            ..note
        }));
    }
}

impl Content {
    /// Of one whose end was not recorded: what that makes odd is no oddity.
    pub(crate) fn of_a_cut(mut self) -> Self {
        self.notes.retain(|note| !note.code.comes_of_a_cut());
        self
    }

    /// Of one that is not shown.
    pub(crate) fn hidden(def: Option<&'static Def>) -> Self {
        Self {
            name: def.map(|def| &*def.name),
            ..Self::default()
        }
    }
}

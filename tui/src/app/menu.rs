//! A choice between a few entries, over the view.

use teetap_proxy::session::SessionId;

use super::cursor::Cursor;

/// Rows to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The rows that are shown, folded ones included.
    Shown,
    /// The selected row.
    Row,
}

/// The effect of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Show only this session; `None` for all.
    Session(Option<SessionId>),
    /// Open the prompt with this rule.
    Rule(String),
    /// Copy this text.
    Copy(String),
    /// Save rows to a file.
    Save(Saved),
    /// Fold messages of this type, or unfold them.
    Fold(&'static str),
    /// End the run.
    Leave,
    /// Go on as before.
    Stay,
}

/// An entry of a menu.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key that chooses it.
    pub key: char,
    /// The words.
    pub text: String,
    /// The effect.
    pub choice: Choice,
}

/// A menu while it is open.
#[derive(Clone, Debug)]
pub struct Menu {
    /// The title.
    pub title: String,
    /// The entries.
    pub entries: Vec<Entry>,
    /// The selected one.
    pub cursor: Cursor,
}

impl Menu {
    /// A menu of these entries. They get the keys 0 to 9, then a to z.
    #[must_use]
    pub fn new(title: &str, entries: impl IntoIterator<Item = (String, Choice)>) -> Self {
        let keys = ('0'..='9').chain('a'..='z').chain(std::iter::repeat(' '));
        let entries: Vec<Entry> = keys
            .zip(entries)
            .map(|(key, (text, choice))| Entry { key, text, choice })
            .collect();
        let mut cursor = Cursor::default();
        cursor.set_len(entries.len());
        Self {
            title: title.to_owned(),
            entries,
            cursor,
        }
    }

    /// Returns the effect of the entry with this key.
    #[must_use]
    pub fn by_key(&self, key: char) -> Option<&Choice> {
        let mut entries = self.entries.iter();
        let found = entries.find(|entry| entry.key == key && key != ' ')?;
        Some(&found.choice)
    }

    /// Returns the effect of the selected entry.
    #[must_use]
    pub fn selected(&self) -> Option<&Choice> {
        let place = self.cursor.selected_of(self.entries.len())?;
        Some(&self.entries.get(place)?.choice)
    }
}

//! A choice between several entries, drawn over the view.

use teetap_proxy::session::SessionId;

use super::cursor::Cursor;

/// Rows to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// All rows that are shown, including folded ones.
    Shown,
    /// The selected row.
    Row,
}

/// Effect of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Show only this session; `None` = all.
    Session(Option<SessionId>),
    /// Open the prompt with this rule.
    Rule(String),
    /// Copy this text.
    Copy(String),
    /// Save rows to a file.
    Save(Saved),
    /// Fold or unfold messages of this type.
    Fold(&'static str),
    /// End the run.
    Leave,
    /// Stay in the run.
    Stay,
}

/// An entry of a menu.
#[derive(Clone, Debug)]
pub(crate) struct MenuItem {
    /// Key that chooses the entry.
    pub(crate) key: char,
    /// Text of the entry.
    pub(crate) text: String,
    /// Effect of the entry.
    pub(crate) choice: Choice,
}

/// A menu while it is open.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    /// The title.
    pub(crate) title: String,
    /// The entries.
    pub(crate) entries: Vec<MenuItem>,
    /// Cursor in the entries.
    pub(crate) cursor: Cursor,
}

impl Menu {
    /// Returns a menu of these entries, which get the keys 0 to 9, then a to z.
    #[must_use]
    pub(crate) fn new(title: &str, entries: impl IntoIterator<Item = (String, Choice)>) -> Self {
        let keys = ('0'..='9').chain('a'..='z').chain(std::iter::repeat(' '));
        let entries: Vec<MenuItem> = keys
            .zip(entries)
            .map(|(key, (text, choice))| MenuItem { key, text, choice })
            .collect();
        let mut cursor = Cursor::default();
        cursor.set_len(entries.len());
        Self {
            title: title.to_owned(),
            entries,
            cursor,
        }
    }

    /// Returns the effect of the entry with this key; `None` if no entry has it.
    #[must_use]
    pub(crate) fn by_key(&self, key: char) -> Option<&Choice> {
        let mut entries = self.entries.iter();
        let found = entries.find(|entry| entry.key == key && key != ' ')?;
        Some(&found.choice)
    }

    /// Returns the effect of the selected entry; `None` if the menu is empty.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<&Choice> {
        let place = self.cursor.selected_of(self.entries.len())?;
        Some(&self.entries.get(place)?.choice)
    }
}

//! Prompts: a line at the bottom of the screen with history and completion.

use super::{editor::Editor, menu::Saved, rules::Slider};

/// The maximum number of lines that a history keeps.
const KEPT: usize = 100;

/// The purpose of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A command.
    Command,
    /// A filter.
    Filter,
    /// A text to search for.
    Search,
    /// A rule, in the place of the one of this name if there is one.
    Rule(Option<String>),
    /// The value of a slider.
    Value {
        /// The link line; `None` if there is none yet.
        rule: Option<String>,
        /// The slider.
        slider: Slider,
        /// The value that it has.
        now: u32,
    },
    /// A message to send.
    Inject,
    /// A file for rows.
    Save(Saved),
}

/// A prompt while it is open.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The purpose.
    pub purpose: Purpose,
    /// The line.
    pub editor: Editor,
    /// The error of the line, with the place of the first wrong byte if it is known; `None` if the line is right.
    pub error: Option<(usize, String)>,
    /// The possible ends of the last word, and the length in bytes of that word.
    pub candidates: Candidates,
    /// The candidate that was chosen last.
    pub chosen: Option<usize>,
    /// The line of the history that is shown, counted from the newest.
    recalled: Option<usize>,
    /// The line before the history was used.
    draft: String,
}

/// Words that complete a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The bytes before the place to type at that a word replaces.
    pub len: usize,
    /// The words, each with a short explanation.
    pub words: Vec<(String, String)>,
}

/// The lines that were entered before.
#[derive(Clone, Debug, Default)]
pub struct Lines(Vec<String>);

impl Lines {
    /// Adds a line as the newest one.
    pub fn push(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.0.retain(|known| known != line);
        self.0.push(line.to_owned());
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
    }

    /// Returns a line, counted from the newest.
    #[must_use]
    pub fn get(&self, back: usize) -> Option<&str> {
        self.0.iter().nth_back(back).map(String::as_str)
    }
}

impl Prompt {
    /// A prompt with this text.
    #[must_use]
    pub fn new(purpose: Purpose, text: &str) -> Self {
        Self {
            purpose,
            editor: Editor::new(text),
            error: None,
            candidates: Candidates::default(),
            chosen: None,
            recalled: None,
            draft: String::new(),
        }
    }

    /// Chooses the next candidate, or the one before.
    pub fn choose(&mut self, forward: bool) {
        let count = self.candidates.words.len();
        if count == 0 {
            return;
        }
        let chosen = match (self.chosen, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(chosen), true) => (chosen + 1) % count,
            (Some(chosen), false) => (chosen + count - 1) % count,
        };
        if let Some((word, _)) = self.candidates.words.get(chosen)
            && self.editor.complete(self.candidates.len, word)
        {
            self.candidates.len = word.len();
            self.chosen = Some(chosen);
        }
    }

    /// Shows the line that was entered before this one, or after it.
    pub fn recall(&mut self, lines: &Lines, older: bool) {
        let wanted = match (self.recalled, older) {
            (None, true) => Some(0),
            (None, false) => return,
            (Some(back), true) => Some(back + 1),
            (Some(back), false) => back.checked_sub(1),
        };
        if self.recalled.is_none() {
            self.draft = self.editor.text().to_owned();
        }
        let text = match wanted {
            None => self.draft.clone(),
            Some(back) => match lines.get(back) {
                Some(line) => line.to_owned(),
                None => return,
            },
        };
        self.recalled = wanted;
        self.editor = Editor::new(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_goes_back_and_returns_to_the_draft() {
        let mut lines = Lines::default();
        for line in ["one", "two", "", "one"] {
            lines.push(line);
        }
        let mut prompt = Prompt::new(Purpose::Command, "dra");
        let mut texts = Vec::new();
        for older in [false, true, true, true, false, false, false] {
            prompt.recall(&lines, older);
            texts.push(prompt.editor.text().to_owned());
        }
        assert_eq!(texts, ["dra", "one", "two", "two", "one", "dra", "dra"]);
    }

    #[test]
    fn candidates_replace_each_other() {
        let mut prompt = Prompt::new(Purpose::Command, "th");
        let words = ["theme", "that"].map(|word| (word.to_owned(), String::new()));
        prompt.candidates = Candidates {
            len: 2,
            words: words.into(),
        };
        let mut texts = Vec::new();
        for forward in [true, true, true, false] {
            prompt.choose(forward);
            texts.push(prompt.editor.text().to_owned());
        }
        assert_eq!(texts, ["theme", "that", "theme", "that"]);
    }
}

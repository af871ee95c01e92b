//! Prompts: a line at the bottom of the screen with history and completion.

use super::{
    editor::Editor,
    filter::SyntaxError,
    menu::Saved,
    rules::{Slider, ValueError},
};

/// Maximum number of lines in a history.
const KEPT: usize = 100;

/// Purpose of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A command.
    Command,
    /// A filter.
    Filter,
    /// A text to search for.
    Search,
    /// A rule; replaces the rule of this name if there is one.
    Rule(Option<String>),
    /// The value of a slider.
    Value {
        /// Name of the link line; `None` if there is none yet.
        rule: Option<String>,
        /// Slider to set.
        slider: Slider,
        /// Current value.
        now: u32,
    },
    /// A message to send.
    Inject,
    /// A file to which rows are saved.
    Save(Saved),
}

/// The error in the line of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PromptError {
    /// The line is not a valid filter, rule or message.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The line is not a value of the slider.
    #[error(transparent)]
    Value(#[from] ValueError),
}

/// A prompt, while it is open.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// Purpose of the prompt.
    pub(crate) purpose: Purpose,
    /// Editor of the line.
    pub(crate) editor: Editor,
    /// Error in the line; `None` if the line is valid.
    pub(crate) error: Option<PromptError>,
    /// Words that may complete the line.
    pub(crate) candidates: Candidates,
    /// Index of the candidate chosen last.
    pub(crate) chosen: Option<usize>,
    /// True until the first key if the line has a text, which the first typed character replaces.
    pub(crate) is_fresh: bool,
    /// True if the page about the language is shown above the line.
    pub(crate) has_guide: bool,
    /// History line that is shown, counted from the newest.
    recalled: Option<usize>,
    /// Line that was typed before a history line was shown.
    draft: String,
}

/// Words that complete a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// Number of bytes before the cursor that a candidate replaces.
    pub(crate) len: usize,
    /// Candidates, each with a short explanation.
    pub(crate) words: Vec<(String, String)>,
}

/// History of entered lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineHistory(Vec<String>);

/// Histories of the prompts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histories {
    /// Commands that were entered.
    commands: LineHistory,
    /// Filters that were entered.
    filters: LineHistory,
    /// Texts that were searched for; the newest one is used for the next search.
    pub(crate) searches: LineHistory,
    /// Rules that were entered.
    rules: LineHistory,
    /// Slider values that were typed.
    values: LineHistory,
    /// Messages that were sent.
    pub(crate) messages: LineHistory,
}

impl Histories {
    /// Returns the history for a purpose.
    pub(crate) const fn lines(&self, purpose: &Purpose) -> &LineHistory {
        match purpose {
            Purpose::Command | Purpose::Save(_) => &self.commands,
            Purpose::Filter => &self.filters,
            Purpose::Search => &self.searches,
            Purpose::Rule(_) => &self.rules,
            Purpose::Value { .. } => &self.values,
            Purpose::Inject => &self.messages,
        }
    }

    /// Returns the history for a purpose, to add a line.
    pub(crate) const fn for_purpose(&mut self, purpose: &Purpose) -> &mut LineHistory {
        match purpose {
            Purpose::Command | Purpose::Save(_) => &mut self.commands,
            Purpose::Filter => &mut self.filters,
            Purpose::Search => &mut self.searches,
            Purpose::Rule(_) => &mut self.rules,
            Purpose::Value { .. } => &mut self.values,
            Purpose::Inject => &mut self.messages,
        }
    }
}

impl LineHistory {
    /// Adds a line as the newest one. Ignores an empty line.
    pub(crate) fn push(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.0.retain(|known| known != line);
        self.0.push(line.to_owned());
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
    }

    /// Returns a line of the history, counted from the newest.
    #[must_use]
    pub(crate) fn get(&self, back: usize) -> Option<&str> {
        self.0.iter().nth_back(back).map(String::as_str)
    }
}

impl Prompt {
    /// Returns a prompt with this text.
    #[must_use]
    pub(crate) fn new(purpose: Purpose, text: &str) -> Self {
        Self {
            purpose,
            editor: Editor::new(text),
            error: None,
            candidates: Candidates::default(),
            chosen: None,
            is_fresh: false,
            has_guide: false,
            recalled: None,
            draft: String::new(),
        }
    }

    /// Returns the position of the error in the line, in bytes; `None` if the line is valid.
    #[must_use]
    pub(crate) fn error_at(&self) -> Option<usize> {
        self.error.as_ref().map(|error| match error {
            PromptError::Syntax(error) => error.at(),
            PromptError::Value(_) => self.editor.text().len(),
        })
    }

    /// Chooses the next or previous candidate.
    pub(crate) fn choose(&mut self, forward: bool) {
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

    /// Shows the next older or newer line of the history.
    pub(crate) fn recall(&mut self, lines: &LineHistory, older: bool) {
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
        let mut lines = LineHistory::default();
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
    fn a_history_keeps_the_newest_lines_each_once() {
        let mut lines = LineHistory::default();
        (0..=KEPT).for_each(|number| lines.push(&number.to_string()));
        let newest = KEPT.to_string();
        assert_eq!(
            (lines.get(0), lines.get(KEPT - 1), lines.get(KEPT)),
            (Some(&*newest), Some("1"), None)
        );
        lines.push("5");
        assert_eq!(
            (lines.get(0), lines.get(1), lines.get(KEPT - 1)),
            (Some("5"), Some(&*newest), Some("1"))
        );
    }

    #[test]
    fn the_first_candidate_is_the_first_or_the_last_one() {
        let words = ["one", "twoo", "three"].map(|word| (word.to_owned(), String::new()));
        for (chosen, expected) in [
            ([true, true, true, true], ["one", "twoo", "three", "one"]),
            ([false, false, false, false], ["three", "twoo", "one", "three"]),
            ([false, true, false, true], ["three", "one", "three", "one"]),
        ] {
            let mut prompt = Prompt::new(Purpose::Command, "say t");
            prompt.choose(true);
            assert_eq!(
                (prompt.editor.text(), prompt.chosen),
                ("say t", None),
                "no candidates"
            );
            prompt.candidates = Candidates {
                len: 1,
                words: words.clone().into(),
            };
            let texts = chosen.map(|forward| {
                prompt.choose(forward);
                prompt.editor.text().to_owned()
            });
            assert_eq!(texts, expected.map(|word| format!("say {word}")));
        }
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

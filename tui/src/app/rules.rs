//! The rules as the screen shows them, with sliders for link lines.

use teetap_inspect::jsonl::RuleBody;
use teetap_rules::{Program, Severity, program::profiles};
use teetap_wire::{def::Registry, printable};

use super::cursor::Cursor;

/// Name of the rule that the intercept key adds.
pub(crate) const INTERCEPT: &str = "intercept";

/// Value of a link line that a slider sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slider {
    /// Delay in milliseconds.
    Delay,
    /// Loss in percent.
    Loss,
}

/// The reason why a typed text is not a value of a slider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// The text is not a time.
    #[error("write a time, such as 40, 40ms or 1.5s")]
    Time,
    /// The text is not a percentage.
    #[error("write a percentage, such as 3 or 2.5%")]
    Percentage,
    /// The loss is greater than 100 %.
    #[error("no more than 100 % can be lost")]
    Loss,
}

/// Row of the rules view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleRow {
    /// The statement with this index.
    Statement(usize),
    /// A slider of the statement with this index; `None` for a link line that does not exist yet.
    Slider(Option<usize>, Slider),
    /// Choice of a profile.
    Profile,
}

/// State of the rules view.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// Statements in order.
    pub(crate) list: Vec<RuleBody>,
    /// Cursor in the rows.
    pub(crate) cursor: Cursor,
    /// First warning about each statement, with the texts of the statements that were checked.
    warnings: Vec<(String, Option<String>)>,
    /// Changes that can be undone, the newest last.
    pub(crate) undo: Vec<Undo>,
    /// Names of the rules that were switched off together.
    pub(crate) silenced: Vec<String>,
}

impl Slider {
    /// Returns the keyword in link lines.
    #[must_use]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Loss => "loss",
        }
    }

    /// Returns the step, the maximum and the unit.
    #[must_use]
    pub(crate) const fn scale(self) -> (u32, u32, &'static str) {
        match self {
            Self::Delay => (5, 1000, "ms"),
            Self::Loss => (1, 100, "%"),
        }
    }

    /// Returns the value in a link line, rounded down; 0 if there is none, `None` if it is written in another form.
    #[must_use]
    pub(crate) fn value(self, text: &str) -> Option<u32> {
        let mut words = text.split_whitespace().skip_while(|word| *word != self.word());
        let Some(value) = words.nth(1) else {
            return Some(0);
        };
        let (_, _, unit) = self.scale();
        let number = match (self, value.strip_suffix(unit)) {
            (_, Some(number)) => number.parse::<f64>().ok()?,
            (Self::Delay, None) => value.strip_suffix('s')?.parse::<f64>().ok()? * 1000.0,
            (Self::Loss, None) => return None,
        };
        // The maximum is far below the limit of the type.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is clamped"
        )]
        Some(number.clamp(0.0, 1e6) as u32)
    }

    /// Returns a link line with another value. The value 0 removes the parameter.
    #[must_use]
    pub(crate) fn with(self, text: &str, value: u32) -> String {
        let (_, _, unit) = self.scale();
        let word = (value > 0).then(|| format!("{value}{unit}"));
        self.with_word(text, word.as_deref())
    }

    /// Returns the link line's word for a typed value, whose unit is optional; `None` for 0.
    ///
    /// # Errors
    /// The text is not a value of this slider.
    pub(crate) fn word_of(self, typed: &str) -> Result<Option<String>, ValueError> {
        let (_, _, unit) = self.scale();
        let typed = typed.trim();
        let (number, unit) = match (self, typed.strip_suffix(unit), typed.strip_suffix('s')) {
            (_, Some(number), _) => (number, unit),
            (Self::Delay, None, Some(number)) => (number, "s"),
            _ => (typed, unit),
        };
        let number = number.trim();
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let value = number.parse::<f64>().ok().filter(|_| is_number);
        let value = value.ok_or(match self {
            Self::Delay => ValueError::Time,
            Self::Loss => ValueError::Percentage,
        })?;
        if self == Self::Loss && value > 100.0 {
            return Err(ValueError::Loss);
        }
        Ok((value > 0.0).then(|| format!("{number}{unit}")))
    }

    /// Returns a link line with another value, given as its word; `None` removes the parameter.
    #[must_use]
    pub(crate) fn with_word(self, text: &str, value: Option<&str>) -> String {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let at = words.iter().position(|word| word == self.word());
        match (at, value) {
            (Some(at), None) => {
                // Jitter has no effect without a delay.
                let end = match self {
                    Self::Delay if words.get(at + 2).is_some_and(|word| word == "jitter") => at + 4,
                    _ => at + 2,
                };
                words.drain(at..end.min(words.len()));
            }
            (Some(at), Some(value)) => {
                if let Some(word) = words.get_mut(at + 1) {
                    value.clone_into(word);
                }
            }
            (None, None) => {}
            (None, Some(value)) => {
                // Inserts the parameter after the direction.
                let at = words.len().min(2);
                words.insert(at, format!("{} {value}", self.word()));
            }
        }
        words.join(" ")
    }
}

/// A change of the rules that can be undone.
#[derive(Clone, Debug)]
pub(crate) enum Undo {
    /// The rule was removed from this place.
    Removed(Box<RuleBody>, usize),
    /// The text of a rule was replaced; contains the text before, and the name after it.
    Replaced(String, String),
}

/// Returns a rule as it is typed, with its name if it has one.
#[must_use]
pub(crate) fn written(rule: &RuleBody) -> String {
    // The name of a second rule with the same text has a number at its end.
    match rule.name.starts_with(&rule.text) {
        true => rule.text.clone(),
        false => format!("{}: {}", rule.name, rule.text),
    }
}

/// Returns the first warning about a statement, in one line; `None` if there is none.
fn warning(text: &str, registry: &'static Registry) -> Option<String> {
    let (_, diagnostics) = Program::compile(text, registry).ok()?;
    let mut warnings = diagnostics.iter();
    let first = warnings.find(|diagnostic| diagnostic.code.severity() != Severity::Note)?;
    let help = first
        .help
        .as_ref()
        .map_or(String::new(), |help| format!("; {help}"));
    Some(printable(format!("{}{help}", first.message).as_bytes()))
}

/// Returns a placeholder for a rule that is being added.
pub(crate) fn added(text: &str) -> RuleBody {
    RuleBody {
        name: text.to_owned(),
        text: text.to_owned(),
        from: String::new(),
        line: 1,
        on: true,
        hits: None,
        last_hit: None,
    }
}

/// Returns true for a link line.
#[must_use]
pub(crate) fn is_link(rule: &RuleBody) -> bool {
    rule.text.starts_with("link ")
}

/// Returns the built-in profile that a `use` statement names.
fn used_profile(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix("use ")?.trim().trim_matches('"');
    profiles().find(|profile| *profile == name)
}

/// Returns the next or previous profile. `None` precedes the first profile and follows the last one.
#[must_use]
pub(crate) fn next_profile(name: Option<&str>, forward: bool) -> Option<&'static str> {
    let all: Vec<&'static str> = profiles().collect();
    let at = all.iter().position(|profile| Some(*profile) == name);
    let next = match (at, forward) {
        (None, true) => Some(0),
        (None, false) => all.len().checked_sub(1),
        (Some(at), true) => Some(at + 1),
        (Some(at), false) => at.checked_sub(1),
    };
    all.get(next?).copied()
}

impl Rules {
    /// Sets the current rules.
    pub(crate) fn set(&mut self, list: Vec<RuleBody>, registry: &'static Registry) {
        let known = std::mem::take(&mut self.warnings);
        self.warnings = list
            .iter()
            .map(|rule| {
                let checked = known.iter().find(|(text, _)| *text == rule.text);
                checked.cloned().unwrap_or_else(|| {
                    let warning = warning(&rule.text, registry);
                    (rule.text.clone(), warning)
                })
            })
            .collect();
        self.list = list;
        self.cursor.set_len(self.rows().len());
    }

    /// Returns the first warning about the statement with this index; `None` if there is none.
    #[must_use]
    pub(crate) fn warning(&self, place: usize) -> Option<&str> {
        let (text, warning) = self.warnings.get(place)?;
        let is_same = self.list.get(place).is_some_and(|rule| rule.text == *text);
        warning.as_deref().filter(|_| is_same)
    }

    /// Returns the rows: each statement, and sliders below each link line.
    #[must_use]
    pub(crate) fn rows(&self) -> Vec<RuleRow> {
        let mut rows = Vec::new();
        let sliders = [Slider::Delay, Slider::Loss];
        for (place, rule) in self.list.iter().enumerate() {
            rows.push(RuleRow::Statement(place));
            if is_link(rule) {
                let values = sliders
                    .into_iter()
                    .filter(|slider| slider.value(&rule.text).is_some());
                rows.extend(values.map(|slider| RuleRow::Slider(Some(place), slider)));
            }
        }
        rows.push(RuleRow::Profile);
        if !self.list.iter().any(is_link) {
            rows.extend(sliders.map(|slider| RuleRow::Slider(None, slider)));
        }
        rows
    }

    /// Returns the selected row; `None` if there are no rows.
    #[must_use]
    pub(crate) fn row(&self) -> Option<RuleRow> {
        let rows = self.rows();
        rows.get(self.cursor.selected_of(rows.len())?).copied()
    }

    /// Returns the index of the selected statement.
    #[must_use]
    pub(crate) fn place(&self) -> Option<usize> {
        match self.row()? {
            RuleRow::Statement(place) => Some(place),
            RuleRow::Slider(place, _) => place,
            RuleRow::Profile => None,
        }
    }

    /// Returns the selected statement.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<&RuleBody> {
        self.list.get(self.place()?)
    }

    /// Selects a row.
    pub(crate) fn select(&mut self, wanted: RuleRow) {
        let rows = self.rows();
        self.cursor.set_len(rows.len());
        if let Some(row) = rows.iter().position(|row| *row == wanted) {
            self.cursor.select(row);
        }
    }

    /// Returns the index and name of the built-in profile in use; `None` if there is none.
    #[must_use]
    pub(crate) fn profile(&self) -> Option<(usize, &'static str)> {
        self.list
            .iter()
            .enumerate()
            .find_map(|(place, rule)| Some((place, used_profile(&rule.text)?)))
    }

    /// Returns true if the intercept rule is on.
    #[must_use]
    pub(crate) fn intercepts(&self) -> bool {
        self.list.iter().any(|rule| rule.name == INTERCEPT && rule.on)
    }

    /// Returns true if one of the rules that were switched off together is still off.
    #[must_use]
    pub(crate) fn are_silenced(&self) -> bool {
        self.list.iter().any(|rule| self.is_silenced(rule))
    }

    fn is_silenced(&self, rule: &RuleBody) -> bool {
        !rule.on && self.silenced.contains(&rule.name)
    }

    /// Returns the names of the rules that were switched off together and are still off, and forgets them.
    pub(crate) fn take_silenced(&mut self) -> Vec<String> {
        let silenced = self.list.iter().filter(|rule| self.is_silenced(rule));
        let names = silenced.map(|rule| rule.name.clone()).collect();
        self.silenced.clear();
        names
    }

    /// Switches rules on or off before the answer is received, since further keys may be pressed before it.
    pub(crate) fn switch(&mut self, names: &[String], on: bool) {
        let named = self.list.iter_mut().filter(|rule| names.contains(&rule.name));
        named.for_each(|rule| rule.on = on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_gone_through_with_none_between_the_last_and_the_first() {
        let mut seen = vec![next_profile(None, true)];
        while let Some(name) = seen.last().copied().flatten() {
            seen.push(next_profile(Some(name), true));
        }
        assert_eq!(seen.len(), profiles().count() + 1);
        let last = seen[seen.len() - 2];
        assert_eq!(next_profile(None, false), last);
        assert_eq!(used_profile("use \"3g\""), Some("3g"));
        assert_eq!(used_profile("use \"own\""), None);
    }

    #[test]
    fn sliders_change_their_value_and_nothing_else() {
        let line = "link s2c delay 40ms jitter 8ms normal loss 2.5% rate 2mbit";
        assert_eq!(
            (Slider::Delay.value(line), Slider::Loss.value(line)),
            (Some(40), Some(2))
        );
        assert_eq!(
            Slider::Delay.with(line, 45),
            "link s2c delay 45ms jitter 8ms normal loss 2.5% rate 2mbit"
        );
        assert_eq!(
            Slider::Loss.with(line, 0),
            "link s2c delay 40ms jitter 8ms normal rate 2mbit"
        );
        assert_eq!(Slider::Loss.with("link both", 10), "link both loss 10%");
        assert_eq!(Slider::Delay.value("link both delay 1.5s"), Some(1500));
        assert_eq!(Slider::Loss.value("link both loss gemodel 1% 30%"), None);
        assert_eq!(Slider::Loss.with("link both", 0), "link both");
    }
}

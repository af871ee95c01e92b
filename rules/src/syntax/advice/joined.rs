//! Corrections of text after a complete expression or rule.

use super::text::{FILLERS, FUNCTIONS, bare, direction, line, share_first, split_word};
use crate::synonym::{self, Place};
use crate::syntax::lex::{Input, word_char};
use crate::syntax::words::MODIFIERS;

/// Returns help for text after `head`, a statement or expression that is complete without it. `first` returns the first
/// valid text of several.
pub(in crate::syntax) fn joined(
    i: &Input<'_>,
    head: &str,
    is_rule: bool,
    first: impl Fn(Vec<String>) -> Option<String>,
) -> Option<String> {
    i.state.trials.expression?;
    let tail = line(i);
    let leftover = Leftover::new(head, &tail, is_rule);
    if tail.starts_with(['{', '[']) {
        let last = leftover.last;
        return Some(format!(
            "write `{last}.message == \"x\"` for a message with this field"
        ));
    }
    let mut texts = leftover.calls();
    texts.extend(leftover.numbers());
    texts.extend(leftover.windows());
    texts.extend(leftover.words());
    first(texts)
        .or_else(|| leftover.known())
        .or_else(|| first(vec![leftover.with_operator()]))
        .or_else(|| {
            let (last, word) = (leftover.last, leftover.word);
            let is_name = word.contains('_') && last.contains('_');
            is_name.then(|| format!("join conditions with `and` or `or`, as in `{last} or {word}`"))
        })
}

/// Text after a complete expression or rule.
struct Leftover<'t> {
    head: &'t str,
    /// The last word of `head`, and the text before it.
    last: &'t str,
    before: &'t str,
    tail: &'t str,
    /// The first word of `tail`, without fillers before a modifier, and the text after it.
    word: &'t str,
    after: &'t str,
    is_rule: bool,
}

impl<'t> Leftover<'t> {
    fn new(head: &'t str, tail: &'t str, is_rule: bool) -> Self {
        let (mut word, mut after) = split_word(tail);
        let is_modifier =
            |word: &str| MODIFIERS.contains(&word) || synonym::typed(Place::Modifier, word).is_some();
        if FILLERS.contains(&word) && is_rule && is_modifier(split_word(after).0) {
            (word, after) = split_word(after);
        }
        let last = head.rsplit(' ').next().unwrap_or_default();
        Self {
            head,
            last,
            before: head.strip_suffix(last).unwrap_or_default(),
            tail,
            word,
            after,
            is_rule,
        }
    }

    /// Returns the places whose words may follow.
    const fn places(&self) -> &'static [Place] {
        match self.is_rule {
            true => &[Place::Modifier, Place::Operator],
            false => &[Place::Operator],
        }
    }

    /// Returns texts with brackets: `seen sv_chat` is `seen(sv_chat)`, and `x.contains("y")` is `x contains "y"`.
    fn calls(&self) -> Vec<String> {
        let Self {
            last,
            before,
            tail,
            word,
            after,
            ..
        } = *self;
        let mut texts = Vec::new();
        if FUNCTIONS.contains(&last) {
            let is_field = tail.get(word.len()..).is_some_and(|more| more.starts_with('.'));
            let end = after.find([' ', ')']).filter(|_| is_field).unwrap_or(after.len());
            let (field, more) = after.split_at_checked(end).unwrap_or((after, ""));
            texts.push(match is_field {
                true => format!("{before}{last}({word}{field}) {more}"),
                false => format!("{before}{last}({word}) {after}"),
            });
        }
        if let Some(rest) = tail.strip_prefix('(') {
            let (value, operator) = last.rsplit_once('.').unwrap_or(("", ""));
            let operator = operator.to_ascii_lowercase();
            let typed = synonym::typed(Place::Operator, &operator).and_then(|typed| typed.split('`').nth(1));
            let sign = typed.map_or(&*operator, |typed| typed.split(' ').next().unwrap_or(&operator));
            let (inner, more) = rest.split_once(')').unwrap_or((rest, ""));
            texts.push(format!("{before}{value} {sign} {inner} {more}"));
        }
        if matches!(last, "is" | "are") {
            texts.push(format!("{before}{tail}"));
        }
        if after.is_empty() && matches!(word, "yes" | "true") {
            texts.push(self.head.to_owned());
        }
        texts
    }

    /// Returns texts with a word before a number: `sv_chat 5%` is `sv_chat chance 5%`.
    fn numbers(&self) -> Vec<String> {
        let Self { head, last, tail, .. } = *self;
        let mut texts = Vec::new();
        if !tail.starts_with(|c: char| c.is_ascii_digit()) {
            return texts;
        }
        let (share, more) = share_first(tail);
        let share = share.filter(|_| self.is_rule);
        texts.extend(share.map(|share| format!("{head} chance {share} {more}")));
        match last {
            "sys" | "game" | "ctrl" => texts.push(format!("{head}.{tail}")),
            "sess" => texts.push(format!("{head}.id == {tail}")),
            "pkt" => texts.push(format!("{head}.size > {tail}")),
            "n" | "t" | "frame" => texts.push(format!("{head} == {tail}")),
            last if last.contains('.') => texts.push(format!("{head} == {tail}")),
            _ => {}
        }
        if self.is_rule {
            texts.push(format!("{head} first {tail}"));
        }
        texts
    }

    /// Returns texts with the two ends of `between 5s and 10s`, and with the number of `nth 3`.
    fn windows(&self) -> Vec<String> {
        let Self {
            head, word, after, ..
        } = *self;
        let mut texts = Vec::new();
        if FILLERS.contains(&split_word(self.tail).0) {
            texts.push(format!("{head} {}", bare(self.tail)));
        }
        if matches!(word, "between" | "during" | "from") {
            let ends = [" and ", " to ", ".."]
                .iter()
                .find_map(|sign| after.split_once(sign));
            texts.extend(
                ends.filter(|_| self.is_rule)
                    .map(|(from, to)| format!("{head} from {from} to {to}")),
            );
            texts.extend(ends.map(|(from, to)| format!("{head} in {from}..{to}")));
        }
        if matches!(word, "nth" | "number" | "n" | "no" | "num") && self.is_rule {
            texts.push(format!(
                "{head} and n == {}",
                after.trim_start_matches(['=', ' '])
            ));
        }
        texts
    }

    /// Returns texts with the word to type in place of the first word.
    fn words(&self) -> Vec<String> {
        let Self {
            head, last, after, ..
        } = *self;
        let mut texts = Vec::new();
        let known = self
            .places()
            .iter()
            .filter_map(|place| synonym::typed(*place, self.word));
        for typed in known.filter_map(|known| known.split('`').nth(1)) {
            let sign = typed.split(' ').next().unwrap_or_default();
            let text = after.trim_matches(['"', '\'']);
            let plain = text.trim_matches(['%', '*']);
            let is_plain = plain.chars().all(|c| word_char(c) || c == ' ') && !after.starts_with('/');
            let is_word = text.len() == after.len() && text.starts_with(word_char);
            match sign {
                "matches" if typed != sign && is_plain => {
                    texts.push(format!("{head} {}", typed.replace("text", plain)));
                }
                "matches" if is_plain && !plain.is_empty() => texts.push(format!("{head} matches /{plain}/")),
                "contains" if is_word && !last.ends_with("flags") => {
                    let (value, more) = split_word(text);
                    texts.push(format!("{head} contains \"{value}\" {more}"));
                }
                // `and not` is one operator.
                "and" if typed != sign => texts.push(format!("{head} {typed} {after}")),
                _ => {}
            }
            texts.push(format!("{head} {sign} {after}"));
            texts.push(format!("{head} {typed}"));
        }
        texts
    }

    /// Returns help for the first word, without a correction of the whole text.
    fn known(&self) -> Option<String> {
        let is_number = self.last.starts_with(|c: char| c.is_ascii_digit());
        let unit = synonym::help(Place::Unit, self.word).filter(|_| is_number);
        unit.or_else(|| {
            let mut places = self.places().iter();
            places.find_map(|place| synonym::help(*place, self.word))
        })
    }

    /// Returns the text with `and`, or with `or` between two messages, which are never one.
    fn with_operator(&self) -> String {
        let tail = match direction(self.tail) {
            Some(_) => bare(self.tail),
            None => self.tail.to_owned(),
        };
        let tail = tail.trim_start_matches(',').trim();
        let is_message = |word: &str| word.contains('_') && word != "any_snap" && !word.contains('.');
        let operator = if is_message(self.last) && is_message(tail) {
            "or"
        } else {
            "and"
        };
        format!("{} {operator} {tail}", self.head)
    }
}

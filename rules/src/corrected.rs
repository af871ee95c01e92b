//! Corrections of a whole text that are checked with the names of messages, before help tells the user to type them.
//!
//! Law: a correction of a whole text is accepted as it is. A correction of a part is accepted in its place, or the help
//! is replaced by the whole text with all further corrections.

use std::cell::Cell;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::span::Span;
use crate::syntax::{is_quotable, names_an_action};

/// Maximum number of texts that are checked for one error.
const MAX_TRIES: usize = 40;
/// Maximum number of errors that are corrected one after the other.
const MAX_STEPS: usize = 3;
/// Maximum length of a text that is corrected, in bytes.
const MAX_TEXT: usize = 400;

/// Returns the errors of a text; none if it is valid.
type Check<'c> = &'c dyn Fn(&str) -> Vec<Diagnostic>;

/// A search for corrections.
struct Search<'c> {
    check: Check<'c>,
    tries: Cell<usize>,
}

/// Replaces help that would lead to another error. `place` is the statement, or the whole text; `idioms` are texts of
/// the language that may be meant, the best first.
pub(crate) fn corrected(
    source: &str,
    place: Span,
    error: Diagnostic,
    idioms: Vec<String>,
    check: Check<'_>,
) -> Diagnostic {
    let text = source.get(place.start..place.end).unwrap_or_default();
    if error.severity() != Severity::Error || error.code == Code::TooComplex || text.len() > MAX_TEXT {
        return error;
    }
    let search = Search {
        check,
        tries: Cell::new(MAX_TRIES),
    };
    let local = Diagnostic {
        span: Span::new(
            error.span.start.saturating_sub(place.start),
            error.span.end.saturating_sub(place.start),
        ),
        ..error.clone()
    };
    let is_typo = error
        .help
        .as_deref()
        .is_some_and(|help| help.starts_with("did you mean"));
    let meant = typed(&local)
        .filter(|_| is_typo)
        .map(|typed| applied(text, &local, typed));
    let meant = meant.and_then(|texts| texts.into_iter().next());
    if meant.is_some_and(|text| search.is_valid(&text)) {
        return error;
    }
    let found = idioms
        .iter()
        .find_map(|idiom| search.follow(idiom, idiom, MAX_STEPS));
    if let Some(found) = found {
        return error.help(format!("write `{found}`"));
    }
    search.tries.set(MAX_TRIES);
    let Some(typed) = typed(&local) else { return error };
    let texts = applied(text, &local, typed);
    if let Some(valid) = texts.iter().find(|text| search.is_valid(text)) {
        let is_sign = !typed.contains(|c: char| c.is_alphanumeric() || matches!(c, '"' | '_'));
        let is_in_place = texts.iter().take(2).any(|text| text == valid) || typed == valid;
        return match (is_sign || !is_in_place) && is_quotable(valid) && fits(text, valid) {
            true => error.help(format!("write `{valid}`")),
            false => error,
        };
    }
    if typed.contains('.') && search.is_valid(typed) {
        return error;
    }
    let has_more = error
        .help
        .as_ref()
        .is_some_and(|help| !help.ends_with('`') || help.matches('`').count() > 2);
    let is_exact = !has_more || text.contains(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '/'));
    let found = texts
        .iter()
        .filter(|_| is_exact)
        .find_map(|next| search.follow(text, next, MAX_STEPS - 1));
    match found {
        Some(found) => error.help(format!("write `{found}`")),
        // The help of the correction is nearer to what is valid.
        None if names_an_action(typed) && typed.contains(" when ") => {
            let next = search.errors(typed).and_then(|errors| errors.into_iter().next());
            let help = next.and_then(|next| next.help);
            Diagnostic { help, ..error }.with_general_help()
        }
        None => error,
    }
}

impl Search<'_> {
    fn is_valid(&self, text: &str) -> bool {
        self.errors(text).is_some_and(|errors| errors.is_empty())
    }

    /// Returns the errors of a text; `None` after too many tries.
    fn errors(&self, text: &str) -> Option<Vec<Diagnostic>> {
        self.tries.set(self.tries.get().checked_sub(1)?);
        Some((self.check)(text))
    }

    /// Follows the help of errors until a text is valid and fits `root`, the text that was typed or is meant.
    fn follow(&self, root: &str, text: &str, steps: usize) -> Option<String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !is_quotable(&text) {
            return None;
        }
        let errors = self.errors(&text)?;
        let Some(error) = errors.first() else {
            return fits(root, &text).then_some(text);
        };
        let left = steps.checked_sub(1)?;
        let texts = applied(&text, error, typed(error)?);
        texts.iter().find_map(|next| self.follow(root, next, left))
    }
}

/// Returns the first text in backquotes of help that says what to type.
fn typed(error: &Diagnostic) -> Option<&str> {
    let help = error.help.as_deref()?;
    let starts = ["write `", "use `", "did you mean `"];
    let text = starts.iter().find_map(|start| help.strip_prefix(start))?;
    text.split('`').next()
}

/// Returns the texts that result from a correction, the likeliest first: in place of the error, of the comparison that
/// begins with it, with only the first word of the correction, and the correction alone.
fn applied(text: &str, error: &Diagnostic, typed: &str) -> Vec<String> {
    let before = text.get(..error.span.start).unwrap_or_default();
    let after = text.get(error.span.end..).unwrap_or_default();
    // A correction with the word before it is about more than the error.
    let last = before.trim_end().rsplit(' ').next().unwrap_or_default();
    if last.len() > 1 && typed.split(' ').any(|word| word == last) {
        let first = typed.split(' ').next().unwrap_or_default();
        let start = before
            .rfind(&format!(" {first} "))
            .and_then(|at| before.get(..=at));
        let more = after.split_once(' ').map_or("", |(_, more)| more);
        let whole = start.into_iter().flat_map(|start| {
            [
                format!("{start}{typed}"),
                format!("{start}{typed}{after}"),
                format!("{start}{typed} {more}"),
            ]
        });
        return whole.chain([typed.to_owned()]).collect();
    }
    let mut texts = vec![
        format!("{before}{typed}{after}"),
        format!("{before} {typed}{after}"),
        format!("{before}{typed}"),
    ];
    if after.starts_with('.') {
        let end = after.find(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '[' | ']'));
        let more = after.get(end.unwrap_or(after.len())..).unwrap_or_default();
        texts.push(format!("{before}{typed}{more}"));
    }
    if let Some(more) = behind_comparison(after) {
        texts.push(format!("{before}{typed}{more}"));
    }
    let (first, more) = typed.split_once(' ').unwrap_or((typed, ""));
    if first.contains(['.', '_']) && !more.is_empty() {
        texts.push(format!("{before}{first}{after}"));
    }
    if typed.contains(' ') || names_an_action(typed) {
        texts.push(typed.to_owned());
    }
    texts
}

/// Returns the text behind an operator and its value; `None` if the text does not begin with an operator.
fn behind_comparison(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let value = ["==", "!=", "<=", ">=", "=", "<", ">", "is "]
        .iter()
        .find_map(|sign| text.strip_prefix(sign))?
        .trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let end = match quote {
        Some(quote) => value.get(1..)?.find(quote)? + 2,
        None => value.find([' ', ')']).unwrap_or(value.len()),
    };
    value.get(end..)
}

/// Returns true if a correction keeps what was typed: its action, its directions, its numbers and its texts in quotes. It
/// has no other texts, which would be examples, and no part twice.
fn fits(text: &str, next: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'));
        words.map(str::to_lowercase).collect()
    };
    let (old, new) = (words(text), words(next));
    // The digits of a number with a unit.
    fn number(word: &str) -> Option<&str> {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.');
        let digits = word.get(..end.unwrap_or(word.len()))?;
        (digits.starts_with(|c: char| c.is_ascii_digit())).then_some(digits)
    }
    let is_kept = |word: &&String| match word.as_str() {
        "c2s" | "s2c" | "both" => new.contains(word),
        word => number(word).is_none_or(|old| new.iter().any(|word| number(word) == Some(old))),
    };
    let quoted = |text: &str| -> Vec<String> {
        let parts = text.split(['"', '\'']).skip(1).step_by(2);
        parts.map(ToOwned::to_owned).collect()
    };
    let is_known = |quoted: &String| text.contains(&**quoted);
    let same_action = !names_an_action(text) || old.first() == new.first();
    let is_said = quoted(text)
        .iter()
        .all(|quoted| next.contains(quoted.trim_matches('%')));
    let mut parts: Vec<&str> = next
        .split(" when ")
        .flat_map(|part| part.split(" and "))
        .flat_map(|part| part.split(" or "))
        .flat_map(|part| part.split(", "))
        .map(|part| {
            part.split(" every ")
                .next()
                .unwrap_or(part)
                .trim_matches(['(', ')', ' '])
        })
        .collect();
    let count = parts.len();
    parts.sort_unstable();
    parts.dedup();
    old.iter().all(|word| is_kept(&word))
        && quoted(next).iter().all(is_known)
        && same_action
        && is_said
        && parts.len() == count
}

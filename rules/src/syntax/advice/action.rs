//! Corrections of actions: other words in their place, conditions before them, and missing durations.

use super::text::{self, bare, line, split_word, splits};
use super::{first_statement, sentence};
use crate::diagnostic::Diagnostic;
use crate::synonym::{self, Place};
use crate::syntax::error::wanted;
use crate::syntax::lex::{Input, word_char};
use crate::syntax::words::{ACTIONS, LINK_WORDS, MODIFIERS};

/// Returns help for a statement that begins with `verb`, which is no action. `tail` is the text after it.
pub(in crate::syntax) fn no_action(i: &Input<'_>, verb: &str, tail: &str) -> Option<String> {
    i.state.trials.statement?;
    let whole = format!("{verb}{tail}");
    let whole = whole.trim().trim_end_matches(';');
    let mut texts = Vec::new();
    if LINK_WORDS.contains(&verb) && !MODIFIERS.contains(&verb) {
        texts.push(format!("link {whole}"));
        let (_, after) = split_word(whole);
        texts.extend(["c2s", "s2c", "both"].iter().filter_map(|dir| {
            let kept = after.strip_suffix(dir)?;
            Some(format!("link {dir} {verb} {kept}"))
        }));
    }
    if text::CONDITIONS.contains(&verb) {
        texts.extend(turned(tail.trim()));
    }
    if MODIFIERS.contains(&verb) {
        texts.extend(splits(whole).map(|(before, after)| format!("{after} {before}")));
    }
    if synonym::typed(Place::Link, verb).is_some() {
        texts.push(format!("link both {}", tail.trim()));
    }
    if LINK_WORDS.contains(&verb) {
        texts.push(format!("link both delay 40ms {whole}"));
        texts.push(format!("link both rate 2mbit {whole}"));
    }
    texts.extend(sentence::links(verb, tail.trim()));
    if let Some(help) = first_statement(i, texts) {
        return Some(help);
    }
    if is_expression_of(verb, tail) {
        let known = synonym::help(Place::Head, verb).filter(|_| tail.starts_with('.'));
        let bare = tail
            .strip_prefix('.')
            .filter(|_| synonym::PROTOCOLS.contains(&verb));
        let bare = bare.map(|bare| format!("log when {bare}"));
        return known
            .or_else(|| first_statement(i, bare))
            .or_else(|| synonym::help(Place::Condition, verb))
            .or_else(|| first_statement(i, [format!("log when {whole}")]));
    }
    if verb.is_empty()
        && ["//", "--", "/*", ";", "%"]
            .iter()
            .any(|sign| whole.starts_with(sign))
    {
        return Some("write `#` before a comment".to_owned());
    }
    let typed = synonym::typed(Place::Action, verb).and_then(|typed| typed.split('`').nth(1));
    let other = typed
        .and_then(|typed| typed.split(' ').next())
        .map(|action| format!("{action} {}", tail.trim()));
    if let Some(help) = first_statement(i, other.into_iter().chain(in_english(typed, tail.trim()))) {
        return Some(help);
    }
    let kept = synonym::help(Place::Action, verb);
    let named = whole.split_once(':').map(|(name, rule)| {
        let name = name
            .trim_matches(['"', '\'', ' '])
            .replace(|c: char| !word_char(c), "_");
        format!("{name}:{rule}")
    });
    if let Some(help) = first_statement(i, named) {
        return Some(help);
    }
    let texts = [
        tail.trim_start_matches([' ', ':', ',', '-']).to_owned(),
        format!("log when {whole}"),
    ];
    kept.or_else(|| first_statement(i, texts))
        .or_else(|| synonym::help(Place::Condition, verb))
}

/// Returns rules for a sentence that begins with another word for the action in `typed`.
fn in_english(typed: Option<&str>, tail: &str) -> Vec<String> {
    match typed.and_then(|typed| typed.split(' ').next()) {
        Some("inject") => sentence::inject(tail).into_iter().collect(),
        Some("set") => sentence::set(tail).into_iter().collect(),
        Some("close") => sentence::rules("close both", tail, true),
        Some(action @ ("drop" | "dup" | "log" | "pass" | "pause" | "mark")) => {
            sentence::rules(action, tail, true)
        }
        _ => Vec::new(),
    }
}

/// Returns true if the text after a word shows that the word belongs to a condition.
fn is_expression_of(verb: &str, tail: &str) -> bool {
    let (word, _) = split_word(tail);
    let is_sign = tail.trim_start().starts_with(['=', '!', '<', '>', '&', '|', '~']);
    let is_operator = ["and", "or", "in", "contains", "matches"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(word));
    verb.eq_ignore_ascii_case("not") || tail.starts_with(['.', '(']) || is_sign || is_operator
}

/// Returns rules from a condition with actions after it.
fn turned(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for sign in [" then ", ": ", ", ", " do ", " => ", " -> "] {
        if let Some((cond, acts)) = text.split_once(sign) {
            texts.push(format!("{acts} when {cond}"));
        }
    }
    let is_start = |text: &str| ACTIONS.contains(&split_word(text).0);
    let acts = splits(text).filter(|(_, acts)| is_start(acts));
    texts.extend(acts.map(|(cond, acts)| format!("{acts} when {cond}")));
    texts
}

/// Returns the error for a missing duration of an action that is followed by the message that it is about.
pub(in crate::syntax) fn wanted_time(i: &Input<'_>, verb: &str, what: &str) -> Diagnostic {
    let error = wanted(i, what);
    let tail = line(i);
    let mut words: Vec<&str> = tail.split_whitespace().collect();
    let time = words
        .iter()
        .position(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|at| words.remove(at));
    words.retain(|word| !matches!(*word, "by" | "for" | "random" | "about" | "of"));
    let cond = bare(&words.join(" "));
    let usual = if verb == "stall" { "3s" } else { "80ms" };
    let time = time.unwrap_or(usual);
    let mut texts = vec![format!("{verb} {time} when {cond}")];
    texts.extend(meant_condition(&cond).map(|meant| format!("{verb} {time} when {meant}")));
    match first_statement(i, texts) {
        Some(help) => error.help(help),
        None if verb == "delay" => error.help(format!(
            "write `delay {time} when input` for a message, or `link both delay {time}` for all datagrams"
        )),
        None => error.help(format!("write `{verb} {time} when sv_chat`")),
    }
}

/// Returns the condition to type for a single word that is none.
pub(super) fn meant_condition(word: &str) -> Option<&'static str> {
    let typed = synonym::typed(Place::Condition, word)?;
    typed.strip_prefix('`')?.split('`').next()
}

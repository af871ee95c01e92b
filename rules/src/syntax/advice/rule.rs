//! Corrections of rules: conditions, actions and modifiers at the wrong place.

use super::{CONDITIONS, bare, first_statement, line, split_word, splits, trial};
use crate::diagnostic::Diagnostic;
use crate::synonym::{self, Place};
use crate::syntax::action::{Action, action_words};
use crate::syntax::argument::Shown;
use crate::syntax::ast::{Expr, Kind};
use crate::syntax::error::{MODIFIERS, wanted};
use crate::syntax::lex::{self, Input, word_char};
use crate::syntax::link::LINK_WORDS;
use crate::syntax::rule::Rule;

/// Returns help for actions, or the text of an action, after the condition of a rule.
pub(in crate::syntax) fn actions_behind(i: &Input<'_>, rule: &Rule) -> Option<String> {
    let (acts, when, tail) = (written(&rule.actions), rule.when.as_ref()?, line(i));
    let (word, after) = split_word(&tail);
    let after = match word {
        "then" | "do" => after,
        _ => tail.trim_start_matches([':', ',', ';', '-', '=', '>', ' ']),
    };
    let is_action = action_words().contains(&split_word(after).0);
    if is_action {
        return first_statement(i, [format!("{acts}, {after} when {when}{}", rule.modifiers)]);
    }
    let takes_text = matches!(
        rule.actions.last(),
        Some(Action::Close { .. } | Action::Log(None))
    );
    let is_text = tail.starts_with(['"', '\'']) && takes_text;
    is_text
        .then(|| first_statement(i, [format!("{acts} {tail} when {when}")]))
        .flatten()
}

/// Returns actions in their canonical form.
pub(in crate::syntax) fn written(actions: &[Action]) -> String {
    actions
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the error for a rule without a condition, at the text after its actions.
pub(in crate::syntax) fn no_condition(i: &Input<'_>, actions: &[Action]) -> Diagnostic {
    let error = wanted(i, "`,` or `when`");
    if i.state.advises {
        return error;
    }
    let (acts, tail) = (written(actions), line(i));
    let tail = tail.trim_start_matches([',', ':', ';']).trim();
    if tail.is_empty() {
        return error.help(for_which(actions, &acts));
    }
    if let Some(help) = spread(i, actions, tail).or_else(|| more_actions(i, actions, &acts, tail)) {
        return error.help(help);
    }
    let (share, after) = share_first(tail);
    let cond = bare(after);
    let mut texts = Vec::new();
    if let Some(share) = share {
        texts.push(format!("{acts} when {cond} chance {share}"));
        if cond.is_empty() {
            texts.push(format!("{acts} when any_snap chance {share}"));
        }
    }
    let (number, after) = split_word(tail);
    if number.parse::<u32>().is_ok() {
        texts.push(format!("{acts} when {} first {number}", bare(after)));
    }
    if let Some((before, cond)) = tail.split_once(" when ") {
        texts.push(format!("{acts} when {cond} {}", bare(before)));
        texts.push(format!("{acts} when {cond} {before}"));
        texts.push(format!("{acts} when {} and {cond}", bare(before)));
        texts.push(format!("{acts} when {cond}"));
    }
    texts.push(format!("{acts} when {cond}"));
    texts.push(format!("{acts} when {}", without_exceptions(&cond)));
    texts.push(format!("{acts} when {}", cond.replace(", ", " or ")));
    texts.extend(meant_condition(&cond).map(|meant| format!("{acts} when {meant}")));
    if let Some((cond, number)) = cond.rsplit_once(' ') {
        texts.push(format!("{acts} when {cond} chance {number}"));
    }
    texts.extend(splits(tail).map(|(before, after)| format!("{acts} when {} {before}", bare(after))));
    texts.push(format!("{acts} when enter_game {tail}"));
    for (before, after) in splits(&cond) {
        texts.push(format!("{acts} when {before} and {after}"));
    }
    let help = first_statement(i, texts);
    error.help(help.unwrap_or_else(|| for_which(actions, &acts)))
}

/// Returns a condition with `and not` in place of words such as `unless`.
fn without_exceptions(cond: &str) -> String {
    let mut text = format!(" {cond}");
    for word in ["unless", "except", "without", "but not"] {
        text = text.replace(&format!(" {word} "), " and not ");
    }
    text.trim_start_matches(" and").trim().to_owned()
}

/// Returns the condition to type for a single word that is none.
fn meant_condition(word: &str) -> Option<&'static str> {
    let typed = synonym::typed(Place::Condition, word)?;
    typed.strip_prefix('`')?.split('`').next()
}

/// Returns the percentage at the start of a text, and the text after it.
pub(super) fn share_first(text: &str) -> (Option<&str>, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((number, after)) if !number.is_empty() && after.starts_with('%') => {
            (text.get(..=end), after.get(1..).unwrap_or_default().trim())
        }
        _ => (None, text),
    }
}

/// Returns help for netem's `delay 60ms 10ms`: the range of the delay.
fn spread(i: &Input<'_>, actions: &[Action], tail: &str) -> Option<String> {
    let [Action::Delay { from, to, .. }] = actions else {
        return None;
    };
    let is_range = tail.starts_with("to ") || tail.starts_with('-');
    let tail = tail
        .trim_start_matches("to ")
        .trim_start_matches(['+', '-', '±', '/', ' ']);
    let (number, after) = tail.split_once(' ').unwrap_or((tail, ""));
    let mut input = trial(number);
    let (number, _) = lex::number(&mut input).ok()?;
    let micros = number
        .unit
        .and(number.value())
        .and_then(|value| u64::try_from(value).ok())?;
    let spread = std::time::Duration::from_micros(micros);
    let delay = Action::Delay {
        from: if is_range {
            *from
        } else {
            from.saturating_sub(spread)
        },
        to: if is_range {
            spread
        } else {
            to.saturating_add(spread)
        },
        unordered: false,
    };
    let after = if after.is_empty() { "when s2c" } else { after };
    first_statement(i, [format!("{delay} {after}"), format!("{delay} when {after}")])
}

/// Returns help for actions that continue after a sign or word other than a comma.
fn more_actions(i: &Input<'_>, actions: &[Action], acts: &str, tail: &str) -> Option<String> {
    let (word, after) = split_word(tail);
    let after = match word {
        "and" | "then" | "or" => after,
        "" => tail.trim_start_matches(['&', '+', ';', '|', ' ']),
        _ => tail,
    };
    let mut texts = Vec::new();
    match actions {
        [Action::Delay { .. }] if LINK_WORDS.contains(&word) && !MODIFIERS.contains(&word) => {
            texts.push(format!("link both {acts} {tail}"));
        }
        [.., Action::Log(Some(_))] if tail.starts_with('+') => {
            let (value, more) = after.split_once(" when ")?;
            let start = acts.strip_suffix('"')?;
            texts.push(format!("{start}{{{}}}\" when {more}", value.trim()));
        }
        [.., Action::Make(made)] if after.contains(['=', ':']) && made.fields.is_empty() => {
            let end = after.find(" every ").or_else(|| after.find(" when "))?;
            let (field, more) = after.split_at_checked(end)?;
            texts.push(format!("{acts}{{{}}}{more}", field.replacen('=', ": ", 1)));
        }
        [.., Action::Mark(None)] if tail.starts_with(['"', '\'']) => {
            texts.push(format!("{acts} {}", tail.replace(['"', '\''], "")));
        }
        _ if action_words().contains(&split_word(after).0) => texts.push(format!("{acts}, {after}")),
        _ => {}
    }
    first_statement(i, texts)
}

/// Returns help for actions without a condition and without other text.
fn for_which(actions: &[Action], acts: &str) -> String {
    match actions {
        [Action::Make(made)] if made.dir.is_some() => {
            format!("write `{acts} every 5s`, or `{acts} when enter_game`")
        }
        [Action::Make(_)] => format!("write `{acts} when cl_say`"),
        [Action::Delay { from, .. }] => {
            let link = Shown(*from);
            format!("write `{acts} when input` for a message, or `link both delay {link}` for all datagrams")
        }
        [Action::Set(assigns)] => format!(
            "write `{acts} when {}`",
            assigns
                .first()
                .map_or("sv_chat".to_owned(), |one| owner(&one.target))
        ),
        [Action::Replace(replace)] => format!("write `{acts} when {}`", owner(&replace.target)),
        _ => format!("write `{acts} when sv_chat`, with the message or condition that you mean"),
    }
}

/// Returns the message of a field; a snapshot for a field of an item.
fn owner(target: &Expr) -> String {
    match &target.kind {
        Kind::Path(path) if !path.dot && path.segments.len() > 1 => match path.segments.first() {
            Some(first) if first.name.text != "snap" => first.name.text.clone(),
            _ => "any_snap".to_owned(),
        },
        _ => "sv_chat".to_owned(),
    }
}

/// Returns help for a statement that begins with `verb`, which is no action. `tail` is the text after it.
pub(in crate::syntax) fn no_action(i: &Input<'_>, verb: &str, tail: &str) -> Option<String> {
    if i.state.advises {
        return None;
    }
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
    if CONDITIONS.contains(&verb) {
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
    if let Some(help) = first_statement(i, other) {
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
    let is_start = |text: &str| action_words().contains(&split_word(text).0);
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

//! Corrections of rules: conditions, actions and modifiers at the wrong place.

use super::action::meant_condition;
use super::text::{bare, line, share_first, split_word, splits};
use super::{first_statement, sentence};
use crate::diagnostic::Diagnostic;
use crate::synonym::{self, BOTH_WAYS, Place};
use crate::syntax::action::Action;
use crate::syntax::argument::Shown;
use crate::syntax::ast::{Expr, Kind};
use crate::syntax::error::wanted;
use crate::syntax::lex::{self, Input};
use crate::syntax::words::{ACTIONS, LINK_WORDS, MODIFIERS};

/// Returns help for actions, or the text of an action, after the condition of a rule.
pub(in crate::syntax) fn actions_behind(
    i: &Input<'_>,
    actions: &[Action],
    when: &Expr,
    modifiers: &str,
) -> Option<String> {
    let (acts, tail) = (written(actions), line(i));
    let (word, after) = split_word(&tail);
    let after = match word {
        "then" | "do" => after,
        _ => tail.trim_start_matches([':', ',', ';', '-', '=', '>', ' ']),
    };
    let is_action = ACTIONS.contains(&split_word(after).0);
    if is_action {
        return first_statement(i, [format!("{acts}, {after} when {when}{modifiers}")]);
    }
    let takes_text = matches!(actions.last(), Some(Action::Close { .. } | Action::Log(None)));
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
    if i.state.trials.statement.is_none() {
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
    if let Some(help) = point_of_view(&acts, tail) {
        return error.help(help);
    }
    let (share, after) = share_first(tail);
    let cond = bare(after);
    let mut texts = sentence::rules(&acts, tail, false);
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
    texts.extend(sentence::rules(&acts, tail, true));
    for (before, after) in splits(&cond) {
        texts.push(format!("{acts} when {before} and {after}"));
    }
    let help = first_statement(i, texts);
    error.help(help.unwrap_or_else(|| for_which(actions, &acts)))
}

/// Returns help with both directions for words such as `incoming`, whose direction depends on who writes them.
fn point_of_view(acts: &str, tail: &str) -> Option<String> {
    let (word, after) = split_word(tail);
    let typed = synonym::typed(Place::Condition, word).unwrap_or_default();
    let is_side = typed.starts_with(BOTH_WAYS) || matches!(word, "in" | "out");
    is_side.then_some(())?;
    let (share, more) = share_first(after);
    let share = share.map(|share| format!(" chance {share}")).unwrap_or_default();
    let is_rest = !matches!(more, "" | "packets" | "messages" | "traffic" | "datagrams");
    (!is_rest).then(|| {
        format!("write `{acts} when s2c{share}` for what the server sends, or `{acts} when c2s{share}` for what clients send")
    })
}

/// Returns a condition with `and not` in place of words such as `unless`.
fn without_exceptions(cond: &str) -> String {
    let mut text = format!(" {cond}");
    for word in ["unless", "except", "without", "but not"] {
        text = text.replace(&format!(" {word} "), " and not ");
    }
    text.trim_start_matches(" and").trim().to_owned()
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
    let mut input = lex::plain(number);
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
        _ if ACTIONS.contains(&split_word(after).0) => texts.push(format!("{acts}, {after}")),
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

//! Rules in other languages that change or make messages, or report texts with values.

use super::super::text::direction;
use super::{action_of, condition, dir_of, first_word, literal, message_of, quoted};
use crate::span::Span;
use crate::synonym;
use crate::syntax::ast::{Expr, Kind};
use crate::syntax::lex::word_char;

/// Returns a text before its condition, and the condition.
fn split_when(text: &str) -> (&str, Option<&str>) {
    match text.split_once(" when ").or_else(|| text.split_once(" if ")) {
        Some((before, cond)) => (before.trim(), Some(cond.trim())),
        None => (text, None),
    }
}

/// Returns the replacement that a text means: `s/a/b/`, or two texts after a word such as `replace`.
pub(super) fn replacement(text: &str) -> Option<String> {
    let (verb, tail) = first_word(text);
    let (body, cond) = split_when(tail);
    let sed = text.trim_start_matches([':', '%']).strip_prefix("s/");
    let is_verb = action_of(verb) == Some("replace") || verb.starts_with("/~");
    let parts: Vec<&str> = match sed {
        Some(sed) => sed.split('/').collect(),
        None if !is_verb => return None,
        None => quoted(body),
    };
    let (from, with) = match *parts {
        [from, with, ..] => (from, with),
        [from] if body.contains('/') => (body.split('/').nth(1)?, from),
        _ => {
            let signs = [" with ", " by ", " to ", " mit ", " durch "];
            let (from, with) = signs.iter().find_map(|sign| body.split_once(sign))?;
            let from = from.rsplit(' ').next()?;
            (from.trim_matches('/'), with.split(' ').next()?)
        }
    };
    let words = || {
        body.split(|c: char| !word_char(c) && c != '.')
            .filter(|word| *word != from && *word != with)
    };
    let path = words().find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let name = words().find_map(message_of).unwrap_or("sv_chat");
    let path = path.map_or_else(|| format!("{name}.message"), ToOwned::to_owned);
    let owner = path.split('.').next().unwrap_or(name);
    let is_pattern = body.contains(&format!("/{from}/"));
    let pattern = if is_pattern {
        from.to_owned()
    } else {
        regex::escape(from)
    };
    let pattern = Expr::new(Kind::Regex(pattern), Span::default());
    let cond = cond.unwrap_or(owner);
    Some(format!(
        "replace {path} {pattern} with {} when {cond}",
        literal(with)
    ))
}

/// Returns the changes of a field that a text may mean, such as `sv_chat.message := "x"` or `set message to "x"`.
pub(super) fn assignment(text: &str) -> Vec<String> {
    let (verb, tail) = first_word(text);
    let body = match action_of(verb) {
        Some("set") => tail,
        Some(_) => return Vec::new(),
        None => text,
    };
    let (body, cond) = split_when(body);
    let found = [":=", "+=", "-=", "=", " to ", ": ", " \""]
        .iter()
        .find_map(|sign| Some((*sign, body.split_once(sign)?)));
    let Some((sign, (target, value))) = found.filter(|(_, (_, value))| !value.starts_with('=')) else {
        return Vec::new();
    };
    let is_verb = action_of(verb) == Some("set");
    let target: Vec<&str> = target
        .split([' ', '.'])
        .filter(|word| !word.is_empty() && !matches!(*word, "the" | "field" | "of" | "let"))
        .collect();
    let is_long = target.len() > 1;
    let target = match *target {
        [head, _, ..] if synonym::PROTOCOLS.contains(&head) => target.get(1..).unwrap_or_default(),
        _ => &*target,
    };
    let is_path = target
        .iter()
        .all(|part| part.chars().all(|c| word_char(c) || matches!(c, '[' | ']')));
    if target.is_empty() || !is_path || !(is_verb || is_long) {
        return Vec::new();
    }
    let value = match sign {
        " \"" => format!("\"{value}"),
        _ => value.trim().to_owned(),
    };
    let mut texts = Vec::new();
    let paths = match target {
        [field] => vec![format!("sv_chat.{field}")],
        [word, fields @ ..] if message_of(word).is_some_and(|name| name != *word) => {
            vec![format!(
                "{}.{}",
                message_of(word).unwrap_or(word),
                fields.join(".")
            )]
        }
        _ => vec![target.join(".")],
    };
    for path in paths {
        let owner = if path.starts_with("snap.") {
            "any_snap"
        } else {
            path.split('.').next().unwrap_or("sv_chat")
        };
        let cond = cond.map_or_else(|| owner.to_owned(), ToOwned::to_owned);
        let value = match sign {
            "+=" | "-=" => format!("{path} {} {value}", sign.trim_end_matches('=')),
            _ => value.clone(),
        };
        texts.push(format!("set {path} = {value} when {cond}"));
        let is_word = value.chars().all(|c| word_char(c) || c == ' ');
        texts.extend(is_word.then(|| format!("set {path} = {} when {cond}", literal(&value))));
    }
    texts
}

/// Returns the message that a text sends, such as `send sv_chat "hello" to client`.
pub(super) fn made(text: &str) -> Option<String> {
    let (verb, tail) = first_word(text);
    let lower = verb.to_ascii_lowercase();
    let is_said = matches!(&*lower, "say" | "chat" | "broadcast");
    if !is_said && action_of(verb) != Some("inject") {
        return None;
    }
    let end = [" every ", " when ", " once"]
        .iter()
        .filter_map(|word| tail.find(word))
        .min();
    let (body, modifiers) = tail.split_at_checked(end.unwrap_or(tail.len()))?;
    let modifiers = if modifiers.is_empty() {
        " every 5s"
    } else {
        modifiers
    };
    let mut body = body.trim();
    let mut dir = None;
    if let Some(given) = ["s2c", "c2s"].into_iter().find(|dir| body.starts_with(dir)) {
        (dir, body) = (Some(given), body.get(3..)?.trim());
    }
    for words in [
        "to client",
        "to the client",
        "from server",
        "to server",
        "to the server",
        "from client",
    ] {
        if let Some(start) = body.strip_suffix(words) {
            (dir, body) = (direction(words), start.trim());
        }
    }
    let (word, rest) = first_word(body);
    let (name, rest) = match message_of(word.trim_end_matches([':', ','])) {
        Some(name) => (name, rest),
        None if lower == "broadcast" => ("sv_broadcast", body),
        None if is_said || body.starts_with(['"', '\'']) => ("sv_chat", body),
        None => return None,
    };
    let fields = fields(rest)?;
    let dir = dir.unwrap_or_else(|| dir_of(name));
    Some(format!("inject {dir} {name}{{{fields}}}{modifiers}"))
}

/// Returns the fields of a message that a text gives: names with values, a text in quotes, or words.
fn fields(text: &str) -> Option<String> {
    let mut pairs = Vec::new();
    let mut rest = text;
    let skipped = [' ', ',', '{', '}', '(', ')'];
    loop {
        rest = rest.trim_start_matches(skipped);
        let key = rest.trim_start_matches(['"', '\'']);
        let end = key.find(|c: char| !word_char(c)).unwrap_or(key.len());
        let (key, after) = key.split_at_checked(end)?;
        let after = after.trim_start_matches(['"', '\'', ' ']);
        let Some(value) = after.strip_prefix([':', '=']).filter(|_| !key.is_empty()) else {
            break;
        };
        let value = value.trim_start();
        let end = match value.chars().next()? {
            quote @ ('"' | '\'') => value.get(1..)?.find(quote)? + 2,
            _ => value.find([',', ' ', ')', '}']).unwrap_or(value.len()),
        };
        let (value, after) = value.split_at_checked(end)?;
        pairs.push(format!("{key}: {value}"));
        rest = after;
    }
    if !pairs.is_empty() {
        return Some(pairs.join(", "));
    }
    let words = text.trim_matches(skipped);
    let words = words.strip_prefix("message ").unwrap_or(words);
    let words = quoted(words).first().copied().unwrap_or(words);
    (!words.is_empty()).then(|| format!("message: {}", literal(words)))
}

/// Returns the rule that reports a text with values, such as `print("x: " + sv_chat.message)`.
pub(super) fn report(text: &str) -> Option<String> {
    let (verb, tail) = first_word(text);
    let called = verb.rsplit('.').next().unwrap_or(verb);
    let is_call =
        action_of(called) == Some("log") || matches!(called, "println!" | "print!" | "println" | "eprintln!");
    is_call.then_some(())?;
    let (body, cond) = split_when(tail);
    let body = body.trim_start_matches('(').trim_end_matches([')', ';']);
    let mut template = String::new();
    let mut owner = None;
    let mut rest = body;
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (part, after) = match rest.chars().next()? {
            quote @ ('"' | '\'' | '`') => {
                let end = rest.get(1..)?.find(quote)? + 1;
                template.push_str(rest.get(1..end)?);
                ("", rest.get(end + 1..)?)
            }
            first if word_char(first) || first == '.' => {
                let end = rest
                    .find(|c: char| !word_char(c) && c != '.')
                    .unwrap_or(rest.len());
                rest.split_at_checked(end)?
            }
            other => ("", rest.get(other.len_utf8()..)?),
        };
        // A letter before a quote, as in `f"text"`, is part of the string.
        if !(part.is_empty() || part.len() == 1 && after.starts_with(['"', '\''])) {
            values.push(part);
        }
        rest = after;
    }
    let written = template.clone();
    let inner = written
        .split('{')
        .skip(1)
        .filter_map(|part| part.split('}').next());
    let paths: Vec<&str> = inner
        .chain(values.iter().copied())
        .filter(|path| path.contains('.'))
        .collect();
    for path in &paths {
        owner = owner.or_else(|| {
            path.split('.')
                .next()
                .filter(|head| !head.is_empty() && *head != "sess")
        });
    }
    for value in &values {
        let place = ["{}", "%s", "%d", "%i", "%u"]
            .iter()
            .find(|place| template.contains(**place));
        match place {
            Some(place) => template = template.replacen(place, &format!("{{{value}}}"), 1),
            None => template.push_str(&format!("{{{value}}}")),
        }
    }
    let is_foreign = !values.is_empty() || tail.starts_with('(') || !tail.starts_with(['"', '\'']);
    let cond = cond.map(condition).or_else(|| owner.map(ToOwned::to_owned))?;
    (is_foreign && !paths.is_empty()).then(|| format!("log {} when {cond}", literal(&template)))
}

//! Filters in other languages.

use super::super::text::{CONDITIONS, direction};
use super::{is_everything, is_name, literal, message_of, quoted, time};
use crate::synonym::{self, Place};
use crate::syntax::lex::word_char;

/// Words before a filter that mean nothing.
const LEADS: [&str; 8] = ["only", "nur", "just", "show", "filter", "display", "grep", "find"];
/// Words before a filter that negate it.
const NEGATIONS: [&str; 13] = [
    "not", "-v", "no", "kein", "keine", "ohne", "without", "exclude", "hide", "nicht", "except", "ignore",
    "~not",
];

/// Returns filters that a text may mean, the best first.
pub(crate) fn filters(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches([';', ' ']);
    let mut texts = Vec::new();
    texts.extend(negated(text));
    texts.extend(bare(text));
    texts.extend(of_time(text));
    texts.extend(searched(text));
    texts.extend(keyed(text));
    texts.extend(of_player(text));
    texts.extend(numbered(text));
    texts.extend(pattern(text));
    texts.extend(signs(text));
    texts
}

/// Returns the negation that a text means, such as `everything except input`.
fn negated(text: &str) -> Option<String> {
    for sign in [" except ", " but not ", " but ", " without "] {
        let found = text.split_once(sign);
        if let Some((_, inner)) = found.filter(|(all, _)| is_everything(all)) {
            return Some(format!("not ({})", meant(inner)));
        }
    }
    let (word, inner) = text.split_once(' ')?;
    let is_negation = NEGATIONS.contains(&&*word.to_ascii_lowercase());
    if let Some(dir) = direction(inner).filter(|_| is_negation) {
        return Some(format!("not {dir}"));
    }
    is_negation.then(|| match is_name(inner) {
        true => format!("not {}", meant(inner)),
        false => format!("not ({})", meant(inner)),
    })
}

/// Returns the condition for a word by the table of synonyms; the text itself if it is not in the table.
fn meant(text: &str) -> &str {
    let typed = synonym::typed(Place::Condition, text.trim()).and_then(|typed| typed.split('`').nth(1));
    typed.unwrap_or(text.trim())
}

/// Returns the filter without words around it that mean nothing.
fn bare(text: &str) -> Option<String> {
    let (word, more) = text.split_once(' ')?;
    let word = word.to_ascii_lowercase();
    if LEADS.contains(&&*word) || CONDITIONS.contains(&&*word) {
        return Some(meant(more).to_owned());
    }
    if let Some(inner) = word.strip_prefix('~') {
        return Some(if inner.len() == 1 {
            more.to_owned()
        } else {
            format!("{inner} {more}")
        });
    }
    let more = [
        "only",
        "messages",
        "packets",
        "please",
        "traffic",
        "chars",
        "characters",
    ]
    .iter()
    .find_map(|word| text.strip_suffix(word)?.strip_suffix(' '))?;
    Some(meant(more).to_owned())
}

/// Returns the filter for a time or an amount, such as `between 5s and 10s`, `after 5 seconds` or `first 10`.
fn of_time(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (word, tail) = words.split_first()?;
    match *word {
        "between" | "from" | "t" | "time" | "during" if tail.len() > 2 => {
            let tail = if tail.first() == Some(&"between") {
                tail.get(1..)?
            } else {
                tail
            };
            let (from, used) = time(tail, "s")?;
            let tail = tail.get(used..)?;
            let (to, end) = tail
                .split_first()
                .filter(|(word, _)| matches!(**word, "and" | "to" | "until" | "-"))
                .and_then(|(_, tail)| Some((time(tail, "s")?, tail.len())))?;
            (to.1 == end).then(|| format!("t in {from}..{}", to.0))
        }
        "since" | "after" | "from" | "last" | "newer" => {
            let after = time(tail, "s").filter(|(_, used)| *used == tail.len());
            after.map(|(time, _)| format!("t > {time}")).or_else(|| {
                let [name] = tail else { return None };
                is_name(name).then(|| format!("seen({name})"))
            })
        }
        "before" | "until" | "till" | "older" => {
            let before = time(tail, "s").filter(|(_, used)| *used == tail.len());
            before.map(|(time, _)| format!("t < {time}")).or_else(|| {
                let [name] = tail else { return None };
                is_name(name).then(|| format!("not seen({name})"))
            })
        }
        "first" | "head" | "limit" | "top" => {
            let [amount, ..] = tail else { return None };
            if let (Ok(count), true) = (amount.parse::<u32>(), tail.len() < 3) {
                return Some(format!("frame <= {count}"));
            }
            time(tail, "s").map(|(time, _)| format!("t < {time}"))
        }
        _ => None,
    }
}

/// Returns the filter for a search, such as `"gg" in message`, `x.includes("gg")` or `chat containing gg`.
fn searched(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    for start in ["starts", "begins", "ends"] {
        text = text.replace(&format!(" {start} with "), &format!(" {start}with "));
    }
    let text = text.as_str();
    let texts = quoted(text);
    let inside = text
        .split_once(" in ")
        .filter(|(what, _)| what.starts_with(['"', '\'']));
    if let Some(("frame" | "data" | "packet" | "payload" | "raw" | "udp", what)) =
        text.split_once(" contains ")
    {
        let bytes = hex_text(what.trim());
        return bytes
            .map(|text| literal(&text))
            .or_else(|| texts.first().map(|text| literal(text)));
    }
    let (what, operator, place) = match (inside, &*texts) {
        (Some((_, place)), [what]) => (*what, "contains", place.trim()),
        (None, [what]) => {
            let at = text.find(['"', '\''])?;
            let before = text.get(..at)?.trim_end();
            let after = text.get(at + what.len() + 2..)?.trim_matches([')', ' ', ',']);
            let call = before.strip_suffix('(');
            let is_operator = |text: &str| {
                let word = text.rsplit(' ').next().unwrap_or_default();
                word.is_empty() || is_search(word)
            };
            match call {
                // The place is the second argument: `re.search("gg", message)`.
                Some(function) if !after.is_empty() => {
                    (*what, function.rsplit('.').next().unwrap_or(function), after)
                }
                Some(call) => {
                    let (place, function) = call.rsplit_once(['.', ':'])?;
                    is_search(function).then_some((*what, function, place.trim()))?
                }
                None if after.is_empty() && is_operator(before) => {
                    let (place, operator) = before.rsplit_once(' ')?;
                    (*what, operator, place.trim())
                }
                None => return None,
            }
        }
        (None, _) => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let [place, operator, what] = *words else {
                return None;
            };
            (is_search(operator) && is_name(what)).then_some((what, operator, place))?
        }
        _ => return None,
    };
    let is_path = !place.is_empty() && place.chars().all(|c| word_char(c) || c == '.');
    let what = what.trim_matches('%');
    is_path.then(|| format!("{} {}", field(place), operator_of(operator, what)))
}

/// Returns the text whose bytes are written as `64:72:6f` or `64726f`; `None` if they are not a text.
fn hex_text(text: &str) -> Option<String> {
    let digits = text.trim_start_matches("0x").replace([':', ' '], "");
    let is_hex = digits.len() >= 4 && digits.len().is_multiple_of(2) && digits.is_ascii();
    is_hex.then_some(())?;
    let bytes = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2).unwrap_or("?"), 16).ok())
        .collect::<Option<Vec<u8>>>()?;
    let is_text = bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    is_text.then(|| bytes.into_iter().map(char::from).collect())
}

/// Returns the operator of this language, and its text, that stands for an operator of another language.
fn operator_of(word: &str, what: &str) -> String {
    let word = word.to_ascii_lowercase();
    let typed = synonym::typed(Place::Operator, &word).and_then(|typed| typed.split('`').nth(1));
    let pattern = || regex::escape(what).replace('/', "\\/");
    match typed {
        Some(typed) if typed.contains("text") => typed.replace("text", &pattern()),
        Some("matches") if !matches!(&*word, "like" | "ilike" | "glob" | "match") => {
            format!("matches /{}/", what.replace('/', "\\/"))
        }
        _ => format!("contains {}", literal(what)),
    }
}

/// Returns true for words that search a text for a part of it.
fn is_search(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let typed = synonym::typed(Place::Operator, &word).unwrap_or_default();
    typed.starts_with("`contains`")
        || typed.starts_with("`matches")
        || matches!(
            &*word,
            "contains" | "indexof" | "find" | "search" | "with" | "saying"
        )
}

/// Returns the field in which a search looks.
fn field(place: &str) -> String {
    if let Some(name) = message_of(place).filter(|_| !place.contains('.')) {
        return format!("{name}.message");
    }
    let place = synonym::PROTOCOLS
        .iter()
        .find_map(|head| place.strip_prefix(head)?.strip_prefix('.'))
        .unwrap_or(place);
    match place {
        "text" | "body" | "string" => ".message".to_owned(),
        place if is_name(place) => format!(".{place}"),
        place => place.to_owned(),
    }
}

/// Returns the filter for a key with a value, such as `type:sv_chat`, `dir=s2c`, `is:vital` or `player:bob`.
fn keyed(text: &str) -> Option<String> {
    let (key, value) = text.split_once([':', '=']).or_else(|| text.split_once(" is "))?;
    let (key, value) = (key.trim(), value.trim_start_matches(['=', ' ', ':']).trim());
    let key = match key.split_once('.') {
        Some((head, key)) if synonym::PROTOCOLS.contains(&head) => key,
        _ => key,
    };
    let value = value.trim_matches(['"', '\'']);
    is_name(key).then_some(())?;
    match &*key.to_ascii_lowercase() {
        "is" | "type" | "msg" | "kind" | "msgtype" | "msg_type" if is_name(value) => {
            Some(meant(value).to_owned())
        }
        "message" | "name" if is_name(value) && value.contains('_') => Some(value.to_owned()),
        "dir" | "direction" | "from" | "to" | "way" => Some(match (key, value) {
            ("to", "server") | ("from", "client") => "c2s".to_owned(),
            ("from", "server") | ("to", "client") => "s2c".to_owned(),
            _ => meant(value).to_owned(),
        }),
        "level" | "severity" | "loglevel" => Some(match value.to_ascii_lowercase().get(..3)? {
            "war" | "not" => "lint".to_owned(),
            "err" | "fat" | "cri" => "malformed".to_owned(),
            _ => return None,
        }),
        "lint" | "note" | "code" => Some(format!("lint.{}", value.replace('-', "_"))),
        "player" | "nick" | "user" | "nickname" | "name" => Some(format!("sess.name == {}", literal(value))),
        "session" | "sess" | "conn" => value.parse::<u32>().ok().map(|id| format!("sess.id == {id}")),
        _ if matches!(value, "1" | "true" | "yes") => Some(meant(key).to_owned()),
        _ if matches!(value, "0" | "false" | "no") => Some(format!("not {}", meant(key))),
        _ => None,
    }
}

/// Returns the filter for the messages of a player.
fn of_player(text: &str) -> Option<String> {
    let (what, name) = match text.strip_prefix("from ").or_else(|| text.strip_prefix("by ")) {
        Some(name) => ("", name),
        None => text.split_once(" from ").or_else(|| text.split_once(" by "))?,
    };
    let name = quoted(name).first().copied().unwrap_or(name).trim();
    let is_side = matches!(name, "client" | "server" | "the client" | "the server" | "me");
    let is_player = !is_side && !name.is_empty() && name.split(' ').all(is_name);
    let of = format!("sess.name == {}", literal(name));
    match what {
        _ if !is_player => None,
        "" => Some(of),
        // What a player writes comes from the client.
        "chat" | "messages" | "say" => Some(format!("cl_say and {of}")),
        what => Some(format!("{} and {of}", meant(what))),
    }
}

/// Returns the comparison for a word with a number, such as `session 2` or `size between 100 and 200`.
fn numbered(text: &str) -> Option<String> {
    let end = text.find(|c: char| !word_char(c))?;
    let (word, tail) = text.split_at_checked(end)?;
    let tail = tail.trim();
    if let ("player" | "client" | "cid", Ok(id)) = (word, tail.parse::<u32>()) {
        return Some(format!(".client_id == {id}"));
    }
    let row = synonym::typed(Place::Condition, word)?;
    let path = row
        .split(['`', ' '])
        .nth(1)
        .filter(|path| path.contains('.') || *path == "frame")?;
    let words: Vec<&str> = tail.split_whitespace().collect();
    let number = |word: &str| word.trim_matches(['#', '=', ':']).parse::<u32>().ok();
    match *words {
        [value] if value.starts_with(['<', '>']) => {
            let number = value.trim_start_matches(['<', '>', '=']);
            Some(format!("{path} {} {number}", value.strip_suffix(number)?))
        }
        [sign @ ("<" | ">" | "<=" | ">="), value] => Some(format!("{path} {sign} {}", number(value)?)),
        [value] | ["=" | "==" | "is", value] => Some(format!("{path} == {}", number(value)?)),
        ["between" | "from", from, "and" | "to", to] => {
            Some(format!("{path} in {}..{}", number(from)?, number(to)?))
        }
        _ => {
            let range = tail.trim_start_matches(['=', ' ', ':']);
            let (from, to) = range.split_once("..").or_else(|| range.split_once('-'))?;
            Some(format!("{path} in {}..{}", number(from)?, number(to)?))
        }
    }
}

/// Returns the filter for a pattern of names, for bytes, for nothing, and for a round trip.
fn pattern(text: &str) -> Option<String> {
    let text = match text.strip_prefix('~') {
        Some(name) if is_name(name) => return Some(name.to_owned()),
        _ => text,
    };
    if matches!(text, "\"\"" | "''") {
        return Some("c2s or s2c".to_owned());
    }
    if let Some((path, tail)) = [".length", ".len", ".size"]
        .iter()
        .find_map(|end| text.split_once(end))
    {
        return Some(format!("len({path}){}", tail.trim_start_matches("()")));
    }
    if let Some((path, regex)) = text.strip_suffix("/i").and_then(|text| text.split_once('/')) {
        let path = path.trim_end_matches(['~', '=', ' ']).trim_end_matches("matches");
        return Some(format!("{} matches /(?i){regex}/", path.trim()));
    }
    if let Some(bytes) = text.strip_prefix("hex ").or_else(|| text.strip_prefix("bytes ")) {
        return hex_text(bytes).map(|text| literal(&text));
    }
    if let Some(time) = text
        .strip_prefix("ping ")
        .filter(|time| time.starts_with(['<', '>']))
    {
        return Some(format!("sess.rtt {time}"));
    }
    Some(
        match text.strip_suffix('*')?.trim_end_matches('.') {
            "snap" | "snap_" => "any_snap",
            "sv" | "sv_" => "game and s2c",
            "cl" | "cl_" => "game and c2s",
            _ => return None,
        }
        .to_owned(),
    )
}

/// Returns the filter with operators of the language in place of `|` and `&`.
fn signs(text: &str) -> Option<String> {
    let is_plain = text
        .chars()
        .all(|c| word_char(c) || matches!(c, ' ' | '|' | '&' | '!' | '(' | ')' | '.' | ';'));
    let text = text.replace("||", "|").replace("&&", "&").replace(';', "&");
    (is_plain && text.contains(['|', '&']))
        .then(|| text.replace('|', " or ").replace('&', " and "))
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

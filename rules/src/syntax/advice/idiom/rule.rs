//! Rules in other languages.

use teetap_wire::def::suggest;

use super::super::sentence;
use super::super::text::{CONDITIONS, FILLERS};
use super::{
    action_of, change, condition, filters, first_word, is_everything, is_name, literal, message_of, quoted,
    time,
};
use crate::synonym::{self, Place};
use crate::syntax::words::{ACTIONS, MODIFIERS};

/// Returns rules and link lines that a text may mean, the best first.
pub(crate) fn rules(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches([';', ' ']);
    let mut texts = Vec::new();
    texts.extend(unquoted(text));
    texts.extend(filter_tables(text));
    texts.extend(netem(text));
    texts.extend(sql(text));
    texts.extend(change::report(text));
    texts.extend(call(text));
    texts.extend(random(text));
    texts.extend(conditional(text));
    texts.extend(change::replacement(text));
    texts.extend(change::assignment(text));
    texts.extend(change::made(text));
    texts.extend(player(text));
    texts.extend(amount_first(text));
    texts.extend(delayed(text));
    texts.extend(limited(text));
    texts.extend(of_condition(text));
    texts.extend(share_lost(text));
    texts.extend(with_argument(text));
    texts.extend(in_code(text));
    if action_of(first_word(text).0).is_none() {
        texts.extend(filters(text).into_iter().map(|cond| format!("log when {cond}")));
    }
    texts.extend(other_form(text));
    texts
}

/// Returns the text without quotes around all of it.
fn unquoted(text: &str) -> Option<String> {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))?;
    Some(inner.trim().to_owned())
}

/// Returns the rule for a line of `iptables`.
fn filter_tables(text: &str) -> Option<String> {
    text.contains(" -j ").then_some(())?;
    let mut words = text.split_whitespace();
    let share = words
        .find(|word| *word == "--probability")
        .and_then(|_| words.next()?.parse::<f64>().ok());
    let dir = if text.contains("INPUT") { "s2c" } else { "c2s" };
    Some(match share {
        Some(share) => format!("link {dir} loss {}%", percent(share)),
        None => format!("drop when {dir}"),
    })
}

/// Returns a share of one in percent.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the link line for parameters of `netem`: what a link line has no word for, such as a correlation, goes.
fn netem(text: &str) -> Option<String> {
    let start = text.find("netem ").map(|at| at + 6);
    let words: Vec<&str> = text.get(start.unwrap_or(0)..)?.split_whitespace().collect();
    let is_share = |word: &str| word.ends_with('%');
    let is_time = |word: &str| time(&[word], "").is_some_and(|_| word.ends_with('s'));
    let (mut parts, mut is_delayed, mut is_foreign) = (Vec::new(), false, start.is_some());
    let mut rest = &*words;
    while let [word, more @ ..] = rest {
        let mut used = 1;
        match (*word, more) {
            ("delay" | "lag" | "latency", [delay, ..]) if is_time(delay) => {
                is_foreign |= *word != "delay";
                parts.push(format!("delay {delay}"));
                (used, is_delayed) = (2, true);
                if let Some(jitter) = more.get(1).filter(|word| is_time(word)) {
                    parts.push(format!("jitter {jitter}"));
                    used = 3;
                }
            }
            ("distribution", [shape @ ("normal" | "uniform" | "pareto" | "paretonormal"), ..]) => {
                parts.push((*shape).to_owned());
                (used, is_foreign) = (2, true);
            }
            ("loss" | "duplicate" | "dup" | "corrupt" | "reorder", [share, ..])
                if is_share(share) || *share == "random" =>
            {
                let share = more.iter().find(|word| is_share(word))?;
                let name = if *word == "duplicate" { "dup" } else { word };
                parts.push(format!("{name} {share}"));
                used = 1 + more.iter().position(|word| is_share(word)).unwrap_or(0) + 1;
            }
            ("jitter", [jitter, ..]) if is_time(jitter) => {
                parts.push(format!("jitter {jitter}"));
                used = 2;
            }
            ("rate", [rate, ..]) => {
                parts.push(format!("rate {}", rate_of(rate)?));
                used = 2;
            }
            ("limit" | "gap" | "seed", [_, ..]) if !parts.is_empty() => (used, is_foreign) = (2, true),
            (share, _) if is_share(share) && !parts.is_empty() => is_foreign = true,
            _ => return None,
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    let needs_delay = !is_delayed && parts.iter().any(|part| part.starts_with("reorder"));
    let delay = if needs_delay { "delay 40ms " } else { "" };
    let is_new = is_foreign && !parts.is_empty() && text.starts_with(|c: char| c.is_ascii_alphabetic());
    is_new.then(|| format!("link both {delay}{}", parts.join(" ")))
}

/// Returns a rate with a unit of the language.
fn rate_of(word: &str) -> Option<String> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = word.split_at_checked(end)?;
    number.parse::<f64>().ok()?;
    let unit = unit.trim_end_matches("/s").to_ascii_lowercase();
    let typed = synonym::typed(Place::Unit, &unit).and_then(|typed| typed.split('`').nth(1));
    Some(format!("{number}{}", typed.unwrap_or(&unit)))
}

/// Returns the rule for a statement of SQL.
fn sql(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let find = |wanted: &str| words.iter().position(|word| word.eq_ignore_ascii_case(wanted));
    let joined = |from: usize, to: usize| words.get(from..to).unwrap_or_default().join(" ");
    let end = find("where").unwrap_or(words.len());
    let cond = |name: &str| match joined(end + 1, words.len()) {
        cond if cond.is_empty() => name.to_owned(),
        cond => format!("{name} and {cond}"),
    };
    let verb = words.first()?.to_ascii_lowercase();
    let from = find("from").and_then(|at| words.get(at + 1));
    match &*verb {
        "select" => from.map(|name| format!("log when {}", cond(name))),
        "delete" => from.map(|name| format!("drop when {}", cond(name))),
        "update" => {
            let (name, set) = (words.get(1)?, find("set")?);
            Some(format!("set {name}.{} when {}", joined(set + 1, end), cond(name)))
        }
        "insert" => {
            let name = find("into").and_then(|at| words.get(at + 1))?;
            let name = name.split('(').next().unwrap_or(name);
            let value = literal(quoted(text).first()?);
            let dir = super::dir_of(name);
            Some(format!("inject {dir} {name}{{message: {value}}} every 5s"))
        }
        _ => None,
    }
}

/// Returns the rule for a call such as `drop("sv_chat")`, `sleep(100)` or `on("sv_chat", drop)`.
fn call(text: &str) -> Option<String> {
    let (verb, more) = first_word(text);
    let inner = more.strip_prefix('(')?.strip_suffix(')')?.trim();
    let action = action_of(verb.rsplit('.').next().unwrap_or(verb));
    if let (None, Some((cond, action))) = (action, inner.split_once(',')) {
        let action = action_of(action.trim().trim_end_matches("()"))?;
        return Some(format!("{action} when {}", condition(cond)));
    }
    match (action?, time(&[inner], "ms")) {
        ("delay", Some((delay, _))) => Some(format!("delay {delay} when input")),
        (_, Some(_)) => None,
        (action, None) => Some(format!("{action} when {}", condition(inner))),
    }
}

/// Returns the rule for a comparison with a random number: `if random() < 0.1`.
fn random(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let Some(at) = ["random()", "rand()"].iter().find_map(|name| lower.find(name)) else {
        return Vec::new();
    };
    let before = text.get(..at).unwrap_or_default();
    let before = before
        .trim_end_matches("math.")
        .trim_end_matches("Math.")
        .trim_end_matches("(");
    let mut before = before.trim();
    for word in ["and", "&&", "when", "if", "where"] {
        before = before.strip_suffix(word).unwrap_or(before).trim_end();
    }
    let after = text.get(at..).unwrap_or_default();
    let Some((_, after)) = after.split_once('<') else {
        return Vec::new();
    };
    let after = after.trim_start_matches(['=', ' ']);
    let (number, more) = first_word(after);
    let Ok(share) = number.trim_end_matches(')').parse::<f64>() else {
        return Vec::new();
    };
    let share = percent(share);
    let mut texts = vec![format!("{before} {more} chance {share}%")];
    texts.extend(sentence::rules(before, &format!("{share}%"), true));
    texts
}

/// Returns the rule for an action behind its condition, with the signs of other languages between the two.
fn conditional(text: &str) -> Option<String> {
    let (first, after) = first_word(text);
    let lower = first.to_ascii_lowercase();
    let is_led = CONDITIONS.contains(&&*lower) || matches!(&*lower, "match" | "wenn" | "falls" | "rule");
    let body = if is_led { after } else { text };
    let signs: &[&str] = match is_led {
        true => &[
            "=>", "->", " then ", " dann ", "{", "):", ": ", " do ", ") ", ", ", " ",
        ],
        false => &["=>", "->", "{", " if ", " wenn ", " && ", " ? "],
    };
    let body = body.trim().trim_end_matches(['}', ';', ' ']);
    let body = body
        .strip_suffix(" end")
        .unwrap_or(body)
        .trim()
        .trim_end_matches(';');
    signs.iter().find_map(|sign| {
        let (cond, acts) = body.rsplit_once(sign)?;
        let (cond, acts) = (cond.trim(), acts.trim().trim_end_matches("()"));
        let (verb, more) = first_word(acts);
        if let Some(action) = action_of(verb).filter(|_| !sign.contains('f')) {
            let more = more.split(':').next().unwrap_or_default();
            let more = more.trim_end_matches([')', '}', ';', ' ']);
            return Some(format!("{action} {more} when {}", condition(cond)));
        }
        let action = action_of(cond).filter(|_| !is_led && is_name(cond))?;
        Some(format!("{action} when {}", condition(acts)))
    })
}

/// Returns the rule that closes the session of a player.
fn player(text: &str) -> Option<String> {
    const NOUNS: [&str; 6] = ["player", "user", "nick", "nickname", "name", "named"];
    const OTHERS: [&str; 10] = [
        "client", "clients", "server", "both", "all", "everyone", "players", "me", "him", "them",
    ];
    let (verb, tail) = first_word(text);
    action_of(verb).filter(|action| *action == "close")?;
    let tail = tail.strip_prefix("client ").unwrap_or(tail);
    let (noun, more) = first_word(tail);
    let is_noun = NOUNS.contains(&noun);
    let tail = if is_noun { more } else { tail };
    let name = match *quoted(tail) {
        [name] if tail.starts_with(['"', '\'']) && (is_noun || verb != "close") => name,
        _ => tail,
    };
    let is_person = is_noun || matches!(verb.to_ascii_lowercase().as_str(), "kick" | "ban");
    let is_plain = name.split_whitespace().all(is_name)
        && !name.contains('_')
        && !name.split(' ').any(|word| {
            OTHERS.contains(&word)
                || matches!(word, "when" | "if" | "after" | "on" | "from" | "once" | "every")
        });
    (is_person && is_plain && !name.is_empty())
        .then(|| format!("close client when sess.name == {}", literal(name)))
}

/// Returns the link line for an amount before its name, such as `10% loss` or `100ms delay`.
fn amount_first(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let amount = *words.first()?;
    let is_amount = amount.starts_with(|c: char| c.is_ascii_digit());
    let kinds = words.iter().skip(1);
    let mut kinds = kinds.filter_map(|word| match *word {
        "loss" | "delay" | "dup" | "corrupt" | "rate" => Some(*word),
        "packet" | "packets" => None,
        word => synonym::typed(Place::Link, word)?.split(['`', ' ']).nth(1),
    });
    let kind = kinds.next().filter(|_| is_amount)?;
    Some(format!("link both {kind} {amount}"))
}

/// Returns the rule or link line for a delay in a sentence, such as `slow down snapshots by 50ms`.
fn delayed(text: &str) -> Vec<String> {
    let (verb, tail) = first_word(text);
    if action_of(verb) != Some("delay") || tail.contains(" when ") {
        return Vec::new();
    }
    let mut words: Vec<&str> = tail.split_whitespace().collect();
    words.retain(|word| !matches!(*word, "down" | "by" | "for" | "about" | "around" | "with"));
    let found = (0..words.len()).find_map(|at| Some((at, time(words.get(at..)?, "ms")?)));
    let Some((at, (delay, used))) = found else {
        return Vec::new();
    };
    words.drain(at..(at + used).min(words.len()));
    let rest = words.join(" ");
    let is_rest = words.iter().any(|word| !FILLERS.contains(word));
    let has_other = rest.contains(|c: char| c.is_ascii_digit());
    match verb {
        _ if has_other || verb == "delay" && !is_rest => Vec::new(),
        _ if is_rest => sentence::rules(&format!("delay {delay}"), &rest, true),
        // Each direction has half of a round trip.
        "ping" | "rtt" => {
            let number = delay.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = delay.strip_prefix(number).unwrap_or("ms");
            let half = number.parse::<u32>().map(|number| number / 2).unwrap_or(40);
            vec![format!("link both delay {half}{unit}")]
        }
        "latency" | "lag" => vec![format!("link both delay {delay}")],
        _ => vec![format!("delay {delay} when input")],
    }
}

/// Returns the link line for a rate in a sentence, and the rule for a time without traffic.
fn limited(text: &str) -> Option<String> {
    let (verb, tail) = first_word(text);
    let words: Vec<&str> = tail.split_whitespace().collect();
    let row = synonym::typed(Place::Action, verb)?;
    if row.starts_with("`link both rate") {
        let rate = words.iter().find_map(|word| rate_of(word))?;
        return Some(format!("link both rate {rate}"));
    }
    let at = words.iter().position(|word| time(&[word], "s").is_some())?;
    let (time, used) = time(words.get(at..)?, "s")?;
    let is_whole = at + used == words.len();
    (row.starts_with("`stall") && is_whole).then(|| format!("stall {time} when enter_game"))
}

/// Returns the rule for an action whose argument is at another place: `duplicate sv_chat 3 times`, `mark sv_chat red`.
fn with_argument(text: &str) -> Vec<String> {
    let (verb, tail) = first_word(text);
    let words: Vec<&str> = tail.split_whitespace().collect();
    match (action_of(verb), &*words) {
        (Some("dup"), [name, count, "times"]) => vec![format!("dup {count} when {name}")],
        (Some("mark"), [name, id]) if is_name(id) => message_of(name)
            .map(|name| format!("mark {id} when {name}"))
            .into_iter()
            .collect(),
        (Some("exit"), ["after" | "on", ..]) => sentence::rules("exit 0", tail, true),
        _ => Vec::new(),
    }
}

/// Returns the rule for a piece of code with the name of an action and of a message.
fn in_code(text: &str) -> Option<String> {
    let is_code = text.contains(['{', '?']) && !ACTIONS.contains(&first_word(text).0);
    is_code.then_some(())?;
    let words = || text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let name = words().find(|word| word.starts_with("sv_") || word.starts_with("cl_"))?;
    let action = words().find(|word| matches!(*word, "drop" | "dup" | "pass" | "log" | "pause" | "lose"))?;
    Some(format!("{action} when {name}"))
}

/// Returns the rule or link line for `lose` with a share: `lose 10% of snapshots`.
fn share_lost(text: &str) -> Vec<String> {
    match text.strip_prefix("lose ") {
        Some(tail) if tail.contains('%') || tail.contains(" percent") => sentence::rules("lose", tail, false),
        _ => Vec::new(),
    }
}

/// Returns the rule with a condition that may be meant, in place of a filter in another language.
fn of_condition(text: &str) -> Vec<String> {
    let Some((acts, tail)) = text.split_once(" when ") else {
        return Vec::new();
    };
    let ends = MODIFIERS
        .iter()
        .filter_map(|word| tail.find(&format!(" {word} ")));
    let (cond, modifiers) = ends
        .min()
        .and_then(|at| tail.split_at_checked(at))
        .unwrap_or((tail, ""));
    let texts = filters(cond).into_iter();
    texts
        .map(|cond| format!("{acts} when {cond}{modifiers}"))
        .collect()
}

/// Returns the rule with another form of its action, and with `when` in place of a word that resembles it.
fn other_form(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let (verb, tail) = first_word(text);
    let is_near = |word: &&str| {
        let is_other = matches!(*word, "then" | "than" | "them" | "when" | "open" | "send");
        let is_typo = word.starts_with('w') && suggest(word, ["when"]).is_some();
        let is_foreign = matches!(
            word.to_ascii_lowercase().as_str(),
            "wenn" | "falls" | "where" | "if" | "whenever"
        );
        !is_other && is_typo || is_foreign
    };
    if let Some(word) = tail.split_whitespace().find(is_near) {
        texts.push(text.replacen(&format!(" {word} "), " when ", 1));
    }
    let Some(action) = action_of(verb).filter(|action| !ACTIONS.contains(&verb) && !action.is_empty()) else {
        return texts;
    };
    let is_form = synonym::typed(Place::Action, verb).is_none();
    if is_form || !verb.is_ascii() {
        texts.extend(is_everything(tail).then(|| format!("{action} when c2s or s2c")));
        texts.extend(message_of(tail).map(|name| format!("{action} when {name}")));
        texts.extend(sentence::rules(action, tail, true));
        texts.push(format!("{action} {tail}"));
    }
    texts
}

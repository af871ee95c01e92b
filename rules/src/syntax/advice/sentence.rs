//! Corrections of rules in plain English, such as `drop half of snaps` or `disconnect after 10s`: amounts become
//! modifiers, and words around the message go.

use super::text::{FILLERS, direction};
use crate::synonym::{self, BOTH_WAYS, Place};
use crate::syntax::words::MODIFIERS;

/// Maximum number of words of a sentence.
const MAX_WORDS: usize = 16;
/// Words that mean nothing in a sentence about messages.
const MORE_FILLERS: [&str; 17] = [
    "everything",
    "anything",
    "traffic",
    "packet",
    "probability",
    "chance",
    "randomly",
    "random",
    "out",
    "in",
    "to",
    "msgs",
    "datagrams",
    "datagram",
    "please",
    "just",
    "about",
];

/// A sentence about messages.
#[derive(Default)]
struct Sentence {
    /// The direction, `c2s` or `s2c`.
    dir: Option<&'static str>,
    /// The words of the condition.
    cond: Vec<String>,
    /// The share of the matches, such as `chance 5%`.
    share: Option<String>,
    /// The other modifiers.
    modifiers: Vec<String>,
    /// True if one of the modifiers is a time.
    has_time: bool,
}

/// Returns rules, the best first, for actions and the sentence after them. Returns none if the sentence has neither an
/// amount nor a time, unless `is_any`.
pub(super) fn rules(acts: &str, tail: &str, is_any: bool) -> Vec<String> {
    let words: Vec<&str> = tail.split_whitespace().collect();
    if words.is_empty() || words.len() > MAX_WORDS || tail.contains(['"', '\'', '=', '{', '<', '>', '&', '|'])
    {
        return Vec::new();
    }
    let sentence = Sentence::read(&words);
    let modifiers: Vec<&str> = sentence
        .share
        .iter()
        .chain(&sentence.modifiers)
        .map(String::as_str)
        .collect();
    let has_amount = !modifiers.is_empty();
    if !has_amount && !is_any {
        return Vec::new();
    }
    let modifiers = modifiers.join(" ");
    let mut texts = Vec::new();
    if let (Some(share), true) = (
        &sentence.share,
        sentence.cond.is_empty() && sentence.modifiers.is_empty(),
    ) {
        let link = match acts {
            "drop" | "lose" => Some("loss"),
            "dup" => Some("dup"),
            _ => None,
        };
        let dir = sentence.dir.unwrap_or("both");
        let share = share.trim_start_matches("chance ");
        texts.extend(link.map(|link| format!("link {dir} {link} {share}")));
    }
    let parts = || {
        sentence
            .dir
            .into_iter()
            .chain(sentence.cond.iter().map(String::as_str))
    };
    let is_event = ["close", "inject", "stall"]
        .iter()
        .any(|verb| acts.starts_with(verb));
    // `enter_game` comes only once, before most times.
    let usual = match is_event && !sentence.has_time {
        true => "enter_game",
        false => "any_snap",
    };
    let modifiers = match is_event && sentence.has_time && sentence.cond.is_empty() {
        true => format!("{modifiers} once"),
        false => modifiers,
    };
    let whole = match parts().next() {
        Some(_) => parts().collect::<Vec<_>>().join(" "),
        None => usual.to_owned(),
    };
    texts.push(format!("{acts} when {whole} {modifiers}"));
    texts.push(format!(
        "{acts} when {} {modifiers}",
        parts().collect::<Vec<_>>().join(" and ")
    ));
    texts
}

impl Sentence {
    fn read(words: &[&str]) -> Self {
        let mut sentence = Self::default();
        let mut rest = words;
        while let [word, more @ ..] = rest {
            if let Some(dir) = direction(&rest.join(" ")) {
                sentence.dir = Some(dir);
                let article = usize::from(more.first() == Some(&"the"));
                rest = more.get(1 + article..).unwrap_or_default();
                continue;
            }
            let used = sentence.amount(rest).or_else(|| sentence.time(rest));
            if let Some(used) = used {
                rest = rest.get(used..).unwrap_or_default();
                continue;
            }
            let lower = word.to_ascii_lowercase();
            let is_filler = FILLERS.contains(&&*lower) || MORE_FILLERS.contains(&&*lower);
            match &*lower {
                "c2s" => sentence.dir = Some("c2s"),
                "s2c" => sentence.dir = Some("s2c"),
                "once" => sentence.modifiers.push(lower),
                "randomly" | "random" if sentence.share.is_none() && !has_number(more) => {
                    sentence.share = Some("chance 5%".to_owned());
                }
                _ if is_filler => {}
                _ => sentence.cond.push(message(word)),
            }
            rest = more;
        }
        sentence
    }

    /// Reads an amount at the start of `words`. Returns the number of its words.
    fn amount(&mut self, words: &[&str]) -> Option<usize> {
        let (modifier, used) = match words {
            ["every" | "each", "other" | "second" | "2nd", ..] => ("every 2".to_owned(), 2),
            ["every" | "each", word, ..] if ordinal(word).is_some() => {
                (format!("every {}", ordinal(word)?), 2)
            }
            ["first", number, ..] if number.parse::<u32>().is_ok() => (format!("first {number}"), 2),
            ["first" | "next", ..] => ("first 1".to_owned(), 1),
            ["twice", ..] => ("first 2".to_owned(), 1),
            [count, next, ..]
                if count.parse::<u32>().is_ok_and(|count| count > 0)
                    && next.starts_with(char::is_alphabetic)
                    && !matches!(
                        *next,
                        "in" | "of" | "out" | "percent" | "pct" | "times" | "time" | "bits" | "bytes"
                    ) =>
            {
                (format!("first {count}"), 1)
            }
            [word, next, ..] if is_ordinal(word) && !has_number(&[*next]) => {
                let before = ordinal(word).unwrap_or(2).saturating_sub(1);
                (format!("skip {before} first 1"), 1)
            }
            ["half", ..] => return self.chance(50.0, 1),
            ["quarter", ..] => return self.chance(25.0, 1),
            ["a" | "one", "third", ..] => return self.chance(100.0 / 3.0, 2),
            [some, "in" | "of", all, ..] if number(some).is_some() && number(all).is_some() => {
                return self.chance(100.0 * number(some)? / number(all)?, 3);
            }
            [some, "out", "of", all, ..] => return self.chance(100.0 * number(some)? / number(all)?, 4),
            [share, "percent" | "pct" | "%", ..] => return self.chance(number(share)?, 2),
            ["probability" | "prob" | "chance", share, ..] | ["p", "=", share, ..]
                if number(share).is_some_and(is_part) =>
            {
                return self.chance(100.0 * number(share)?, 2);
            }
            [share] if share.contains('.') && number(share).is_some_and(is_part) => {
                return self.chance(100.0 * number(share)?, 1);
            }
            [share, ..] => {
                if let Some(share) = share.strip_suffix('%').and_then(number) {
                    return self.chance(share, 1);
                }
                let (some, all) = share.split_once('/')?;
                return self.chance(100.0 * number(some)? / number(all)?, 1);
            }
            [] => return None,
        };
        self.modifiers.push(modifier);
        Some(used)
    }

    fn chance(&mut self, percent: f64, used: usize) -> Option<usize> {
        let is_share = percent > 0.0 && percent <= 100.0;
        let text = format!("{percent:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.share = is_share.then(|| format!("chance {text}%"));
        is_share.then_some(used)
    }

    /// Reads a time at the start of `words`, such as `after 10 seconds`. Returns the number of its words.
    fn time(&mut self, words: &[&str]) -> Option<usize> {
        let [word @ ("after" | "from" | "until"), time, more @ ..] = words else {
            return None;
        };
        if !time.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.has_time = true;
        let unit = match (time.parse::<f64>().is_ok(), more.first()) {
            (true, Some(&("s" | "sec" | "secs" | "second" | "seconds"))) => Some("s"),
            (true, Some(&("ms" | "milliseconds"))) => Some("ms"),
            (true, Some(&("min" | "mins" | "minute" | "minutes"))) => Some("min"),
            _ => None,
        };
        self.modifiers
            .push(format!("{word} {time}{}", unit.unwrap_or_default()));
        Some(2 + usize::from(unit.is_some()))
    }
}

/// Returns the percentage for a fraction at the start of a text, such as `1 in 3` or `1/3`.
pub(in crate::syntax) fn fraction(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    let is_fraction = words.first().is_some_and(|word| word.contains('/'))
        || matches!(words.get(1), Some(&("in" | "out" | "of")));
    let mut sentence = Sentence::default();
    sentence.amount(&words).filter(|_| is_fraction)?;
    let share = sentence.share?;
    Some(share.trim_start_matches("chance ").to_owned())
}

/// Returns the name of a message for a word, by the table of synonyms; the word itself if it is not in the table.
fn message(word: &str) -> String {
    let word = word.trim_end_matches([',', '.', ';', '!']);
    let is_modifier = MODIFIERS.contains(&word);
    let typed = synonym::typed(Place::Condition, word).filter(|_| !is_modifier);
    // Which of the two directions is meant depends on who writes it.
    let typed = typed.filter(|typed| !typed.starts_with(BOTH_WAYS));
    let typed = typed.and_then(|typed| typed.split('`').nth(1));
    typed.unwrap_or(word).to_owned()
}

/// Returns true for the number of one match, such as `second` or `3rd`.
fn is_ordinal(word: &str) -> bool {
    let is_digits =
        word.starts_with(|c: char| c.is_ascii_digit()) && !word.ends_with(|c: char| c.is_ascii_digit());
    word == "second" || (is_digits || word.chars().all(char::is_alphabetic)) && ordinal(word).is_some()
}

fn has_number(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| word.contains(|c: char| c.is_ascii_digit()))
}

/// Returns a number without a sign; `None` for other words.
fn number(word: &str) -> Option<f64> {
    let value = match word {
        "one" => 1.0,
        "two" => 2.0,
        "three" => 3.0,
        "four" => 4.0,
        "five" => 5.0,
        "ten" => 10.0,
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => word.parse().ok()?,
        _ => return None,
    };
    Some(value)
}

fn is_part(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// Returns the number of an ordinal such as `third` or `3rd`.
fn ordinal(word: &str) -> Option<u32> {
    const WORDS: [&str; 8] = [
        "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    ];
    let named = WORDS.iter().zip(3..).find(|(known, _)| **known == word);
    let of_digits = || {
        let stem = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|end| word.strip_suffix(end));
        stem.unwrap_or(word).parse().ok().filter(|value| *value > 0)
    };
    named.map(|(_, value)| value).or_else(of_digits)
}

/// Returns a link line with the parameters of `tc`, or with the rate or the delay in a sentence.
pub(super) fn links(verb: &str, tail: &str) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some((_, parameters)) = tail.split_once("netem ") {
        texts.push(format!("link both {parameters}"));
    }
    let end = |word: &&str, units: &[&str]| {
        let stem = units.iter().find_map(|unit| word.strip_suffix(unit));
        stem.is_some_and(|stem| number(stem).is_some())
    };
    let mut words = tail.split_whitespace();
    let has = |dir: &str| tail.split_whitespace().any(|word| word == dir);
    let dir = ["c2s", "s2c"].into_iter().find(|dir| has(dir)).unwrap_or("both");
    match verb {
        "throttle" | "limit" | "bandwidth" | "ratelimit" | "shape" | "speed" => {
            let rate = words.find(|word| end(word, &["kbit", "mbit", "gbit"]));
            texts.extend(rate.map(|rate| format!("link {dir} rate {rate}")));
        }
        "latency" | "lag" | "ping" | "slow" | "add" | "set" => {
            texts.push(format!("link both delay {tail}"));
            let delay = words.find(|word| end(word, &["ms", "s"]));
            texts.extend(
                delay
                    .filter(|_| verb != "set")
                    .map(|delay| format!("link {dir} delay {delay}")),
            );
        }
        "loss" | "dup" | "corrupt" | "duplicate" if number(tail).is_some() => {
            texts.push(format!("link both {verb} {tail}%"));
        }
        _ => {}
    }
    texts
}

/// Returns a message to inject for a name and a text, such as `sv_chat "hello"`.
pub(super) fn inject(tail: &str) -> Option<String> {
    let (name, text) = tail.split_once(' ')?;
    let dir = match name.get(..3)? {
        "cl_" => "c2s",
        "sv_" => "s2c",
        _ => return None,
    };
    let text = text.trim();
    let is_text = text.len() > 2 && text.starts_with('"') && text.ends_with('"');
    is_text.then(|| format!("inject {dir} {name}{{message: {text}}} every 5s"))
}

/// Returns a change of a field for a sentence, such as `sv_chat.message to "hi"`.
pub(super) fn set(tail: &str) -> Option<String> {
    let (field, value) = tail.split_once(' ')?;
    let (message, _) = field.split_once('.').filter(|(message, _)| !message.is_empty())?;
    let value = value
        .trim_start_matches("to ")
        .trim_start_matches(['=', ':', ' ']);
    Some(format!("set {field} = {value} when {message}"))
}

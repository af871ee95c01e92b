//! Scrubs texts outside the traffic: notices, marks, reasons and log lines.
//!
//! Law: each text belongs to one of four classes, and every class is checked. *Names* of messages are kept if they have
//! the form of a name. Texts *of the system* (errors, refusals) are kept without paths, hosts and addresses. Texts *of
//! others* (peers, rules, the user) become `*`. Log lines of the program, which may contain all of these, are kept if
//! they match a sentence in [`sentence`](super::sentence).
//!
//! With [`Keep::text`](super::Keep::text), texts of others and log lines are also kept, without hosts, addresses and
//! secrets.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    ops::Range,
};

use super::{
    Scrubber,
    mask::{FILE, stars},
    sentence,
};

/// Replaces the name of a server: a name that no host can have (RFC 2606).
pub(super) const SERVER: &str = "server.invalid";

/// Names that are the same everywhere. `demo` is the name of the server in `teetap demo`.
const KEPT: [&str; 2] = ["localhost", "demo"];

/// Punctuation before and after a word.
const BEFORE: [char; 3] = ['(', '\'', '"'];
const AFTER: [char; 7] = [')', '\'', '"', ';', ':', ',', '.'];

/// File name endings of this program.
const ENDINGS: [&str; 10] = [
    ".pcapng", ".pcap", ".jsonl", ".tap", ".toml", ".tw", ".xml", ".log", ".journal", ".sock",
];

/// Maximum number of secrets that are remembered, and maximum bytes of each.
const MAX_SECRETS: usize = 4096;
const MAX_SECRET: usize = 1400;

/// Minimum bytes of a secret that is also replaced within words.
const LONG: usize = 4;

/// Secrets that the traffic of a recording shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(BTreeSet<Box<str>>);

impl Secrets {
    /// Adds the bytes of a secret, if they are text.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(bytes.get(..end).unwrap_or_default());
        let text = text.unwrap_or_default().trim();
        let is_placeholder = text.chars().all(|c| c == '*');
        if !is_placeholder && text.len() <= MAX_SECRET && self.0.len() < MAX_SECRETS {
            self.0.insert(text.into());
        }
    }

    /// Replaces all secrets in a text, both as text and in hex. Starts with the longest secret, since a secret may
    /// contain another secret.
    fn removed_from(&self, text: &str) -> String {
        let mut out = text.to_owned();
        let mut all: Vec<&str> = self.0.iter().map(|secret| &**secret).collect();
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in all {
            let is_apart = secret.len() < LONG;
            out = replace(&out, secret, is_apart, &stars(secret));
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            out = replace(&out, &hex, is_apart, &stars(&hex));
        }
        out
    }
}

impl Scrubber {
    /// Returns the secrets that the traffic has shown so far.
    #[must_use]
    pub fn into_secrets(self) -> Secrets {
        self.secrets
    }

    /// Sets the secrets of the whole recording, since texts of rules may precede the traffic.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Returns the server as the user wrote it, with a placeholder. Remembers its name for other texts.
    pub(super) fn target(&mut self, target: &str) -> String {
        let (host, port) = match target.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() && !host.ends_with(':') => (host, Some(port)),
            _ => (target, None),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let bare = bare.split('%').next().unwrap_or(bare);
        let new = match bare.parse::<IpAddr>() {
            Ok(ip) if host.starts_with('[') => format!("[{}]", self.placeholder(ip)),
            Ok(ip) => self.placeholder(ip),
            Err(_) if KEPT.iter().any(|kept| host.eq_ignore_ascii_case(kept)) => host.to_owned(),
            Err(_) => {
                let is_known = host.is_empty() || self.hosts.iter().any(|known| **known == *host);
                // Bounded for hostile files; a run has only one server.
                if !is_known && self.hosts.len() < 64 {
                    self.hosts.push(host.into());
                }
                SERVER.to_owned()
            }
        };
        port.map_or(new.clone(), |port| format!("{new}:{port}"))
    }

    /// Returns a log line of the program with placeholders.
    #[must_use]
    pub fn text(&mut self, text: &str) -> String {
        if !self.keep.text {
            return sentence::scrubbed(self, text);
        }
        // Texts of rules are in lines about changes, in summaries, and in the command line that repeats a run.
        let lines = text.split('\n').map(|line| {
            let line = without_paths(line);
            let is_own = sentence::is_sentence(self, &line);
            let kept = self.kept(&line);
            if is_own { kept } else { without_values(&kept) }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns a text of the operating system, or of the core, with placeholders.
    pub(super) fn of_system(&mut self, text: &str) -> String {
        let text = without_paths(text);
        self.kept(&text)
    }

    /// Returns a text of a peer, a rule or the user with placeholders.
    pub(super) fn of_others(&mut self, text: &str) -> String {
        if self.keep.text {
            return self.kept(text);
        }
        self.tally.texts += u64::from(!text.is_empty());
        stars(text)
    }

    /// Returns the name or the text of a rule with placeholders. A rule may contain secrets that were never sent.
    pub(super) fn of_rule(&mut self, text: &str) -> String {
        if self.keep.text {
            return without_values(&self.kept(text));
        }
        self.of_others(text)
    }

    /// Returns the name of a message unchanged, and any other text with placeholders.
    pub(super) fn name(&mut self, name: &str) -> String {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
        if name.bytes().all(is_part) && name.len() < 64 {
            name.to_owned()
        } else {
            self.of_others(name)
        }
    }

    /// Returns numbers and the words between them unchanged, and any other text with placeholders.
    pub(super) fn numbers(&mut self, numbers: &str) -> String {
        let mut words = numbers.split([' ', ',']).filter(|word| !word.is_empty());
        let is_known = |word: &str| {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            is_number || ["to", "and", "was", "were", "sent", "times", "more"].contains(&word)
        };
        if words.all(is_known) {
            numbers.to_owned()
        } else {
            self.of_others(numbers)
        }
    }

    /// Returns a text with placeholders instead of hosts, addresses and secrets.
    fn kept(&mut self, text: &str) -> String {
        let mut out = self.secrets.removed_from(text);
        for host in &self.hosts {
            out = replace(&out, host, true, SERVER);
        }
        let words: Vec<String> = out.split(' ').map(|word| self.word(word)).collect();
        words.join(" ")
    }

    /// Returns a word, or its placeholder if the word is an address.
    fn word(&mut self, word: &str) -> String {
        let bare = word.trim_start_matches(BEFORE);
        let before = word.get(..word.len() - bare.len()).unwrap_or_default();
        let mut inner = bare;
        loop {
            if let Some(new) = self.address(inner) {
                let after = bare.get(inner.len()..).unwrap_or_default();
                return format!("{before}{new}{after}");
            }
            // An address may end with `::`.
            match inner.strip_suffix(AFTER) {
                Some(shorter) => inner = shorter,
                None => return word.to_owned(),
            }
        }
    }

    /// Returns the placeholder of an address, with its port if it has one; `None` for other texts.
    pub(super) fn address(&mut self, text: &str) -> Option<String> {
        match (text.parse::<SocketAddr>(), text.parse::<IpAddr>()) {
            (Ok(address), _) => {
                let new = self.addresses.socket(address);
                Some(new.map_or(SERVER.to_owned(), |address| address.to_string()))
            }
            (_, Ok(ip)) => Some(self.placeholder(ip)),
            _ => None,
        }
    }

    fn placeholder(&mut self, ip: IpAddr) -> String {
        let new = self.addresses.ip(ip);
        new.map_or(SERVER.to_owned(), |ip| ip.to_string())
    }
}

/// Replaces the paths of files, which may contain spaces.
fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(path) = path(rest) {
        out.push_str(rest.get(..path.start).unwrap_or_default());
        out.push_str(FILE);
        rest = rest.get(path.end..).unwrap_or_default();
    }
    out + rest
}

/// Returns the range of the first path. It ends with the last consecutive word that looks like a part of a path.
fn path(text: &str) -> Option<Range<usize>> {
    let mut at = 0;
    let mut found: Option<Range<usize>> = None;
    for word in text.split(' ') {
        let bare = word.trim_end_matches([';', ':', ',', '.', ')', '\'', '"']);
        let inner = bare.trim_start_matches(['(', '\'', '"']);
        let (begin, end) = (at + bare.len() - inner.len(), at + bare.len());
        match &mut found {
            None if is_path(inner) => {
                let quote = text.get(..begin).and_then(|before| before.chars().next_back());
                let quote = quote.filter(|quote| ['\'', '"'].contains(quote));
                let closed = quote.and_then(|quote| text.get(begin..)?.find(quote));
                if let Some(length) = closed {
                    return Some(begin..begin + length);
                }
                found = Some(begin..end);
                if bare.len() < word.len() {
                    break;
                }
            }
            None => {}
            // A folder name contains a space.
            Some(path) if inner.contains('/') || has_ending(inner) => {
                path.end = end;
                if bare.len() < word.len() {
                    break;
                }
            }
            Some(_) => break,
        }
        at += word.len() + 1;
    }
    found
}

/// Returns true for a path: a text of several parts, or with an ending of this program. `8/64` are players, and `/info`
/// is a chat command.
fn is_path(word: &str) -> bool {
    let is_rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root));
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    let parts = word.split('/').filter(|part| !part.is_empty()).count();
    has_ending(word) || is_rooted && parts > 1 || word.contains('/') && parts > 1 && !is_number
}

fn has_ending(word: &str) -> bool {
    ENDINGS
        .iter()
        .any(|ending| word.ends_with(ending) && word.len() > ending.len())
}

/// Returns the text of a rule with `*` instead of texts, regular expressions and bytes: everything in quotes and
/// between slashes, and hex words that are too long for a number.
fn without_values(rule: &str) -> String {
    let mut out = String::with_capacity(rule.len());
    let mut end = None;
    let mut is_escaped = false;
    let slashes = rule
        .find('/')
        .zip(rule.rfind('/'))
        .filter(|(first, last)| first < last);
    for (at, c) in rule.char_indices() {
        let is_between = slashes.is_some_and(|(first, last)| first < at && at < last);
        let is_end = !is_escaped && end == Some(c);
        if is_end {
            end = None;
            out.push(c);
        } else if end.is_some() || is_between {
            is_escaped = !is_escaped && c == '\\';
            out.push('*');
        } else {
            if ['"', '\''].contains(&c) {
                end = Some(c);
            }
            out.push(c);
        }
    }
    let is_bytes = |word: &str| word.len() > 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = out
        .split(' ')
        .map(|word| match is_bytes(word.trim_start_matches("0x")) {
            true => stars(word),
            false => word.to_owned(),
        });
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces a part of a text, ignoring case. If `is_apart`, replaces it only as a separate word.
fn replace(text: &str, part: &str, is_apart: bool, new: &str) -> String {
    if part.is_empty() {
        return text.to_owned();
    }
    let folded = text.to_ascii_lowercase();
    let part = part.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let is_name = |c: char| c.is_alphanumeric() || c == '-';
    for (at, _) in folded.match_indices(&*part) {
        let end = at + part.len();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        if at < done || is_apart && (before.is_some_and(is_name) || after.is_some_and(is_name)) {
            continue;
        }
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(new);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;

//! Texts of the program in a recording: notices and log lines.
//!
//! The addresses, the server and the files of the run stand in them as words of their own.

use std::{
    net::{IpAddr, SocketAddr},
    ops::Range,
};

use super::Scrubber;

/// Stands for the name of a server: a name that no host can have (RFC 2606).
const SERVER: &str = "server.invalid";

/// Names that are the same everywhere: the second one is what `teetap demo` calls its server.
const KEPT: [&str; 2] = ["localhost", "demo"];

/// Stands for the path of a file.
const FILE: &str = "FILE";

/// Punctuation before a word, and after it.
const BEFORE: [char; 3] = ['(', '\'', '"'];
const AFTER: [char; 7] = [')', '\'', '"', ';', ':', ',', '.'];

impl Scrubber {
    /// Returns the server as the user wrote it, with a placeholder. Remembers its name for [`Self::text`].
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
                // A bound for hostile files: a run has one server.
                if !is_known && self.hosts.len() < 64 {
                    self.hosts.push(host.into());
                }
                SERVER.to_owned()
            }
        };
        port.map_or(new.clone(), |port| format!("{new}:{port}"))
    }

    /// Returns a text of the program with placeholders.
    #[must_use]
    pub fn text(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        if let Some(path) = path(text) {
            out.replace_range(path, FILE);
        }
        for host in &self.hosts {
            out = replace(&out, host);
        }
        let words: Vec<String> = out.split(' ').map(|word| self.word(word)).collect();
        words.join(" ")
    }

    /// Returns a word with a placeholder if it is an address.
    fn word(&mut self, word: &str) -> String {
        let bare = word.trim_start_matches(BEFORE);
        let inner = bare.trim_end_matches(AFTER);
        let new = match (inner.parse::<SocketAddr>(), inner.parse::<IpAddr>()) {
            (Ok(address), _) => {
                let new = self.addresses.socket(address);
                new.map_or(SERVER.to_owned(), |address| address.to_string())
            }
            (_, Ok(ip)) => self.placeholder(ip),
            _ => return word.to_owned(),
        };
        let before = word.get(..word.len() - bare.len()).unwrap_or_default();
        let after = bare.get(inner.len()..).unwrap_or_default();
        format!("{before}{new}{after}")
    }

    fn placeholder(&mut self, ip: IpAddr) -> String {
        let new = self.addresses.ip(ip);
        new.map_or(SERVER.to_owned(), |ip| ip.to_string())
    }
}

/// Returns the range from the first word of a path to the last: file names contain spaces.
fn path(text: &str) -> Option<Range<usize>> {
    let mut path: Option<Range<usize>> = None;
    let mut at = 0;
    for word in text.split(' ') {
        let bare = word.trim_end_matches([';', ':', ',', '.', ')', '\'']);
        let start = bare.trim_start_matches(['(', '\'']);
        if is_path(start) {
            let (begin, end) = (at + bare.len() - start.len(), at + bare.len());
            path = Some(path.map_or(begin, |path| path.start)..end);
        }
        at += word.len() + 1;
    }
    path
}

/// Returns true for a path; `8/64` are players.
fn is_path(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    word.contains('/') && !is_number || [".pcapng", ".jsonl"].iter().any(|ending| word.ends_with(ending))
}

/// Replaces the name of a server, in any case, as a word of its own.
fn replace(text: &str, host: &str) -> String {
    let folded = text.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let is_name = |c: char| c.is_alphanumeric() || c == '-';
    for (at, _) in folded.match_indices(&*host) {
        let end = at + host.len();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        if before.is_some_and(is_name) || after.is_some_and(is_name) || at < done {
            continue;
        }
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(SERVER);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

//! Addresses, names and paths in texts.
//!
//! Texts of peers keep their length: an address becomes as many `*`. Our own texts (remarks, what the program said) may change
//! theirs: an address becomes its placeholder there, the server's name [`SERVER`], the path of a file [`FILE`].

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::Range,
    str,
};

use super::{PLACEHOLDER, Scrubber, addresses::stays};

/// Stands for the name of a server: a name that nobody can have (RFC 2606).
const SERVER: &str = "server.invalid";

/// Names that are the same everywhere: the second one is what `teetap demo` calls its server.
const KEPT: [&str; 2] = ["localhost", "demo"];

/// Stands for the path of a file.
const FILE: &str = "FILE";

/// IP addresses in a text that tell something, in order.
pub(super) fn addresses(text: &[u8]) -> Vec<(Range<usize>, IpAddr)> {
    let mut found = Vec::new();
    let mut at = 0_usize;
    for run in text.split(|byte| !is_part(*byte)) {
        // Nothing shorter than `a::` or `1.2.3.4` is one.
        if run.len() >= 3 {
            in_run(at, run, is_word(text, at, run), &mut found);
        }
        at += run.len() + 1;
    }
    found.retain(|(_, ip)| !stays(*ip));
    found
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

/// Whether letters go on before or behind it: `std::string` has no address in it, `ip:fe80::1` has.
fn is_word(text: &[u8], at: usize, run: &[u8]) -> bool {
    let is_letter = |place: usize| text.get(place).is_some_and(u8::is_ascii_alphabetic);
    let begins = run.first().is_some_and(u8::is_ascii_hexdigit);
    let ends = run.last().is_some_and(u8::is_ascii_hexdigit);
    begins && at.checked_sub(1).is_some_and(is_letter) || ends && is_letter(at + run.len())
}

/// In what may be one IPv6 address, or IPv4 addresses with ports.
fn in_run(at: usize, run: &[u8], is_word: bool, found: &mut Vec<(Range<usize>, IpAddr)>) {
    let is_colon = |byte: &&u8| **byte == b':';
    if !is_word
        && run.iter().filter(is_colon).count() >= 2
        && let Some((inner, ip)) = longest(run)
    {
        found.push((at + inner.start..at + inner.end, ip.into()));
        return;
    }
    let mut place = at;
    for part in run.split(|byte| !byte.is_ascii_digit() && *byte != b'.') {
        let (before, inner) = undotted(part);
        if let Some(ip) = str::from_utf8(inner).ok().and_then(four) {
            let start = place + before;
            found.push((start..start + inner.len(), ip.into()));
        }
        place += part.len() + 1;
    }
}

/// The IPv6 address in a run: all of it, or without marks around it.
fn longest(run: &[u8]) -> Option<(Range<usize>, Ipv6Addr)> {
    let (before, inner) = undotted(run);
    let end = before + inner.len();
    let parse = |range: Range<usize>| {
        let text = str::from_utf8(run.get(range.clone())?).ok()?;
        Some((range, text.parse().ok()?))
    };
    let ends = [0, 1, 2].map(|cut| end.saturating_sub(cut));
    (before..before + 2)
        .flat_map(|start| ends.map(|end| start..end))
        .find_map(parse)
}

/// As [`Ipv4Addr`] is read, and with leading zeros.
fn four(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parts.next().filter(|part| part.len() <= 3)?.parse().ok()?;
    }
    parts.next().is_none().then(|| octets.into())
}

/// Without the dots of an end of a sentence, and how many there were before.
fn undotted(part: &[u8]) -> (usize, &[u8]) {
    let is_dot = |byte: &u8| *byte == b'.';
    let start = part.iter().take_while(|byte| is_dot(byte)).count();
    let end = part.len() - part.iter().rev().take_while(|byte| is_dot(byte)).count();
    (start, part.get(start..end).unwrap_or_default())
}

impl Scrubber {
    /// The server as the user wrote it.
    pub(super) fn target(&mut self, target: &str) -> String {
        let (host, port) = match target.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() && !host.ends_with(':') => (host, Some(port)),
            _ => (target, None),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let bare = bare.split('%').next().unwrap_or(bare);
        let new = match bare.parse::<IpAddr>() {
            Ok(ip) => {
                let ip = self
                    .addresses
                    .ip(ip)
                    .map_or(SERVER.to_owned(), |ip| ip.to_string());
                if host.starts_with('[') {
                    format!("[{ip}]")
                } else {
                    ip
                }
            }
            Err(_) if KEPT.iter().any(|kept| host.eq_ignore_ascii_case(kept)) => host.to_owned(),
            Err(_) => {
                // More servers than runs in one file nobody has.
                let is_known = host.is_empty() || self.hosts.iter().any(|known| **known == *host);
                if !is_known && self.hosts.len() < 64 {
                    self.hosts.push(host.into());
                }
                SERVER.to_owned()
            }
        };
        port.map_or(new.clone(), |port| format!("{new}:{port}"))
    }

    /// A text of ours.
    #[must_use]
    pub fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (number, word) in text.split(' ').enumerate() {
            if number > 0 {
                out.push(' ');
            }
            let bare = word.trim_end_matches([';', ':', ',', '.', ')', '\'']);
            let start = bare.trim_start_matches(['(', '\'']);
            if is_path(start) {
                let lead = bare.len() - start.len();
                out.push_str(word.get(..lead).unwrap_or_default());
                out.push_str(FILE);
                out.push_str(word.get(bare.len()..).unwrap_or_default());
            } else {
                out.push_str(word);
            }
        }
        for host in &self.hosts {
            out = replace(&out, host);
        }
        let mut places = addresses(out.as_bytes());
        // From the end, so that the places before keep theirs; the numbers go from the start.
        let new: Vec<_> = places.iter().map(|(_, ip)| self.addresses.ip(*ip)).collect();
        for ((range, _), new) in places.drain(..).zip(new).rev() {
            out.replace_range(range, &new.map_or(SERVER.to_owned(), |ip| ip.to_string()));
        }
        out
    }

    /// A text of a peer: addresses become `*`.
    pub(super) fn peer_text(&mut self, text: &mut [u8]) {
        for (range, _) in addresses(text) {
            self.tally.in_texts += 1;
            text.get_mut(range).unwrap_or_default().fill(PLACEHOLDER);
        }
    }
}

/// What the program calls a file; `8/64` are players.
fn is_path(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    word.contains('/') && !is_number || [".pcapng", ".jsonl"].iter().any(|ending| word.ends_with(ending))
}

/// The name of a server, in any case, as a word of its own.
fn replace(text: &str, host: &str) -> String {
    let folded = text.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let is_name = |c: char| c.is_alphanumeric() || c == '-';
    for (at, _) in folded.match_indices(&*host) {
        let end = at + host.len();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(end..).and_then(|behind| behind.chars().next());
        if before.is_some_and(is_name) || behind.is_some_and(is_name) || at < done {
            continue;
        }
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push_str(SERVER);
        done = end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

//! Addresses, names and paths in texts.
//!
//! Texts of peers keep their length: an address becomes as many `*`. Our own texts (notices, what the program said) may change
//! theirs: an address becomes its placeholder there, the server's name [`SERVER`], the path of a file [`FILE`].

use std::{
    net::{IpAddr, Ipv6Addr},
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

/// The most that an IPv6 address is long as text.
const SIX: usize = 45;

/// IP addresses in a text that tell something, in order.
pub(super) fn addresses(text: &[u8]) -> Vec<(Range<usize>, IpAddr)> {
    let is_letter = |place: usize| text.get(place).is_some_and(u8::is_ascii_alphabetic);
    let mut found = Vec::new();
    let mut at = 0_usize;
    for bytes in text.split(|byte| !is_part(*byte)) {
        // Nothing shorter than `a::` or `1.2.3.4` is one.
        if bytes.len() >= 3 {
            let run = Run {
                bytes,
                is_behind: at.checked_sub(1).is_some_and(is_letter),
                is_before: is_letter(at + bytes.len()),
            };
            run.find(at, &mut found);
        }
        at += bytes.len() + 1;
    }
    found.retain(|(_, ip)| !stays(*ip));
    found
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

/// Where addresses may be, with what stands around them: digits of both kinds, `:` and `.`.
struct Run<'a> {
    bytes: &'a [u8],
    /// A letter before it.
    is_behind: bool,
    /// A letter behind it.
    is_before: bool,
}

impl Run<'_> {
    /// IPv6 addresses, and between them IPv4 addresses with ports.
    fn find(&self, at: usize, found: &mut Vec<(Range<usize>, IpAddr)>) {
        let mut done = 0;
        let may_be_six = self.bytes.iter().filter(|byte| **byte == b':').count() >= 2;
        while may_be_six && let Some((inner, ip)) = self.six(done) {
            fours(at + done, self.part(done..inner.start), found);
            done = inner.end;
            found.push((at + inner.start..at + inner.end, ip.into()));
        }
        fours(at + done, self.part(done..self.bytes.len()), found);
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    fn byte(&self, place: usize) -> u8 {
        self.bytes.get(place).copied().unwrap_or_default()
    }

    /// The first IPv6 address from a place on. What is joined to it by `:` goes with it: behind a placeholder it would be a
    /// part of that.
    fn six(&self, from: usize) -> Option<(Range<usize>, Ipv6Addr)> {
        let is_start = |start: &usize| match start {
            0 => !self.is_behind,
            start => *start == from || self.begins(*start),
        };
        // Behind a letter the first group is a label (`me:2a02::1`), if it has not four digits (`ip2a02::1`).
        let is_group =
            from == 0 && self.is_behind && self.bytes.iter().position(|byte| *byte == b':') == Some(4);
        let (start, end, ip) = is_group
            .then_some(0)
            .into_iter()
            .chain((from..self.bytes.len()).filter(is_start))
            .find_map(|start| self.longest(start).map(|(end, ip)| (start, end, ip)))?;
        let inner = self.part(start..end);
        if stays(ip.into()) || inner.contains(&b'.') {
            return Some((start..end, ip));
        }
        let rest = self.part(end..self.bytes.len());
        let until = rest.windows(2).position(|two| two == b"..").unwrap_or(rest.len());
        let more = rest.iter().take(until).rposition(u8::is_ascii_hexdigit);
        Some((start..end + more.map_or(0, |last| last + 1), ip))
    }

    /// Whether an IPv6 address may begin here: behind a `:`, or a `.` that is not within an IPv4 address.
    fn begins(&self, start: usize) -> bool {
        match self.byte(start - 1) {
            b':' => true,
            b'.' => {
                // `255.255.255.`
                let before = self.part(start.saturating_sub(12)..start);
                let dotted = before.rsplit(|byte| *byte == b':').next().unwrap_or_default();
                before.ends_with(b"..") || dotted.iter().filter(|byte| **byte == b'.').count() < 3
            }
            _ => false,
        }
    }

    /// The longest IPv6 address that begins here, and its end. Names have letters around them and no digits (`std::cab`).
    fn longest(&self, start: usize) -> Option<(usize, Ipv6Addr)> {
        let len = self.bytes.len();
        let is_mark = |place: usize| matches!(self.byte(place), b':' | b'.');
        (start + 2..=len.min(start + SIX))
            .rev()
            .filter(|end| *end == len || is_mark(*end) || is_mark(*end - 1))
            .find_map(|end| {
                let text = self.part(start..end);
                let ip: Ipv6Addr = str::from_utf8(text).ok()?.parse().ok()?;
                let is_touched = start == 0 && self.is_behind || end == len && self.is_before;
                let is_name = is_touched && !text.iter().any(u8::is_ascii_digit);
                (!is_name && !ip.is_unspecified()).then_some((end, ip))
            })
    }
}

/// IPv4 addresses with ports and whatever else is no digit.
fn fours(at: usize, text: &[u8], found: &mut Vec<(Range<usize>, IpAddr)>) {
    let mut place = at;
    let mut octets: Vec<(usize, &[u8])> = Vec::new();
    for part in text.split(|byte| !byte.is_ascii_digit() && *byte != b'.') {
        for octet in part.split(|byte| *byte == b'.') {
            // Two dots.
            if octet.is_empty() {
                found.extend(four(&octets));
                octets.clear();
            } else {
                octets.push((place, octet));
            }
            place += octet.len() + 1;
        }
        found.extend(four(&octets));
        octets.clear();
    }
}

/// Numbers with dots between them, if there is an address among them: more than four are all a part of it. Five and more
/// digits are a version.
fn four(octets: &[(usize, &[u8])]) -> Option<(Range<usize>, IpAddr)> {
    if octets.len() > 4 && octets.iter().all(|(_, octet)| octet.len() == 1) {
        return None;
    }
    let (start, _) = octets.first()?;
    let (last, octet) = octets.last()?;
    // Before it may be a number of a line.
    let mut ips = octets.windows(4).rev().filter_map(|four| {
        let mut ip = [0_u8; 4];
        for (octet, (_, text)) in ip.iter_mut().zip(four) {
            // As it is read everywhere, and with leading zeros.
            *octet = str::from_utf8(text)
                .ok()
                .filter(|text| text.len() <= 3)?
                .parse()
                .ok()?;
        }
        Some(IpAddr::from(ip)).filter(|ip| !stays(*ip))
    });
    Some((*start..last + octet.len(), ips.next()?))
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
        let mut out = text.to_owned();
        if let Some(path) = path(text) {
            out.replace_range(path, FILE);
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

/// From the first word that is of a path to the last one: names of files have spaces in them.
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

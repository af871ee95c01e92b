//! Recognizes log lines of the program in recordings, and the values in them.
//!
//! Law: a line is kept only if it matches one of the sentences below completely, and the values in it are replaced. Any
//! other line becomes `*`, because a peer, a rule or the user may have written a part of it.

use super::{
    Scrubber,
    mask::{FILE, stars},
};

/// Sentences of the program. `{n}` is a number, `{a}` an address, `{f}` the path of a file, `{t}` any text, `{k}` a
/// version, game type or map, which stay in packets, too.
const SENTENCES: &[&str] = &[
    "port {n} is taken: listening on {a}",
    "the server {a} did not answer: {t}",
    "the server {a} did not answer within {n} s: down, filtered, or not a game server",
    "the server answers {n} in {n} ms",
    "the server answers {n} in {n} ms and {n} in {n} ms",
    "the server answers {n} in {n} ms (\"{t}\", version {k}, {k} on {k}, {n}/{n} players)",
    "the server answers {n} in {n} ms and {n} in {n} ms (\"{t}\", version {k}, {k} on {k}, {n}/{n} players)",
    "the server answers {n} in {n} ms (\"{t}\", version {k}, {k} on {k}, {n}/{n} players) and {n} in {n} ms",
    "the server answers {n} in {n} ms (\"{t}\", version {k}, {k} on {k}, {n}/{n} players) and {n} in {n} ms (\"{t}\", version {k}, {k} on {k}, {n}/{n} players)",
    "{f} was read again",
    "{f} has errors, the last rules stay",
    "{f} could be read by other users; now it cannot",
    "{f} is incomplete at its end: its last {n} bytes were cut off",
    "appending to the recording {f}",
    "cannot read {f} any more, its last rules stay: {t}",
    "cannot write {f}: {t}; the run continues, but the rest of it is not recorded",
    "the recording {f} was deleted or moved; the run continues and records to the file that was there",
    "a control connection was cut off: its peer read nothing for {n} s",
];

/// Reasons with which the proxy itself ends a session.
const REASONS: &[&str] = &[
    "Timeout",
    "Too weak connection (not acked for {n} seconds)",
    "teetap was stopped",
];

/// Comma-separated parts of the last line of a summary.
const COUNTS: &[&str] = &[
    "{n} s",
    "the data thread crashed",
    "{n} session",
    "{n} sessions",
    "{n} never online",
    "c→s {n} datagram {n} byte",
    "c→s {n} datagrams {n} byte",
    "c→s {n} datagram {n} bytes",
    "c→s {n} datagrams {n} bytes",
    "s→c {n} datagram {n} byte",
    "s→c {n} datagrams {n} byte",
    "s→c {n} datagram {n} bytes",
    "s→c {n} datagrams {n} bytes",
    "{n} refused",
    "{n} not sent",
    "{n} network errors",
    "{n} dropped by the kernel",
    "{n} events not shown",
    "the recorder crashed",
    "{n} packets missing in it",
    "{n} events not recorded",
    "{n} packet recorded to {f}",
    "{n} packets recorded to {f}",
    "ended by SIGHUP",
    "ended by SIGINT",
    "ended by SIGTERM",
    "ended by signal {n}",
    "ended by --timeout",
    "ended by the end of the command",
    "ended by closed stdout",
    "ended by the end of the demo",
    "ended by the user",
    "ended by a crash",
    "ended by {t}",
    "cmd_exit {n}",
    "cmd_exit {n} (stopped by teetap)",
    "cmd_exit {n} (killed by teetap)",
    "seed {n}",
    "exit {n}",
];

/// Returns true if the proxy itself ends sessions with this reason.
pub(super) fn is_reason(scrubber: &mut Scrubber, text: &str) -> bool {
    first(scrubber, REASONS, text).is_some()
}

/// Returns true if a line matches a sentence, and contains no text of a rule or of the user.
pub(super) fn is_sentence(scrubber: &mut Scrubber, text: &str) -> bool {
    first(scrubber, SENTENCES, text).is_some()
}

/// Returns a line with placeholders.
pub(super) fn scrubbed(scrubber: &mut Scrubber, text: &str) -> String {
    if let Some(found) = first(scrubber, SENTENCES, text) {
        return found;
    }
    let (before, last) = text
        .rsplit_once('\n')
        .map_or((None, text), |(before, last)| (Some(before), last));
    let Some(counts) = counts(scrubber, last) else {
        return blanked(scrubber, text);
    };
    match before {
        Some(before) => format!("{}\n{counts}", blanked(scrubber, before)),
        None => counts,
    }
}

/// Replaces each line of a text.
fn blanked(scrubber: &mut Scrubber, text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| scrubber.of_others(line)).collect();
    lines.join("\n")
}

/// Returns the last line of a summary with placeholders; `None` for other lines. Replaces unknown parts, which belong
/// to a path or a reason with commas.
fn counts(scrubber: &mut Scrubber, line: &str) -> Option<String> {
    let name = "teetap: ";
    let (prefix, line) = line.strip_prefix(name).map_or(("", line), |line| (name, line));
    let (time, _) = line.split_once(", ")?;
    matched(scrubber, "{n} s", time)?;
    let parts: Vec<String> = line
        .split(", ")
        .map(|part| first(scrubber, COUNTS, part).unwrap_or_else(|| scrubber.of_others(part)))
        .collect();
    Some(format!("{prefix}{}", parts.join(", ")))
}

/// Returns a text with placeholders, by the first sentence that it matches; `None` if it matches none.
fn first(scrubber: &mut Scrubber, sentences: &[&str], text: &str) -> Option<String> {
    sentences
        .iter()
        .find_map(|sentence| matched(scrubber, sentence, text))
}

/// Returns a text with placeholders if it matches a sentence.
fn matched(scrubber: &mut Scrubber, sentence: &str, text: &str) -> Option<String> {
    let (fixed, mut sentence) = sentence.split_once('{').unwrap_or((sentence, ""));
    let mut rest = text.strip_prefix(fixed)?;
    let mut out = fixed.to_owned();
    while let Some((kind, after)) = sentence.split_once('}') {
        let (fixed, next) = after.split_once('{').unwrap_or((after, ""));
        // The last value extends up to the fixed end of the sentence.
        let length = match (fixed, next) {
            ("", _) => rest.len(),
            (_, "") => rest
                .len()
                .checked_sub(fixed.len())
                .filter(|_| rest.ends_with(fixed))?,
            _ => rest.find(fixed)?,
        };
        let (value, others) = rest.split_at_checked(length)?;
        out.push_str(&replaced(scrubber, kind, value)?);
        out.push_str(fixed);
        rest = others.strip_prefix(fixed)?;
        sentence = next;
    }
    rest.is_empty().then_some(out)
}

/// Returns a value of this kind with its placeholder; `None` if the value is of another kind.
fn replaced(scrubber: &mut Scrubber, kind: &str, value: &str) -> Option<String> {
    match kind {
        "n" => {
            let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
            (!value.is_empty() && value.bytes().all(is_number)).then(|| value.to_owned())
        }
        "a" => scrubber.address(value),
        "k" => (!value.contains('"')).then(|| value.to_owned()),
        "f" => (!value.is_empty()).then(|| FILE.to_owned()),
        _ => {
            scrubber.tally.texts += u64::from(!value.is_empty());
            Some(stars(value))
        }
    }
}

//! Examples of command lines, for the help and the man pages.

use std::fmt::Write as _;

/// Command, command line and purpose, in the order of the help. The command is empty for `teetap HOST`.
pub(crate) const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "",
        "teetap example.org",
        "Print every message between your client and a server",
    ),
    ("", "teetap demo --tui", "See it work with nothing installed"),
    (
        "",
        "teetap --tui example.org:8303",
        "Look at messages, fields and bytes on a screen",
    ),
    (
        "",
        "teetap -f 'c2s and not input' example.org",
        "Print only some messages",
    ),
    (
        "",
        "teetap -r 'drop when sv_emoticon' --link 'both delay 40ms' example.org",
        "Change the traffic",
    ),
    (
        "",
        "teetap -w run.pcapng example.org",
        "Record the run; teetap open shows it again",
    ),
    (
        "",
        "teetap -w - example.org | wireshark -k -i -",
        "Watch the run in Wireshark",
    ),
    (
        "",
        "teetap -w run.pcapng --save-on lint example.org",
        "Record only the minutes around odd messages",
    ),
    (
        "run",
        "teetap run example.org --until sv_chat --timeout 30s -- ./client {host} {port}",
        "Run a client, and wait for a message",
    ),
    (
        "run",
        "teetap run localhost -R rules.tap --junit report.xml -- ./test {addr}",
        "Report to continuous integration",
    ),
    ("demo", "teetap demo --tui", "Show the demo on a screen"),
    (
        "demo",
        "teetap demo --seconds 2 --json",
        "Print two seconds of it as JSON lines",
    ),
    (
        "replay",
        "teetap replay --check inputs.log",
        "Repeat a run that was started with --input-log",
    ),
    ("open", "teetap open run.pcapng", "Print a recording"),
    (
        "open",
        "teetap open capture.pcap -w annotated.pcapng",
        "Comment on the packets of a capture, for Wireshark",
    ),
    (
        "open",
        "teetap open -f lint --from 90s --to 2min capture.pcap",
        "Print the odd messages of half a minute",
    ),
    (
        "grep",
        "teetap grep 'sv_chat.message contains \"gg\"' run.pcapng",
        "Search for a text",
    ),
    (
        "grep",
        "teetap grep -C 3 'lint.wrong_token' capture.pcap",
        "Show what is around each match",
    ),
    (
        "diff",
        "teetap diff mine.pcap official.pcap --until 'c2s and enter_game'",
        "Compare the join of a client with that of the official one",
    ),
    (
        "diff",
        "teetap diff mine.pcapng ref:ddnet-16.4",
        "Compare the join and the game of a client with DDNet's",
    ),
    (
        "diff",
        "teetap diff run.pcapng",
        "Compare the two legs of a run: what rules changed",
    ),
    (
        "diff",
        "teetap diff run.pcapng#1 run.pcapng#2 --ignore cl_start_info.name",
        "Compare two sessions of a recording",
    ),
    (
        "judge",
        "teetap judge run.pcapng",
        "Find what went wrong, the cause first",
    ),
    (
        "judge",
        "teetap judge --ignore-file known.txt --junit report.xml run.pcapng",
        "Report to continuous integration what is not known yet",
    ),
    (
        "report",
        "teetap report run.pcapng -o report.md",
        "Write a report for a bug report, without texts and addresses",
    ),
    (
        "scrub",
        "teetap scrub run.pcapng -o public.pcapng",
        "Make a recording that can be published",
    ),
    (
        "messages",
        "teetap messages sv_chat",
        "Print the fields of a message",
    ),
    (
        "museum",
        "teetap museum pickup-size",
        "Look at a bug and the finding that names it",
    ),
    (
        "explain",
        "teetap explain 000100000a0b0c0d",
        "Read the bytes of a datagram",
    ),
    (
        "explain",
        "teetap explain run.pcapng#57",
        "Read a packet of a recording",
    ),
    (
        "check",
        "teetap check --explain rules.tap",
        "Check rules, and read them out in English",
    ),
    (
        "check",
        "teetap check rules.tap --against run.pcapng",
        "Try rules on a recording",
    ),
    ("fmt", "teetap fmt --write rules.tap", "Format a file of rules"),
    (
        "torture",
        "teetap torture localhost -- ./client {addr}",
        "Try each fault on each message of a login",
    ),
    (
        "shrink",
        "teetap shrink journal.jsonl -- ./test --faults-from {faults}",
        "Find the faults that matter",
    ),
    (
        "ctl",
        "teetap ctl teetap.sock rules add 'drop when sv_chat'",
        "Add a rule to a run",
    ),
    (
        "ctl",
        "teetap ctl teetap.sock inject 's2c sv_broadcast{message: \"hi\"}'",
        "Inject a message",
    ),
    (
        "config",
        "teetap config template > teetap.toml",
        "Begin a configuration file",
    ),
    (
        "config",
        "teetap config",
        "Print the options that hold, with their origins",
    ),
    (
        "completions",
        "teetap completions bash > /etc/bash_completion.d/teetap",
        "Install completions",
    ),
    (
        "man",
        "teetap man grep | man -l -",
        "Read the man page of a command",
    ),
];

/// Number of examples printed for an empty command line.
const FEW: usize = 2;

/// Returns the examples of a command for its help.
pub(super) fn for_command(name: &str) -> String {
    let mut text = String::from("Examples:\n");
    write(
        &mut text,
        EXAMPLES.iter().filter(|(command, ..)| *command == name),
    );
    text.trim_end().to_owned()
}

/// Returns the text for a command line without words: the usage, and a few examples.
pub(super) fn bare() -> String {
    let mut text =
        String::from("Usage: teetap [OPTIONS] HOST[:PORT]\n       teetap COMMAND ...\n\nExamples:\n");
    write(&mut text, EXAMPLES.iter().take(FEW));
    text.push_str("\nMore with teetap --help.");
    text
}

fn write<'e>(text: &mut String, examples: impl Iterator<Item = &'e (&'e str, &'e str, &'e str)>) {
    for (_, line, purpose) in examples {
        let _infallible = writeln!(text, "  {line}\n      {purpose}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{COMMANDS, definition};

    /// Splits a command line into words, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for char in line.chars() {
            let word = words.last_mut().unwrap();
            match quote {
                Some(end) if char == end => quote = None,
                None if char == '\'' => quote = Some(char),
                None if char == ' ' => words.push(String::new()),
                _ => word.push(char),
            }
        }
        words
            .into_iter()
            .take_while(|word| !["|", ">"].contains(&&**word))
            .collect()
    }

    #[test]
    fn every_command_has_examples_that_are_accepted() {
        for name in COMMANDS.into_iter().chain([""]) {
            assert!(EXAMPLES.iter().any(|(command, ..)| *command == name), "{name}");
        }
        for (name, line, purpose) in EXAMPLES {
            let words = words(line);
            assert!(name.is_empty() || words[1] == *name, "{line}");
            let parsed = definition().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            assert!(
                line.len() <= 90 && purpose.len() <= 72 && !purpose.ends_with('.'),
                "{line}"
            );
        }
    }
}

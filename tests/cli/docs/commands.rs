//! Command lines in `console` blocks: parsed, checked against the help, and run if that is harmless.

use std::collections::{BTreeMap, BTreeSet};

use teetap_rules::Program;
use teetap_wire::def::Registry;

use super::{
    check_filter,
    pages::{Block, Page, root},
};
use crate::teetap;

/// Commands that only read their inputs.
const READING: [&str; 10] = [
    "completions",
    "config",
    "diff",
    "explain",
    "grep",
    "judge",
    "man",
    "messages",
    "museum",
    "open",
];
/// File extensions; a command is run only if the files with these extensions that it names exist.
const ENDINGS: [&str; 7] = [".bin", ".json", ".jsonl", ".log", ".pcap", ".pcapng", ".tw"];

/// A command of a `console` block.
pub(super) struct Command<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
    output: Vec<&'a str>,
}

impl Command<'_> {
    /// Returns true if the page shows an error as its output.
    pub(super) fn is_refused(&self) -> bool {
        self.output.iter().any(|line| line.starts_with("error"))
    }
}

/// The long and short options of a command, each with true if it needs a value.
pub(super) type Options = BTreeMap<String, bool>;

/// Returns the commands of a block, each with the output shown.
pub(super) fn commands<'a>(page: &Page, block: &Block<'a>) -> Vec<Command<'a>> {
    let mut commands: Vec<Command<'a>> = Vec::new();
    for &(line, text) in &block.lines {
        if let Some(text) = text.strip_prefix("$ ") {
            let output = Vec::new();
            commands.push(Command { line, text, output });
        } else {
            let command = commands.last_mut();
            let command = command.unwrap_or_else(|| panic!("{}: output before a command", page.at(line)));
            command.output.push(text);
        }
    }
    commands
}

/// Returns the arguments of each teetap invocation in a command line.
pub(super) fn invocations(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let stages = words.split(|word| word == "|");
    stages
        .filter_map(|stage| {
            let end = stage.iter().position(|word| word == ">").unwrap_or(stage.len());
            // Environment variables precede the program.
            let start = stage
                .iter()
                .take_while(|word| word.starts_with("TEETAP_"))
                .count();
            let args = match &stage[start..end] {
                [program, args @ ..] if program == "teetap" => args,
                // With -p another binary is run.
                [cargo, run, args @ ..]
                    if cargo == "cargo" && run == "run" && !args.contains(&"-p".to_owned()) =>
                {
                    args.split(|word| word == "--").nth(1)?
                }
                _ => return None,
            };
            Some(args.to_vec())
        })
        .collect()
}

/// Splits a shell command into words; `|` and `>` are separate words.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if matches!(c, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    assert_eq!(quote, None, "{line}: a quote without an end");
    words.extend(word);
    words
}

/// Returns the names of the sub-commands, from the help.
pub(super) fn names() -> BTreeSet<String> {
    let help = help(None);
    let commands = help.split("\nCommands:\n").nth(1).unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

fn help(name: Option<&str>) -> String {
    let output = teetap().args(name).arg("--help").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the options of a command, from its help.
pub(super) fn options(name: Option<&str>) -> Options {
    let mut options = Options::new();
    for line in help(name).lines() {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        let names = words.iter().take_while(|word| word.starts_with('-'));
        let names: Vec<&str> = names.map(|name| name.trim_end_matches([',', '.'])).collect();
        let takes = words.get(names.len()).is_some_and(|word| word.starts_with('<'));
        options.extend(names.into_iter().map(|name| (name.to_owned(), takes)));
    }
    options
}

/// Checks the sub-command, the options and the filters of a command line.
pub(super) fn check_command(args: &[String], root_options: &Options, names: &BTreeSet<String>, at: &str) {
    let shown = args.join(" ");
    let name = positions(args, root_options)
        .into_iter()
        .next()
        .filter(|name| names.contains(*name));
    if let Some(name) = name {
        assert_eq!(args[0], name, "{at}: {shown}: options follow the command");
    }
    let own = name.map(|name| options(Some(name)));
    let options = own.as_ref().unwrap_or(root_options);
    let mut rest = args.iter();
    while let Some(arg) = rest.next().filter(|arg| *arg != "--") {
        if !arg.starts_with('-') || arg == "-" {
            continue;
        }
        let takes = options.get(arg).or_else(|| {
            // -vv means -v twice.
            let short = arg.get(..2).filter(|_| !arg.starts_with("--"))?;
            options.get(short).filter(|takes| !**takes)
        });
        let takes = takes.unwrap_or_else(|| panic!("{at}: {shown}: no option {arg}"));
        if *takes {
            let value = rest
                .next()
                .unwrap_or_else(|| panic!("{at}: {shown}: {arg} without a value"));
            match arg.as_str() {
                "-f" | "--filter" | "--until" => check_filter(value, Registry::builtin(), at),
                "-r" | "--rule" => {
                    let compiled = Program::compile(value, Registry::builtin());
                    assert!(compiled.is_ok(), "{at}: {value}: {compiled:?}");
                }
                _ => {}
            }
        }
    }
    let positions = positions(args, options);
    match name {
        Some("grep") => assert_eq!(positions.len(), 3, "{at}: {shown}: EXPR and FILE"),
        Some("explain" | "diff") => assert!(positions.len() >= 2, "{at}: {shown}"),
        Some("open" | "judge" | "scrub" | "replay") => assert_eq!(positions.len(), 2, "{at}: {shown}: FILE"),
        Some(_) => {}
        None => {
            let only_options = positions.is_empty() && args.iter().any(|arg| arg == "--help" || arg == "-V");
            assert!(positions.len() == 1 || only_options, "{at}: {shown}: one HOST");
        }
    }
}

/// Returns the arguments that are neither options nor their values.
pub(super) fn positions<'a>(args: &'a [String], options: &Options) -> Vec<&'a str> {
    let mut positions = Vec::new();
    let mut rest = args.iter().take_while(|arg| *arg != "--");
    while let Some(arg) = rest.next() {
        if !arg.starts_with('-') || arg == "-" {
            positions.push(arg.as_str());
        } else if options.get(arg) == Some(&true) {
            rest.next();
        }
    }
    positions
}

/// Returns true if the command can be run here: it reads no stdin, and only existing files.
pub(super) fn is_harmless(args: &[String], line: &str) -> bool {
    let reads = args.iter().any(|arg| READING.contains(&arg.as_str()));
    // `run.pcapng#57` is a packet of a file.
    let mut names = args
        .iter()
        .map(|arg| arg.split_once('#').map_or(&**arg, |(file, _)| file));
    let is_file = |arg: &&str| ENDINGS.iter().any(|ending| arg.ends_with(ending));
    let missing = names.any(|arg| is_file(&arg) && !root().join(arg).is_file());
    let stdin = args.iter().any(|arg| arg == "-");
    reads && !missing && !stdin && !line.contains(" | ")
}

/// Runs a command and checks that its output contains the lines shown on the page, in order.
pub(super) fn check_output(args: &[String], command: &Command<'_>, at: &str) {
    let output = teetap().args(args).current_dir(root()).output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8(all).unwrap();
    let differs = args[0] == "diff" && !all.starts_with("the same");
    let code = match command.is_refused() {
        true => 2,
        false => i32::from(differs),
    };
    assert_eq!(output.status.code(), Some(code), "{at}: {}: {all}", command.text);
    let mut lines = all.lines();
    for shown in command.output.iter().filter(|line| **line != "...") {
        assert!(
            lines.any(|line| line.trim_end() == shown.trim_end()),
            "{at}: {}: the output does not have, in this place, {shown:?}",
            command.text
        );
    }
}

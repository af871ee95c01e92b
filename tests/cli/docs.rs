//! README and docs/: links lead somewhere, the summary is complete, commands and filters are right.
//!
//! Law: a page that shows a command or a filter shows one that works. A `console` block is a list of commands, each after `$ `, with
//! the output below it; `...` stands for lines that are left out. A `filter` block has a filter on each line. Commands that need no
//! network and no file of the reader's are run; of the others the options and filters are checked.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use teetap_rules::Filter;
use teetap_wire::{Code, def::Registry};

use super::teetap;

/// Commands that only read what they are given.
const READING: [&str; 6] = ["completions", "explain", "grep", "man", "messages", "open"];
/// Endings of files; a command is only run if those that it names exist.
const ENDINGS: [&str; 6] = [".bin", ".jsonl", ".log", ".pcap", ".pcapng", ".tw"];

/// Folders of the repository.
const FOLDERS: [&str; 10] = [
    "benches/", "capture/", "docs/", "inspect/", "proxy/", "rules/", "src/", "tests/", "tui/", "wire/",
];

/// A Markdown file.
struct Page {
    /// Relative to the repository.
    path: PathBuf,
    text: String,
}

/// A fenced block: its kind, and its lines with their numbers.
struct Block<'a> {
    kind: &'a str,
    lines: Vec<(usize, &'a str)>,
}

/// A command of a `console` block.
struct Command<'a> {
    line: usize,
    text: &'a str,
    output: Vec<&'a str>,
}

impl Command<'_> {
    /// Returns true if the page shows an error as its output.
    fn is_refused(&self) -> bool {
        self.output.iter().any(|line| line.starts_with("error"))
    }
}

/// The long and short options of a command, and if they take a value.
type Options = BTreeMap<String, bool>;

#[test]
fn every_link_leads_to_a_file_or_heading() {
    let pages = pages();
    let mut links = 0;
    for page in &pages {
        let dir = page.path.parent().unwrap();
        for (line, target) in page.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let at = page.at(line);
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                page.path.clone()
            } else {
                dir.join(file)
            };
            assert!(root().join(&path).is_file(), "{at}: no file {target}");
            if !anchor.is_empty() {
                let text = fs::read_to_string(root().join(&path)).unwrap();
                let linked = Page { path, text };
                assert!(linked.anchors().contains(anchor), "{at}: no heading {target}");
            }
        }
    }
    assert!(links > 100, "{links} links");
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = Page::read(Path::new("docs/src/SUMMARY.md"));
    let listed: Vec<&str> = summary.links().into_iter().map(|(_, target)| target).collect();
    let set: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(set.len(), listed.len(), "a page is listed twice");
    let pages = pages();
    let there: BTreeSet<&str> = pages
        .iter()
        .filter_map(|page| page.path.strip_prefix("docs/src").ok()?.to_str())
        .filter(|path| *path != "SUMMARY.md")
        .collect();
    let differences: Vec<_> = set.symmetric_difference(&there).collect();
    assert!(
        differences.is_empty(),
        "in the summary or a page, but not both: {differences:?}"
    );
}

#[test]
fn every_note_code_has_a_page_and_every_page_a_code() {
    let codes: BTreeSet<String> = Code::ALL
        .iter()
        .map(|code| format!("{}.md", code.name()))
        .collect();
    let folder = fs::read_dir(root().join("docs/src/notes")).unwrap();
    let there: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "index.md")
        .collect();
    let differences: Vec<_> = codes.symmetric_difference(&there).collect();
    assert!(
        differences.is_empty(),
        "a code or a page, but not both: {differences:?}"
    );
    let index = Page::read(Path::new("docs/src/notes/index.md"));
    for code in Code::ALL {
        let page = Page::read(&Path::new("docs/src/notes").join(format!("{}.md", code.name())));
        let expected = format!("# {}\n\nSeverity: {}. ", code.name(), code.severity().name());
        assert!(
            page.text.starts_with(&expected),
            "{}: not {expected:?}",
            page.at(1)
        );
        let filter = format!("lint.{}", code.name().replace('-', "_"));
        assert!(page.text.contains(&filter), "{}: no {filter}", page.at(1));
        for part in [
            "What was seen",
            "What the receiver does",
            "Likely cause",
            "What to do",
        ] {
            let heading = format!("\n## {part}\n");
            assert!(page.text.contains(&heading), "{}: no part {part}", page.at(1));
        }
        assert!(
            index.text.contains(&format!("]({}.md)", code.name())),
            "{}",
            code.name()
        );
    }
}

#[test]
fn every_path_that_is_named_is_there() {
    let mut paths = 0;
    for page in pages() {
        for (line, text) in page.prose() {
            for path in text.split('`').skip(1).step_by(2) {
                let begins = FOLDERS.iter().any(|folder| path.starts_with(folder));
                if begins && !path.contains(' ') {
                    assert!(root().join(path).exists(), "{}: no {path}", page.at(line));
                    paths += 1;
                }
            }
        }
    }
    assert!(paths > 50, "{paths} paths");
}

#[test]
fn every_filter_is_right() {
    let registry = Registry::builtin();
    let mut filters = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.kind == "filter") {
            for (line, text) in &block.lines {
                check_filter(text, registry, &page.at(*line));
                filters += 1;
            }
        }
    }
    assert!(filters > 50, "{filters} filters");
}

#[test]
fn every_command_is_right() {
    let root_options = options(None);
    let names = names();
    let (mut checked, mut run) = (0, 0);
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.kind == "console") {
            for command in commands(&page, block) {
                let at = page.at(command.line);
                for args in invocations(command.text) {
                    check_command(&args, &root_options, &names, &at);
                    if args[0] == "grep" && !command.is_refused() {
                        let options = options(Some("grep"));
                        check_filter(positions(&args, &options)[1], Registry::builtin(), &at);
                    }
                    checked += 1;
                    if is_harmless(&args, command.text) {
                        check_output(&args, &command, &at);
                        run += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 40 && run > 15, "{checked} commands, {run} of them run");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown files at the top, in .github and in docs/.
fn pages() -> Vec<Page> {
    let mut pages = Vec::new();
    let top = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        ".github/ISSUE_TEMPLATE/bug.md",
    ];
    pages.extend(top.map(|path| Page::read(Path::new(path))));
    let mut folders = vec![PathBuf::from("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(Page::read(&path));
            }
        }
    }
    pages
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self {
            path: path.to_path_buf(),
            text,
        }
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// The lines outside fenced blocks.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let lines = self.text.lines().enumerate();
        lines
            .filter(|(_, line)| {
                let fence = line.trim_start().starts_with("```");
                fenced ^= fence;
                !fenced && !fence
            })
            .map(|(at, line)| (at + 1, line))
            .collect()
    }

    /// The targets of all links, with their lines.
    fn links(&self) -> Vec<(usize, &str)> {
        let mut links = Vec::new();
        for (at, line) in self.prose() {
            let targets = line.split("](").skip(1);
            links.extend(targets.filter_map(|rest| Some((at, rest.split_once(')')?.0))));
        }
        links
    }

    /// The anchors of the headings, as GitHub and mdBook make them.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self
            .prose()
            .into_iter()
            .filter_map(|(_, line)| line.strip_prefix('#'));
        headings
            .map(|heading| {
                let title = heading.trim_start_matches('#').trim().to_lowercase();
                let kept = title
                    .chars()
                    .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.map(|c| if c == ' ' { '-' } else { c }).collect()
            })
            .collect()
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut open = false;
        for (at, line) in self.text.lines().enumerate() {
            if let Some(kind) = line.trim_start().strip_prefix("```") {
                if !open {
                    blocks.push(Block {
                        kind,
                        lines: Vec::new(),
                    });
                }
                open = !open;
            } else if open && let Some(block) = blocks.last_mut() {
                block.lines.push((at + 1, line));
            }
        }
        assert!(!open, "{}: a block without an end", self.path.display());
        blocks
    }
}

fn check_filter(text: &str, registry: &Registry, at: &str) {
    if let Err(errors) = Filter::parse(text, registry) {
        let messages: Vec<_> = errors.iter().map(|error| &error.message).collect();
        panic!("{at}: {text}: {messages:?}");
    }
}

/// The commands of a block, with the output that is shown.
fn commands<'a>(page: &Page, block: &Block<'a>) -> Vec<Command<'a>> {
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

/// The arguments of each teetap in a command line.
fn invocations(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let stages = words.split(|word| word == "|");
    stages
        .filter_map(|stage| {
            let end = stage.iter().position(|word| word == ">").unwrap_or(stage.len());
            let args = match &stage[..end] {
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

/// The words of a shell command; `|` and `>` are words of their own.
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

/// The names of the sub-commands, from the help.
fn names() -> BTreeSet<String> {
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
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The options of a command, from its help.
fn options(name: Option<&str>) -> Options {
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
fn check_command(args: &[String], root_options: &Options, names: &BTreeSet<String>, at: &str) {
    let shown = args.join(" ");
    let name = positions(args, root_options)
        .into_iter()
        .next()
        .filter(|name| names.contains(*name));
    let own = name.map(|name| options(Some(name)));
    let options = own.as_ref().unwrap_or(root_options);
    let mut rest = args.iter();
    while let Some(arg) = rest.next().filter(|arg| *arg != "--") {
        if !arg.starts_with('-') || arg == "-" {
            continue;
        }
        let takes = options.get(arg).or_else(|| {
            // -vv is -v twice.
            let short = arg.get(..2).filter(|_| !arg.starts_with("--"))?;
            options.get(short).filter(|takes| !**takes)
        });
        let takes = takes.unwrap_or_else(|| panic!("{at}: {shown}: no option {arg}"));
        if *takes {
            let value = rest
                .next()
                .unwrap_or_else(|| panic!("{at}: {shown}: {arg} without a value"));
            if matches!(arg.as_str(), "-f" | "--filter" | "--until") {
                check_filter(value, Registry::builtin(), at);
            }
        }
    }
    let positions = positions(args, options);
    match name {
        Some("grep") => assert_eq!(positions.len(), 3, "{at}: {shown}: EXPR and FILE"),
        Some("open" | "scrub" | "replay") => assert_eq!(positions.len(), 2, "{at}: {shown}: FILE"),
        Some("explain") => assert!(positions.len() >= 2, "{at}: {shown}"),
        Some(_) => {}
        None => {
            let only_options = positions.is_empty() && args.iter().any(|arg| arg == "--help" || arg == "-V");
            assert!(positions.len() == 1 || only_options, "{at}: {shown}: one HOST");
        }
    }
}

/// The arguments that are not options or their values.
fn positions<'a>(args: &'a [String], options: &Options) -> Vec<&'a str> {
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

/// Returns true if the command can be run here: it reads no stdin, and files that exist.
fn is_harmless(args: &[String], line: &str) -> bool {
    let reads = args.iter().any(|arg| READING.contains(&arg.as_str()));
    let is_file = |arg: &&String| ENDINGS.iter().any(|ending| arg.ends_with(ending));
    let missing = args.iter().filter(is_file).any(|arg| !root().join(arg).is_file());
    let stdin = args.iter().any(|arg| arg == "-");
    reads && !missing && !stdin && !line.contains(" | ")
}

/// Runs a command and looks for the output that the page shows, in its order.
fn check_output(args: &[String], command: &Command<'_>, at: &str) {
    let output = teetap().args(args).current_dir(root()).output().unwrap();
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8(all).unwrap();
    let code = if command.is_refused() { 2 } else { 0 };
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

#[test]
fn the_parts_of_a_command_are_found() {
    let found = invocations("ssh HOST tcpdump -w - udp | teetap open -f 'a b' - > out");
    assert_eq!(found, [["open", "-f", "a b", "-"]]);
    let found = invocations("cargo run --release --locked -- demo");
    assert_eq!(found, [["demo"]]);
    assert!(invocations("cargo run -p teetap-bench -- grep").is_empty());
}

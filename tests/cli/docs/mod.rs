//! README and docs/: every link has a target, the summary is complete, and commands, filters and rules are right.
//!
//! Law: commands and filters shown on a page work. A `console` block is a list of commands, each after `$ `, followed
//! by its output; `...` replaces omitted lines. Each line of a `filter` block is a filter, and a `tap` block contains
//! rules. Commands that need no network and no file of the reader are run; for other commands, the options and
//! filters are checked.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod commands;
mod pages;

use std::{collections::BTreeSet, fs, path::Path};

use teetap_rules::{Filter, Program};
use teetap_wire::{Code, def::Registry};

use commands::{check_command, check_output, commands, invocations, is_harmless, names, options, positions};
use pages::{Page, pages, root};

/// Folders of the repository.
const FOLDERS: [&str; 15] = [
    "benches/", "capture/", "docs/", "engine/", "harness/", "inspect/", "kits/", "peer/", "proxy/",
    "release/", "rules/", "src/", "tests/", "tui/", "wire/",
];

#[test]
fn every_link_leads_to_a_file_or_heading() {
    let pages = pages();
    let book = root().join("docs/src").canonicalize().unwrap();
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
            // The book contains only files in its own folder.
            let in_book = |path: &Path| root().join(path).canonicalize().unwrap().starts_with(&book);
            assert!(
                !in_book(&page.path) || in_book(&path),
                "{at}: {target} leads out of the book"
            );
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
fn every_block_of_rules_is_right() {
    let mut blocks = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.kind == "tap") {
            let lines: Vec<&str> = block.lines.iter().map(|(_, line)| *line).collect();
            let at = page.at(block.lines[0].0);
            if let Err(errors) = Program::compile(&lines.join("\n"), Registry::builtin()) {
                panic!("{at}: {errors:?}");
            }
            blocks += 1;
        }
    }
    assert!(blocks > 1, "{blocks} blocks");
}

/// Tests of the session core run the samples.
#[test]
fn the_cookbook_of_rules_has_every_sample_and_nothing_else() {
    let page = pages()
        .into_iter()
        .find(|page| page.path.ends_with("rules-cookbook.md"))
        .unwrap();
    let blocks = page.blocks();
    let shown: BTreeSet<String> = blocks
        .iter()
        .filter(|block| block.kind == "tap")
        .map(|block| block.lines.iter().map(|(_, line)| format!("{line}\n")).collect())
        .collect();
    let mut samples = BTreeSet::new();
    for file in fs::read_dir(root().join("rules/examples")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let rules: String = lines.map(|line| format!("{line}\n")).collect();
        samples.insert(rules.trim_start().to_owned());
    }
    assert_eq!(shown, samples);
    assert!(samples.len() > 15, "{} samples", samples.len());
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

fn check_filter(text: &str, registry: &Registry, at: &str) {
    if let Err(errors) = Filter::parse(text, registry) {
        let messages: Vec<_> = errors.iter().map(|error| &error.message).collect();
        panic!("{at}: {text}: {messages:?}");
    }
}

#[test]
fn the_parts_of_a_command_are_found() {
    let found = invocations("ssh HOST tcpdump -w - udp | teetap open -f 'a b' - > out");
    assert_eq!(found, [["open", "-f", "a b", "-"]]);
    let found = invocations("cargo run --release --locked -- demo");
    assert_eq!(found, [["demo"]]);
    let none: [[&str; 0]; 0] = [];
    assert_eq!(invocations("cargo run -p teetap-bench -- grep"), none);
}

//! The English of docs, comments and messages: no opening and no word that CONTRIBUTING.md bans.
//!
//! Code, identifiers and text in backquotes are not looked at, nor are string literals in tests.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// First words that no doc begins with: a doc begins with a verb in the third person, or a noun with its article.
const OPENINGS: &[&str] = &["What", "Whether", "Who", "Whose", "Whoever", "Its", "It", "Those"];

/// Words and phrases to avoid, and what to write instead. `*` stands for any word that is not in [`AFTER_NO`].
const WORDS: &[(&str, &str)] = &[
    ("told", "emitted, reported, given"),
    ("tells", "reports, shows, gives"),
    ("heard", "received"),
    ("asked", "requested"),
    ("said", "sent, reported"),
    ("whoever", "the peer, the client, the user"),
    ("somebody", "the peer, the client, the user"),
    ("someone", "the peer, the client, the user"),
    ("nobody", "no peer, no client, no user"),
    ("anybody", "any peer, any program, any user"),
    ("anyone", "any peer, any program, any user"),
    ("of ours", "the proxy's own"),
    ("of teetap's", "written by teetap"),
    ("gone on with", "continued, appended to"),
    ("goes on with", "continues, appends to"),
    ("without a word", "silently"),
    ("last words", "the last datagrams"),
    ("is no *", "is not a"),
    ("are no *", "are not"),
    ("knock", "admit"),
    ("teller", "describe"),
    ("hush", "clear"),
    ("remark", "notice"),
    ("remarks", "notices"),
];

/// Words after which "is no" is plain English.
const AFTER_NO: &[&str] = &[
    "longer", "more", "less", "later", "larger", "longer,", "wider", "newer", "older",
];

/// A line of English in a file.
struct Text {
    line: usize,
    /// The first line of a doc or of a page.
    opens: bool,
    text: String,
}

/// A finding: where, and why.
struct Finding {
    file: PathBuf,
    line: usize,
    reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.reason)
    }
}

#[test]
fn docs_comments_and_messages_are_in_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let findings = findings(root);
    let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(list.is_empty(), "{} findings:\n{}", list.len(), list.join("\n"));
}

#[test]
fn the_guide_lists_every_banned_opening_and_word() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md")).unwrap();
    let block = guide
        .split("```text\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let listed: Vec<&str> = block
        .unwrap()
        .split(['\n'])
        .flat_map(|line| line.split("  "))
        .collect();
    let banned = OPENINGS
        .iter()
        .copied()
        .chain(WORDS.iter().map(|(phrase, _)| *phrase));
    for phrase in banned {
        assert!(listed.contains(&phrase), "{phrase}");
    }
    let known = OPENINGS.len() + WORDS.len();
    assert_eq!(listed.iter().filter(|phrase| !phrase.is_empty()).count(), known);
}

#[test]
fn the_check_finds_what_it_looks_for() {
    let rust =
        "/// What it is.\nfn x() -> &'static str { \"it was told\" }\n// `told` is code\nlet told = 'a';\n";
    let found: Vec<_> = rust_texts(rust, true).iter().flat_map(reasons).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let tests = rust_texts("#[cfg(test)]\nmod tests { const A: &str = \"told\"; }", true);
    assert!(tests.is_empty());
    let raw = rust_texts("const A: &str = r#\"a \"heard\" {told} b\"#; // fine\n", true);
    assert_eq!(raw.iter().flat_map(reasons).count(), 1);
    let page = "# Title\n\nWhether it is. `told`\n```console\nwhat was told\n```\nThere is no file. That is no file.\n";
    let found: Vec<_> = page_texts(page).iter().flat_map(reasons).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let definitions = definition_texts("# Who is there.\n# It was said.\nsystem 1 told c2s  # heard\n");
    assert_eq!(definitions.iter().flat_map(reasons).count(), 3);
}

/// All findings under `root`, in the order of the files.
fn findings(root: &Path) -> Vec<Finding> {
    let mut files = Vec::new();
    collect(root, &mut files);
    files.sort();
    let mut findings = Vec::new();
    for path in files {
        let source = fs::read_to_string(&path).unwrap();
        let file = path.strip_prefix(root).unwrap().to_path_buf();
        // This file quotes what it looks for, and CONTRIBUTING.md the examples.
        if file.ends_with("tests/cli/style.rs") {
            continue;
        }
        let texts = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => rust_texts(&source, !is_test(&file)),
            Some("md") => page_texts(&source),
            _ => definition_texts(&source),
        };
        for text in &texts {
            findings.extend(reasons(text).into_iter().map(|reason| Finding {
                file: file.clone(),
                line: text.line,
                reason,
            }));
        }
    }
    findings
}

/// Adds the files to look at: Rust sources, pages, definitions.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let hidden = name.starts_with('.') && name != ".github";
        if hidden
            || matches!(
                name,
                "target" | "node_modules" | "python" | "corpus" | "captures" | "book"
            )
        {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("rs" | "md" | "tw")
        ) {
            files.push(path);
        }
    }
}

/// Returns true if strings of the file are data of tests.
fn is_test(file: &Path) -> bool {
    let text = file.to_string_lossy();
    text.starts_with("tests/")
        || text.contains("/tests/")
        || text.ends_with("tests.rs")
        || text.starts_with("benches/")
}

/// The reasons why a line is refused.
fn reasons(text: &Text) -> Vec<String> {
    let words = words(&text.text);
    let mut reasons = Vec::new();
    if text.opens
        && let Some(first) = words.first()
        && OPENINGS.contains(&first.as_str())
    {
        reasons.push(format!("a doc does not begin with \"{first}\""));
    }
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    for (phrase, instead) in WORDS {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for at in 0..lower.len() {
            let matches = parts
                .iter()
                .enumerate()
                .all(|(offset, part)| match lower.get(at + offset) {
                    Some(word) if *part == "*" => !AFTER_NO.contains(&word.as_str()),
                    Some(word) => word == part,
                    None => false,
                });
            // A sound is heard.
            let matches = matches && !(*phrase == "heard" && lower.iter().any(|word| word == "sound"));
            // "There is no X" is plain English.
            let there = at > 0 && matches!(lower[at - 1].as_str(), "there" | "here" | "where");
            if matches && !(parts.contains(&"*") && there) {
                reasons.push(format!("\"{phrase}\": write {instead}"));
            }
        }
    }
    reasons
}

/// The words of a text, without what stands in backquotes.
fn words(text: &str) -> Vec<String> {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" x ");
    prose
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '\'' || letter == '_'))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The prose of a page: no fenced code, no indented code, no link targets.
fn page_texts(source: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut fence: Option<&str> = None;
    let mut first = true;
    for (at, line) in source.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(open) = fence {
            if trimmed.starts_with(open) {
                fence = None;
            }
            continue;
        }
        if trimmed.starts_with("```") {
            fence = Some("```");
            continue;
        }
        if trimmed.is_empty() || line.starts_with("    ") {
            continue;
        }
        let opens = first && !trimmed.starts_with(['#', '|', '<', '[', '!', '-', '>']);
        first &= !opens;
        texts.push(Text {
            line: at + 1,
            opens,
            text: without_targets(trimmed),
        });
    }
    texts
}

/// A line without the targets of its links.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(' ');
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text
}

/// A format string without the names of its values.
fn without_values(text: &str) -> String {
    let parts = text.split('{');
    parts
        .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
        .collect()
}

/// The comments of a definition file; those above a definition are its doc.
fn definition_texts(source: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut inside = false;
    for (at, line) in source.lines().enumerate() {
        let Some((before, comment)) = line.split_once('#') else {
            inside = false;
            continue;
        };
        let whole = before.trim().is_empty();
        texts.push(Text {
            line: at + 1,
            opens: !(whole && inside),
            text: comment.trim().to_owned(),
        });
        inside = whole;
    }
    texts
}

/// The comments of a Rust source and, with `strings`, its string literals outside tests.
fn rust_texts(source: &str, strings: bool) -> Vec<Text> {
    let mut lexer = Lexer {
        rest: source,
        line: 1,
        strings,
        after_doc: false,
        texts: Vec::new(),
    };
    while lexer.step() {}
    lexer.texts
}

/// The part of Rust's tokens that comments and strings need.
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    strings: bool,
    /// The line before was a doc.
    after_doc: bool,
    texts: Vec<Text>,
}

impl Lexer<'_> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if self.rest.starts_with("//") {
            self.comment();
        } else if self.rest.starts_with("#[cfg(test)]") {
            self.strings = false;
            self.take(1);
        } else if first == '"' {
            self.string(1, "\"", true);
        } else if let Some(hashes) = self.raw_string() {
            let end = format!("\"{}", "#".repeat(hashes));
            self.string(hashes + 2, &end, false);
        } else if first == '\'' {
            self.char();
        } else {
            self.after_doc &= first.is_whitespace();
            let word = self
                .rest
                .find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            self.take(word.filter(|len| *len > 0).unwrap_or(first.len_utf8()));
        }
        true
    }

    fn take(&mut self, len: usize) {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.line += taken.matches('\n').count();
        self.rest = rest;
    }

    fn comment(&mut self) {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let comment = &self.rest[..end];
        let doc = comment
            .strip_prefix("///")
            .or_else(|| comment.strip_prefix("//!"));
        let text = doc.unwrap_or_else(|| comment.trim_start_matches('/')).trim();
        self.texts.push(Text {
            line: self.line,
            opens: doc.is_some() && !self.after_doc,
            text: text.to_owned(),
        });
        self.after_doc = doc.is_some();
        self.take(end);
    }

    /// The hashes of a raw string that begins here.
    fn raw_string(&self) -> Option<usize> {
        let rest = self.rest.strip_prefix('r')?;
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        rest[hashes..].starts_with('"').then_some(hashes)
    }

    fn string(&mut self, open: usize, end: &str, escapes: bool) {
        let body = &self.rest[open..];
        let mut len = 0;
        while !body[len..].is_empty() && !body[len..].starts_with(end) {
            let letter = body[len..].chars().next().map_or(1, char::len_utf8);
            len += letter;
            if escapes && body.as_bytes()[len - 1] == b'\\' {
                len += body[len..].chars().next().map_or(0, char::len_utf8);
            }
        }
        // A string without a space is a name, not a text.
        if self.strings && body[..len].contains(' ') {
            for (offset, text) in body[..len].lines().enumerate() {
                self.texts.push(Text {
                    line: self.line + offset,
                    opens: false,
                    text: without_values(&text.replace("\\n", " ")),
                });
            }
        }
        self.after_doc = false;
        self.take(open + len + end.len());
    }

    /// A character literal, or the quote of a lifetime.
    fn char(&mut self) {
        let body = &self.rest[1..];
        let len = match body.strip_prefix('\\') {
            Some(escaped) => escaped
                .get(1..)
                .and_then(|rest| rest.find('\''))
                .map(|end| end + 2),
            None => {
                let letter = body.chars().next().map_or(0, char::len_utf8);
                body[letter..].starts_with('\'').then_some(letter)
            }
        };
        self.take(len.map_or(1, |len| len + 2));
    }
}

//! Markdown files: their links, headings and fenced blocks.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A Markdown file.
pub(super) struct Page {
    /// The path relative to the repository.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A fenced block: its kind, and its lines with their numbers.
pub(super) struct Block<'a> {
    pub(super) kind: &'a str,
    pub(super) lines: Vec<(usize, &'a str)>,
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Markdown files at the top level, in .github and in docs/.
pub(super) fn pages() -> Vec<Page> {
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
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(root().join(path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self {
            path: path.to_path_buf(),
            text,
        }
    }

    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    /// Returns the lines outside fenced blocks, with their numbers.
    pub(super) fn prose(&self) -> Vec<(usize, &str)> {
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

    /// Returns the targets of all links, with their line numbers.
    pub(super) fn links(&self) -> Vec<(usize, &str)> {
        let mut links = Vec::new();
        for (at, line) in self.prose() {
            let targets = line.split("](").skip(1);
            links.extend(targets.filter_map(|rest| Some((at, rest.split_once(')')?.0))));
        }
        links
    }

    /// Returns the anchors of the headings, as GitHub and mdBook generate them.
    pub(super) fn anchors(&self) -> BTreeSet<String> {
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

    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
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

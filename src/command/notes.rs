//! The pages of the book about note codes, as plain text.

use std::fmt::Write as _;

use include_dir::{Dir, include_dir};

/// Pages of all codes, by name.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/docs/src/notes");

/// Returns the page of a code as plain text; `None` if the name is not a code.
pub(super) fn page(name: &str) -> Option<String> {
    let page = PAGES.get_file(format!("{name}.md"))?;
    Some(plain(page.contents_utf8()?))
}

/// Returns a page without its Markdown markup.
pub(super) fn plain(page: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let line = match line.trim_start_matches('#').strip_prefix(' ') {
            Some(heading) if line.starts_with('#') => heading,
            _ => line,
        };
        let indent = if is_code { "    " } else { "" };
        let text = if is_code {
            line.to_owned()
        } else {
            without_links(line)
        };
        let _infallible = writeln!(out, "{indent}{text}");
    }
    out
}

/// Returns a line with each link replaced by its text.
fn without_links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after
            .split_once("](")
            .and_then(|(text, after)| Some((text, after.split_once(')')?.1)));
        let Some((text, after)) = link else {
            out.push_str(before);
            out.push('[');
            rest = after;
            continue;
        };
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use teetap_wire::Code;

    use super::*;

    #[test]
    fn every_code_has_its_page() {
        for code in Code::ALL {
            let page = page(code.name()).unwrap();
            assert!(
                page.starts_with(&format!("{}\n\nSeverity: ", code.name())),
                "{page}"
            );
            for mark in ["```", "](", "\n#"] {
                assert!(!page.contains(mark), "{mark} in {page}");
            }
        }
        let pages = PAGES.files().filter(|file| file.path() != Path::new("index.md"));
        assert_eq!(pages.count(), Code::ALL.len(), "pages of no code");
    }

    #[test]
    fn links_are_their_texts() {
        assert_eq!(
            without_links("see [`a`](../b.md) and [c](d), x[1]"),
            "see `a` and c, x[1]"
        );
    }
}

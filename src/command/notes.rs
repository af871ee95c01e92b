//! The pages of the book about note codes, as plain text.

use std::fmt::Write as _;

macro_rules! pages {
    ($($code:literal)*) => {
        /// The page of each code.
        const PAGES: &[(&str, &str)] = &[
            $(($code, include_str!(concat!("../../docs/src/notes/", $code, ".md"))),)*
        ];
    };
}

pages! {
    "too-short"
    "bad-huffman"
    "not-connected"
    "overlong-int"
    "int-padding"
    "unknown-flags"
    "oversized"
    "payload-oversized"
    "huffman-surplus"
    "control-compressed"
    "control-with-chunks"
    "control-empty"
    "unknown-control"
    "empty-without-resend"
    "chunk-truncated"
    "chunk-count-too-high"
    "chunk-size-cut"
    "chunk-count-cut"
    "chunk-of-other-version"
    "trailing-bytes"
    "missing-token"
    "wrong-token"
    "token-reversed"
    "ack-ahead"
    "ack-behind"
    "ack-gap"
    "ack-stuck"
    "not-inflated"
    "overtaken"
    "seq-ahead"
    "seq-again"
    "seq-behind"
    "seq-gap"
    "resend-request"
    "resend-unmarked"
    "resend-changed"
    "resend-storm"
    "resend-needless"
    "resend-missing"
    "resend-acked"
    "amplified"
    "other-session"
    "late-reply"
    "map-again"
    "keepalive-late"
    "cut-by-capture"
    "unknown-message"
    "wrong-id"
    "fields-of-other-version"
    "wrong-direction"
    "not-vital"
    "unexpected-vital"
    "missing-field"
    "surplus-bytes"
    "unterminated-text"
    "invalid-utf8"
    "text-cleaned"
    "text-too-long"
    "out-of-range"
    "unknown-value"
    "unknown-bits"
    "bad-decimal"
    "unexpected-bytes"
    "object-short"
    "object-long"
    "too-many-fields"
    "snap-ignored"
    "snap-part-again"
    "snap-part-short"
    "snap-parts-differ"
    "snap-parts-missing"
    "snap-late"
    "snap-again"
    "snap-no-base"
    "snap-empty-unacked"
    "snap-unacked"
    "input-late"
    "snap-bad-crc"
    "snap-truncated"
    "snap-too-large"
    "snap-bad-item"
    "snap-item-again"
    "snap-not-there"
    "snap-item-resized"
    "snap-id-reused"
    "snap-undeclared"
    "snap-near-limit"
    "unknown-object"
}

/// Returns the page of a code as plain text; `None` if the name is not a code.
pub(super) fn page(name: &str) -> Option<String> {
    let (_, page) = PAGES.iter().find(|(code, _)| *code == name)?;
    Some(plain(page))
}

/// Returns a page without the marks of Markdown.
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

/// Returns a line with the texts of its links alone.
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
        assert_eq!(PAGES.len(), Code::ALL.len());
    }

    #[test]
    fn links_are_their_texts() {
        assert_eq!(
            without_links("see [`a`](../b.md) and [c](d), x[1]"),
            "see `a` and c, x[1]"
        );
    }
}

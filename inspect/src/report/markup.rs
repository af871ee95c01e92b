//! Puts texts into Markdown and into Mermaid diagrams so that they stay texts.
//!
//! Law: whatever a text contains, it creates no link, image, mention, issue number, HTML element, table cell or line.
//! GitHub looks for mentions and bare addresses in the rendered text, except in code, so escapes with a backslash or an
//! entity are not enough: every text from outside stands in a code span or in a fenced block.

use std::fmt::Write as _;

use teetap_wire::printable;

/// Maximum length of a text in a code span, in characters.
const MAX_CODE: usize = 300;

/// Returns a code span, which may stand in a table cell.
#[must_use]
pub fn code(text: &str) -> String {
    // Lines become words, other control characters are replaced.
    let clean = printable(text.replace(['\n', '\r', '\t'], " ").as_bytes());
    let mut span = String::from("`");
    let mut chars = clean.trim().chars();
    for c in chars.by_ref().take(MAX_CODE) {
        match c {
            // A vertical bar ends a cell even in a code span, and a grave accent ends the span.
            '|' | '`' => {
                let _never_fails = write!(span, "\\u{{{:x}}}", u32::from(c));
            }
            c => span.push(c),
        }
    }
    if chars.next().is_some() {
        span.push('…');
    }
    if span.len() == 1 {
        return "-".to_owned();
    }
    // A backslash before the end would escape the end for the parser of table cells.
    if span.ends_with('\\') {
        span.push(' ');
    }
    span + "`"
}

/// Returns a text of teetap itself for a line of Markdown or a table cell. Texts from outside need [`code`].
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\`*_{}[]<>#|~!&$".contains(c) {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// Returns a fenced block with a text of several lines. `language` is the word behind the fence, or empty.
#[must_use]
pub fn block(language: &str, text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let mut out = format!("{fence}{language}\n");
    for line in text.lines() {
        out.push_str(&printable(line.as_bytes()));
        out.push('\n');
    }
    out + &fence + "\n"
}

/// Returns a text for a Mermaid sequence diagram. Only letters, digits and harmless punctuation stay, since Mermaid
/// reads `;`, `%%`, `#` and brackets inside of texts, too.
#[must_use]
pub fn mermaid(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || " ._-+(),/=*".contains(c);
    let mut out: String = text
        .chars()
        .take(MAX_CODE)
        .map(|c| if is_safe(c) { c } else { '?' })
        .collect();
    if out.trim().is_empty() {
        "?".clone_into(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_holds_any_text() {
        for (text, span) in [
            ("sv_chat", "`sv_chat`"),
            ("a|b`c\\|d", "`a\\u{7c}b\\u{60}c\\\\u{7c}d`"),
            ("@user #123 </details>", "`@user #123 </details>`"),
            ("", "-"),
            ("  \t ", "-"),
            ("end\\", "`end\\ `"),
            ("![x](http://y)", "`![x](http://y)`"),
        ] {
            assert_eq!(code(text), span, "{text:?}");
        }
        assert!(!code("a\nb\r\n\u{202e}c\u{1b}").contains(['\n', '\r', '\u{202e}', '\u{1b}']));
        assert_eq!(code(&"x".repeat(500)).chars().count(), MAX_CODE + 3);
    }

    #[test]
    fn the_fence_of_a_block_is_longer_than_any_in_its_text() {
        assert_eq!(block("", "a\nb"), "```\na\nb\n```\n");
        assert_eq!(block("text", "````\n@user"), "`````text\n````\n@user\n`````\n");
        assert_eq!(block("", ""), "```\n```\n");
        assert!(!block("", "\u{202e}\u{1b}[2J").contains(['\u{202e}', '\u{1b}']));
    }

    #[test]
    fn a_label_of_a_diagram_has_no_syntax() {
        for (text, label) in [
            ("sv_chat seq 5 (resend)", "sv_chat seq 5 (resend)"),
            ("a;b %%{init} #35;", "a?b ???init? ?35?"),
            ("end\nclient->>server: x", "end?client-??server? x"),
            (" ", "?"),
        ] {
            assert_eq!(mermaid(text), label, "{text:?}");
        }
    }
}

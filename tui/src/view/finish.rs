//! The last step before a frame is written.
//!
//! Law: no control character, none that changes the direction of text and none that is invisible reaches the terminal,
//! whatever was drawn. With `ascii` no byte above 0x7e does.

use ratatui::buffer::Buffer;
use teetap_wire::printable;

/// Replaces characters that the terminal must not get.
pub fn finish(buffer: &mut Buffer, ascii: bool) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        if symbol.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            continue;
        }
        let mut safe = printable(symbol.as_bytes());
        // An escape has no room in a cell.
        if safe.chars().count() > symbol.chars().count() {
            safe = char::REPLACEMENT_CHARACTER.into();
        }
        if ascii {
            let plain = safe.chars().next().map_or(" ", plain);
            cell.set_symbol(plain);
        } else if safe != symbol {
            cell.set_symbol(&safe);
        }
    }
}

/// Returns a character of ASCII that looks alike.
fn plain(char: char) -> &'static str {
    match char {
        '→' | '▸' | '›' | '▶' => ">",
        '←' | '◂' | '‹' => "<",
        '↑' | '▴' => "^",
        '↓' | '▾' | '▼' => "v",
        '─' | '━' | '–' | '—' => "-",
        '│' | '┃' | '┆' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => "+",
        '…' | '±' => "~",
        '•' | '●' | '◆' | '·' => "*",
        '⠁'..='⣿' => ".",
        '×' => "x",
        '█' | '▓' | '▇' => "#",
        '░' | '▒' => ":",
        '▁' | '▂' => "_",
        '▃' | '▄' => "=",
        '▅' | '▆' => "%",
        char if char.is_ascii() && !char.is_control() => " ",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    fn drawn(text: &[&str], ascii: bool) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        for (cell, symbol) in buffer.content.iter_mut().zip(text) {
            cell.set_symbol(symbol);
        }
        finish(&mut buffer, ascii);
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn nothing_that_moves_the_cursor_or_turns_the_text_gets_out() {
        let hostile = [
            "a\u{1b}",
            "\u{7}",
            "\u{9b}",
            "\u{202e}",
            "\u{2066}",
            "\u{85}",
            "\n",
            "b\u{200d}",
            "é",
            "名",
        ];
        let shown = drawn(&hostile, false);
        assert_eq!(
            shown.trim_end(),
            "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}é名"
        );
    }

    #[test]
    fn ascii_is_ascii() {
        let shown = drawn(&["→", "─", "│", "…", "名", "é", "█", "🙂", "a"], true);
        assert_eq!(shown.trim_end(), ">-|~??#?a");
        assert!(shown.is_ascii());
    }
}

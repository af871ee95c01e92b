//! The last step before a frame is drawn.
//!
//! Law: whatever was drawn, the terminal receives no control characters, no characters that change the direction of
//! text, no invisible characters, and none whose width terminals disagree about. With `ascii` it receives no byte above
//! 0x7e.

use ratatui::{buffer::Buffer, text::Span};
use teetap_wire::printable;

/// Replaces characters that are unsafe for the terminal.
pub(crate) fn finish(buffer: &mut Buffer, ascii: bool) {
    let mut second = None;
    for cell in &mut buffer.content {
        if let Some(char) = second.take().filter(|_| cell.symbol() == " ") {
            cell.set_char(char);
        }
        let symbol = cell.symbol();
        if symbol.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            continue;
        }
        let mut safe = printable(symbol.as_bytes());
        // An escape does not fit in a cell.
        if safe.chars().count() > symbol.chars().count() {
            safe = char::REPLACEMENT_CHARACTER.into();
        }
        if let Some((char, next)) = steady(&safe) {
            safe = char.into();
            second = next;
        }
        if ascii {
            let plain = safe.chars().next().map_or(" ", plain);
            cell.set_symbol(plain);
        } else if safe != symbol {
            cell.set_symbol(&safe);
        }
    }
}

/// Returns a replacement for a glyph of several characters, which some terminals draw one by one: characters for its
/// cell and the next one. On those terminals the rest of the row would move, and parts of it would stay on the screen.
/// Returns `None` for other glyphs.
///
/// Joined or coloured emoji and keycaps are replaced by their first character, flags by their two letters.
fn steady(symbol: &str) -> Option<(char, Option<char>)> {
    let mut letters = symbol.chars().filter_map(flag_letter);
    if let Some(letter) = letters.next() {
        return Some((letter, letters.next()));
    }
    let width = |text: &str| Span::raw(text).width();
    let parts: usize = symbol
        .chars()
        .map(|char| width(char.encode_utf8(&mut [0; 4])))
        .sum();
    let first = symbol.chars().next().filter(|_| parts != width(symbol))?;
    Some((first, None))
}

/// Returns the letter of a regional indicator, two of which form a flag; `None` for other characters.
fn flag_letter(char: char) -> Option<char> {
    let at = u32::from(char).checked_sub(0x1f1e6)?;
    ('A'..='Z').nth(usize::try_from(at).ok()?)
}

/// Returns a similar ASCII character.
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
    fn glyphs_whose_width_terminals_disagree_about_are_drawn_as_one_character_in_each_cell() {
        for (symbol, shown) in [
            ("\u{1f1e9}\u{1f1ea}", "DE"),
            ("\u{1f1e9}", "D"),
            ("\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}", "\u{1f469}"),
            ("\u{1f44d}\u{1f3fd}", "\u{1f44d}"),
            ("\u{2764}\u{fe0f}", "\u{2764}"),
            ("1\u{fe0f}\u{20e3}", "1"),
        ] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
            buffer.set_string(0, 0, symbol, ratatui::style::Style::new());
            finish(&mut buffer, false);
            let cells: Vec<&str> = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
            assert!(
                cells.iter().all(|cell| cell.chars().count() == 1),
                "{symbol}: {cells:?}"
            );
            assert_eq!(cells.concat().trim_end(), shown, "{symbol}");
        }
        for symbol in ["e\u{301}", "\u{1f600}", "名", "é", "Z\u{351}\u{36b}\u{343}", "…"] {
            assert_eq!(steady(symbol), None, "{symbol}");
            assert_eq!(drawn(&[symbol], false).trim_end(), symbol);
        }
    }

    #[test]
    fn ascii_is_ascii() {
        let shown = drawn(&["→", "─", "│", "…", "名", "é", "█", "🙂", "a"], true);
        assert_eq!(shown.trim_end(), ">-|~??#?a");
        assert!(shown.is_ascii());
    }
}

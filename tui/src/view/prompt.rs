//! A prompt on the last line, with its candidates above.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Style,
    text::{Line, Span},
};

use super::{hints::short, popup, put};
use crate::app::{
    App,
    prompt::{Prompt, Purpose},
};

/// Maximum number of candidates that are shown.
const SHOWN: usize = 8;

/// Draws a prompt. Returns the position of the cursor.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App, prompt: &Prompt) -> Position {
    let lead = match &prompt.purpose {
        Purpose::Command => ":",
        Purpose::Filter => "/",
        Purpose::Search => "search ",
        Purpose::Rule(_) => "rule ",
        Purpose::Value { slider, now, .. } => {
            let (_, _, unit) = slider.scale();
            &format!("{} instead of {now} {unit}: ", slider.word())
        }
        Purpose::Inject => "inject ",
        Purpose::Save(_) => "save to ",
    };
    let line = Rect {
        y: area.bottom().saturating_sub(1),
        height: area.height.min(1),
        ..area
    };
    buffer.set_string(line.x, line.y, " ".repeat(line.width.into()), Style::reset());
    let (before, after) = prompt.editor.parts();
    // A line that is wider than the screen is scrolled.
    let room = usize::from(line.width).saturating_sub(Line::raw(lead).width() + 2);
    let shown = end_of(before, room);
    // The first typed character replaces a fresh text.
    let style = match prompt.is_fresh {
        true => app.look.theme.selected(true),
        false => Style::new(),
    };
    let typed = Line::from(vec![
        Span::styled(lead, app.look.theme.key()),
        Span::styled(shown.to_owned(), style),
        Span::styled(after.to_owned(), style),
    ]);
    put(buffer, line, &typed);
    let hidden = before.len() - shown.len();
    let wrong = prompt
        .error_at()
        .and_then(|at| prompt.editor.text().get(hidden..at));
    if let Some(text) = wrong {
        let column = Line::raw(format!("{lead}{text}")).width();
        let wrong = Rect {
            x: line.x
                + u16::try_from(column)
                    .unwrap_or(0)
                    .min(line.width.saturating_sub(1)),
            width: 1,
            ..line
        };
        buffer.set_style(wrong, app.look.theme.selected(true));
    }
    if prompt.has_guide {
        guide(buffer, area, line, app, &prompt.purpose);
    } else {
        above(buffer, area, line, app, prompt);
    }
    let column = Line::raw(format!("{lead}{shown}")).width();
    let column = u16::try_from(column)
        .unwrap_or(0)
        .min(line.width.saturating_sub(1));
    Position::new(line.x + column, line.y)
}

/// Returns the end of a text that fits `room` columns.
pub(super) fn end_of(text: &str, room: usize) -> &str {
    let mut used = 0;
    let mut start = text.len();
    for (at, char) in text.char_indices().rev() {
        used += Span::raw(&*char.encode_utf8(&mut [0; 4])).width();
        if used > room {
            break;
        }
        start = at;
    }
    text.get(start..).unwrap_or(text)
}

/// Conditions, with what they match.
pub(crate) const CONDITIONS: [(&str, &str); 11] = [
    ("sv_chat", "every message of this type"),
    ("c2s  s2c  vital  resend", "its direction, and how it was sent"),
    (
        "sv_chat.message contains \"gg\"",
        "a part of a text; matches /gg+/ is an expression",
    ),
    (
        "sv_chat.client_id == 3",
        "a number; also != < <= > >= and in 1..5",
    ),
    (
        "cl_emoticon.emoticon == hearts",
        "a value by its name: tab lists them after ==",
    ),
    (".client_id == 3", "a field of any message"),
    ("not (sv_chat or cl_say)", "and, or, not and brackets"),
    (
        "sess.name == \"tee\"",
        "facts: tab lists those after sess. and pkt.",
    ),
    ("pkt.size > 1000", "the size of the datagram"),
    ("lint", "messages with a note; lint.wrong_token is one"),
    ("malformed", "messages that cannot be read"),
];

/// Rules, with what they do.
pub(crate) const RULES: [(&str, &str); 5] = [
    ("drop when sv_chat", "acts on all messages that match"),
    (
        "drop when sv_chat chance 5%",
        "on some of them; also every 3, first 2, once",
    ),
    (
        "delay 200ms when c2s and input",
        "other actions: lose, dup, pause, log, swap",
    ),
    ("slow: delay 1s when sv_chat", "with a name before the colon"),
    ("link both delay 40ms loss 1%", "the whole connection"),
];

/// Draws a page about the language above the line.
fn guide(buffer: &mut Buffer, area: Rect, line: Rect, app: &App, purpose: &Purpose) {
    let theme = app.look.theme;
    let rules = match purpose {
        Purpose::Rule(_) => &RULES[..],
        _ => &[],
    };
    let lines: Vec<_> = rules.iter().chain(&CONDITIONS).collect();
    let width = lines.iter().map(|(text, _)| text.len()).max().unwrap_or(0);
    let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
    let height = height.min(line.y.saturating_sub(area.y + 1));
    let area = Rect {
        y: line.y - height,
        height,
        ..area
    };
    let inner = popup(buffer, area, "the language: F1 closes", theme.title(true));
    for ((text, what), row) in lines.into_iter().zip(inner.rows()) {
        let spans = vec![
            Span::styled(format!(" {text:<width$}  "), theme.key()),
            Span::styled(*what, theme.quiet()),
        ];
        put(buffer, row, &Line::from(spans));
    }
}

/// Draws the error of the line, or the candidates, above the line.
fn above(buffer: &mut Buffer, area: Rect, line: Rect, app: &App, prompt: &Prompt) {
    let theme = app.look.theme;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut answer = String::new();
    if let Some((_, why)) = &app.dialog.status {
        answer = why.clone();
    } else if let Some(why) = &prompt.error {
        answer = why.to_string();
    }
    let answer = short(&answer, usize::from(area.width).saturating_sub(2));
    let answer = answer.iter().filter(|line| !line.is_empty());
    lines.extend(answer.map(|line| Line::styled(format!(" {line}"), theme.warning())));
    let words = &prompt.candidates.words;
    let chosen = prompt.chosen.unwrap_or(0);
    let from = (chosen + 1).saturating_sub(SHOWN);
    let width = words
        .iter()
        .map(|(word, _)| word.chars().count())
        .max()
        .unwrap_or(0);
    for (place, (word, help)) in words.iter().enumerate().skip(from).take(SHOWN) {
        let mut row = Line::from(vec![
            Span::styled(format!(" {word:<width$}  "), theme.key()),
            Span::styled(help.as_str(), theme.quiet()),
        ]);
        if prompt.chosen == Some(place) {
            row = row.style(theme.selected(true));
        }
        lines.push(row);
    }
    let hidden = words.len().saturating_sub(from + SHOWN);
    let title = match hidden {
        0 => "tab completes".to_owned(),
        hidden => format!("tab completes, {hidden} more"),
    };
    let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX);
    let room = line.y.saturating_sub(area.y + 1);
    if lines.is_empty() || room < 2 {
        return;
    }
    let height = height.min(room);
    let area = Rect {
        y: line.y - height,
        height,
        ..area
    };
    let title = if words.is_empty() { "" } else { title.as_str() };
    let inner = popup(buffer, area, title, theme.quiet());
    for (line, row) in lines.iter().zip(inner.rows()) {
        put(buffer, row, line);
        if line.style == theme.selected(true) {
            buffer.set_style(row, line.style);
        }
    }
}

#[cfg(test)]
mod tests {
    use teetap_rules::{Filter, Program};
    use teetap_wire::def::Registry;

    use super::*;

    #[test]
    fn the_page_about_the_language_is_valid() {
        let registry = Registry::builtin();
        for (text, _) in CONDITIONS {
            // Several conditions of a line are apart.
            for text in text.split("  ") {
                let found = Filter::parse(text, registry);
                assert!(found.is_ok(), "{text}: {found:?}");
            }
        }
        for (text, _) in RULES {
            let found = Program::compile(text, registry);
            assert!(found.is_ok(), "{text}: {:?}", found.err());
        }
    }

    #[test]
    fn a_long_line_shows_its_end() {
        for (text, room, end) in [
            ("drop when x", 20, "drop when x"),
            ("drop when x", 6, "when x"),
            ("a名名b", 4, "名b"),
            ("a名名b", 3, "名b"),
            ("ab", 0, ""),
            ("", 5, ""),
        ] {
            assert_eq!(end_of(text, room), end, "{text} {room}");
        }
    }
}

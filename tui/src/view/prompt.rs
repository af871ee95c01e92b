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
    let typed = Line::from(vec![
        Span::styled(lead, app.look.theme.key()),
        Span::raw(shown.to_owned()),
        Span::raw(after.to_owned()),
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
    above(buffer, area, line, app, prompt);
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
    use super::*;

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

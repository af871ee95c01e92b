//! The first and the last line of the screen.

use ratatui::{Frame, layout::Rect, text::Line, widgets::Paragraph};

use crate::{Action, App, Theme, keymap};

/// Draws the target, the address for clients, the filter and whether a recording is made.
pub(super) fn top(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let title = &app.title;
    let mut text = format!(" teetap  {}  connect {}", title.target, title.connect);
    if let Some(filter) = &title.filter {
        text.push_str(&format!("  filter {filter}"));
    }
    if title.recording {
        text.push_str("  REC");
    }
    bar(frame, area, text, theme);
}

/// Draws the counts and the keys.
pub(super) fn bottom(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let list = &app.list;
    let place = match list.selected() {
        _ if list.follows() => "following".to_owned(),
        Some(selected) => format!("{}/{}", selected + 1, list.len()),
        None => String::new(),
    };
    let mut text = format!(" {place}  {} messages  seed {} ", app.messages, app.title.seed);
    for action in [
        Action::Quit,
        Action::Up,
        Action::Down,
        Action::First,
        Action::Last,
    ] {
        text.push_str(&format!("  {} {}", keymap::key_of(action), action.hint()));
    }
    bar(frame, area, text, theme);
}

fn bar(frame: &mut Frame<'_>, area: Rect, text: String, theme: Theme) {
    frame.render_widget(Paragraph::new(Line::from(text)).style(theme.bar()), area);
}

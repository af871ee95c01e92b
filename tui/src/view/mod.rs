//! Draws the state.
//!
//! Law: the frame is a function of the state. Drawing only records the sizes of panes in the state, for pages and
//! clicks. Nothing wraps, and only characters that are safe for a terminal are written ([`finish`]).

mod bars;
mod detail;
mod finish;
mod form;
mod graph;
mod help;
mod hints;
mod ladder;
mod list;
mod log;
mod menu;
mod messages;
mod prompt;
mod queue;
mod rules;
mod sessions;
mod snapshot;
mod stats;
mod summary;
mod timeline;
mod tour;

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};
use teetap_proxy::session::SessionId;
use teetap_wire::Side;

use crate::app::{App, Overlay, View};

pub(crate) use finish::finish;
pub(crate) use list::text_of;

/// Draws the whole screen.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let whole = frame.area();
    let has_line = app.timeline.is_some() && whole.height >= timeline::LEAST;
    let rows = [
        Constraint::Length(1),
        Constraint::Length(bars::crumb_lines(app, whole.width, whole.height)),
        Constraint::Min(0),
        Constraint::Length(u16::from(has_line)),
        Constraint::Length(hints::lines(app, whole.width, whole.height)),
    ];
    let [top, crumbs, body, line, bottom] = Layout::vertical(rows).areas(whole);
    let buffer = frame.buffer_mut();
    app.panes.shape.is_wide = whole.width >= messages::WIDE;
    app.panes.areas.clear();
    app.panes.buttons.clear();
    bars::top(buffer, top, app, whole.height);
    if !crumbs.is_empty() {
        bars::crumb_rows(buffer, crumbs, app);
    }
    let body = tour::draw(buffer, body, app);
    match app.panes.view {
        View::Messages => messages::draw(buffer, body, app),
        View::Rules => rules::draw(buffer, body, app),
        View::Sessions => sessions::draw(buffer, body, app),
        View::Ladder => ladder::draw(buffer, body, app),
        View::Snapshot => snapshot::draw(buffer, body, app),
        View::Stats => stats::draw(buffer, body, app),
        View::Log => log::draw(buffer, body, app),
    }
    if has_line {
        timeline::draw(buffer, line, app);
    }
    hints::draw(buffer, bottom, app);
    let above_hints = Rect {
        height: whole.height - bottom.height,
        ..whole
    };
    if let Some(overlay) = app.dialog.overlay.take() {
        let overlay = match overlay {
            Overlay::Help(mut help) => {
                help::draw(buffer, body, app, &mut help);
                Overlay::Help(help)
            }
            Overlay::Form(mut form) => {
                let cursor = form::draw(buffer, body, app, &mut form);
                if let Some(cursor) = cursor {
                    frame.set_cursor_position(cursor);
                }
                Overlay::Form(form)
            }
            Overlay::Menu(mut menu) => {
                menu::draw(buffer, body, app, &mut menu);
                Overlay::Menu(menu)
            }
            Overlay::Prompt(prompt) => {
                let cursor = prompt::draw(buffer, above_hints, app, &prompt);
                frame.set_cursor_position(cursor);
                Overlay::Prompt(prompt)
            }
        };
        app.dialog.overlay = Some(overlay);
    }
    finish(frame.buffer_mut(), app.look.ascii);
}

/// Draws a line, cut to the area with `…`.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, line: &Line<'_>) {
    if area.is_empty() {
        return;
    }
    buffer.set_line(area.x, area.y, line, area.width);
    if line.width() > usize::from(area.width)
        && let Some(cell) = buffer.cell_mut((area.right() - 1, area.y))
    {
        cell.set_symbol("…");
    }
}

/// Cuts a text to at most `width` columns, with `…` at its end.
fn cut(text: &str, width: usize) -> String {
    if Line::raw(text).width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for char in text.chars() {
        used += Span::raw(&*char.encode_utf8(&mut [0; 4])).width();
        if used >= width {
            break;
        }
        kept.push(char);
    }
    format!("{kept}…")
}

/// Cuts a text to at most `width` columns with `…`. Returns it and the spaces that fill the columns.
fn fitted(text: &str, width: usize) -> (String, String) {
    let text = cut(text, width);
    let space = " ".repeat(width.saturating_sub(Line::raw(text.as_str()).width()));
    (text, space)
}

/// Returns a text padded or cut to `width` columns.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let (text, space) = fitted(text, width);
    text + &space
}

/// Returns a title in a rule of `width` columns: `── title ─────`.
pub(crate) fn ruled(title: &str, width: u16) -> String {
    let mut rule = match title {
        "" => String::new(),
        title => format!("── {title} "),
    };
    let used = Line::raw(rule.as_str()).width();
    rule.extend(std::iter::repeat_n('─', usize::from(width).saturating_sub(used)));
    rule
}

/// Returns the part of an area below its first `rows` rows.
pub(crate) fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// Returns the title of a view of one session.
pub(crate) fn session_title(app: &App, session: SessionId) -> Line<'static> {
    let Some(followed) = app.sessions.follow.session(session) else {
        return Line::raw(format!(" #{}", session.0));
    };
    let player = followed.player.as_ref();
    let player = player.map_or(String::new(), |player| format!(" \"{player}\""));
    let proto = followed.proto.map_or(String::new(), |proto| format!(" {proto}"));
    let client = followed.client;
    let client = client.map_or(String::new(), |client| format!("  client {client}"));
    let silent = [Side::Client, Side::Server].into_iter().find_map(|side| {
        let silence = followed.silence(side, app.run.now)?;
        Some(format!(", the {side} is silent for {} s", silence.as_secs()))
    });
    Line::from(vec![
        Span::styled(format!(" #{}{player}", session.0), app.look.theme.title(true)),
        Span::raw(format!("{proto} {}", followed.state)),
        Span::styled(silent.unwrap_or_default(), app.look.theme.warning()),
        Span::styled(client, app.look.theme.quiet()),
    ])
}

/// Draws sentences in an empty view, one per line.
pub(crate) fn empty(buffer: &mut Buffer, area: Rect, sentences: &[&str]) {
    for (sentence, row) in sentences.iter().zip(area.rows().skip(1)) {
        put(buffer, row, &Line::raw(format!("  {sentence}")));
    }
}

/// Draws a title and an empty area over the screen. Returns the area below the title.
pub(crate) fn popup(buffer: &mut Buffer, area: Rect, title: &str, style: Style) -> Rect {
    for row in area.rows() {
        buffer.set_string(row.x, row.y, " ".repeat(row.width.into()), Style::reset());
    }
    if let Some(row) = area.rows().next() {
        put(buffer, row, &Line::styled(ruled(title, area.width), style));
    }
    below(area, 1)
}

//! The message list: one row per message, and rows for sessions, notices and gaps.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Paragraph,
};
use teetap_inspect::{
    DecodedEvent, EventLines, Kind,
    lines::{self, About},
    row,
};
use teetap_proxy::session::{SessionId, Time, What};

use crate::{App, Theme, app::Row};

/// Draws the visible rows and, until there is traffic, the command that brings some.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &mut App, theme: Theme) {
    app.list.fit(area.height.into());
    let selected = app.list.selected().filter(|_| !app.list.follows());
    let mut rest = area.rows();
    for ((place, row), line_area) in app.list.visible().zip(rest.by_ref()) {
        if selected == Some(place) {
            frame.buffer_mut().set_style(line_area, theme.selected());
        }
        let line = line(row, app, theme);
        frame
            .buffer_mut()
            .set_line(area.x, line_area.y, &line, area.width);
    }
    if !app.has_traffic
        && let Some(hint) = rest.nth(1)
    {
        let text = format!(
            "  nothing yet: in the game console type   connect {}",
            app.title.connect
        );
        frame.render_widget(Paragraph::new(text), hint);
    }
}

fn line(row: &Row, app: &App, theme: Theme) -> Line<'static> {
    match row {
        Row::Line(decoded, line) => {
            message(decoded, line, app, theme).unwrap_or_else(|| other(decoded, line, app, theme))
        }
        Row::Gap(lost) => Line::styled(row::gap(*lost).text, theme.warning()),
        Row::Log(at, _, text) => {
            let style = style(row.kind(), theme);
            Line::from(vec![
                Span::styled(start(*at, None), theme.quiet()),
                Span::styled(format!("teetap: {text}"), style),
            ])
        }
    }
}

/// Returns the columns of a message; `None` for a line about something else.
fn message(decoded: &DecodedEvent, line: &lines::Line, app: &App, theme: Theme) -> Option<Line<'static>> {
    let (About::Message { index, with_datagram }, What::Datagram(datagram)) =
        (&line.about, &decoded.event.what)
    else {
        return None;
    };
    let lines = EventLines::of(decoded, app.style);
    let reading = lines.reading?;
    let message = reading.messages.get(*index)?;
    let direction = theme.direction(datagram.dir);
    let event = &decoded.event;
    let mut spans = vec![
        Span::styled(start(event.at, event.session), theme.quiet()),
        Span::styled(row::arrow(datagram.dir, datagram.leg), direction),
        Span::raw(format!(" {} {:>5} ", row::flag(message), row::seq(message))),
        Span::styled(
            format!("{:<18} ", reading.label(message)),
            direction.patch(theme.name()),
        ),
    ];
    if let Some(word) = message.outcome() {
        spans.push(Span::styled(format!("{word} "), theme.warning()));
    }
    spans.push(Span::raw(reading.gist(message, app.style.secrets)));
    for note in lines.notes(message, *with_datagram) {
        let text = format!(" !{}", note.code.name());
        let style = if line.kind == Kind::Warning {
            theme.warning()
        } else {
            theme.quiet()
        };
        spans.push(Span::styled(text, style));
    }
    Some(Line::from(spans))
}

/// Returns the text of a line about a session, a notice, a datagram or a connless message.
fn other(decoded: &DecodedEvent, line: &lines::Line, app: &App, theme: Theme) -> Line<'static> {
    let rows = row::render(decoded, line, app.style);
    let text = rows.into_iter().next().map(|row| row.text).unwrap_or_default();
    Line::styled(text, style(line.kind, theme))
}

fn style(kind: Kind, theme: Theme) -> ratatui::style::Style {
    match kind {
        Kind::Warning => theme.warning(),
        Kind::Session => theme.session(),
        Kind::Traffic | Kind::Info => ratatui::style::Style::new(),
    }
}

/// Returns the columns of the time in seconds and the session.
fn start(at: Time, session: Option<SessionId>) -> String {
    let ms = at.0 / 1000;
    let session = session.map_or("-".to_owned(), |session| format!("#{}", session.0));
    format!("{:>4}.{:03} {session:<3} ", ms / 1000, ms % 1000)
}

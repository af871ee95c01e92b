//! The message list: one row per message, and rows for folded messages, sessions, notices and gaps.
//!
//! ```text
//!   12.418 #2  s→c V   217 sv_chat            0 "nameless tee": gg           D!
//! ```

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_inspect::{
    DecodedEvent, EventLines, Kind, Message, Reading,
    lines::{self, About},
    reading::Done,
    row,
};
use teetap_proxy::session::{Action, Origin, SessionId, Time, What};
use teetap_wire::Severity;

use super::{empty, put};
use crate::{
    Theme,
    app::{
        App,
        history::Row,
        messages::{Fold, Item},
    },
};

/// Columns at the end of a row for letters of actions and the lint mark.
const MARKS: u16 = 3;

/// Draws the visible rows and, until there is traffic, the command that brings some.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    app.messages.fit(area.height.into());
    let selected = app.messages.selected().filter(|_| !app.messages.follows());
    let mut rest = area.rows();
    for ((place, item), area) in app.messages.visible().zip(rest.by_ref()) {
        self::item(buffer, area, item, app);
        if selected == Some(place) {
            buffer.set_style(area, app.theme.selected(true));
        }
    }
    let left = rest.count();
    if app.meter.messages == 0 {
        let below = Rect {
            y: area.bottom().saturating_sub(u16::try_from(left).unwrap_or(0)),
            height: u16::try_from(left).unwrap_or(0),
            ..area
        };
        let connect = &app.title.connect;
        let sentence = format!("nothing yet: in the game console type   connect {connect}");
        empty(buffer, below, &[&sentence]);
    }
}

/// Draws an item.
fn item(buffer: &mut Buffer, area: Rect, item: &Item, app: &App) {
    match item {
        Item::Row(number) => {
            if let Some(row) = app.messages.history.get(*number) {
                self::row(buffer, area, row, app);
            }
        }
        Item::Fold(fold) => {
            if let Some(row) = app.messages.history.get(fold.last) {
                self::fold(buffer, area, fold, row, app);
            }
        }
    }
}

fn row(buffer: &mut Buffer, area: Rect, row: &Row, app: &App) {
    let theme = app.theme;
    match row {
        Row::Line(decoded, line) => {
            if !message(buffer, area, row, app) {
                put(buffer, area, &other(decoded, line, app));
            }
        }
        Row::Gap(lost) => put(buffer, area, &Line::styled(row::gap(*lost).text, theme.warning())),
        Row::Log(at, _, text) => {
            let line = Line::from(vec![
                Span::styled(start(*at, None), theme.quiet()),
                Span::styled(format!("teetap: {text}"), style(row.kind(), theme)),
            ]);
            put(buffer, area, &line);
        }
    }
}

/// Draws the columns of a message; false for a line about something else.
fn message(buffer: &mut Buffer, area: Rect, row: &Row, app: &App) -> bool {
    let (Row::Line(decoded, line), Some((reading, message))) = (row, row.message()) else {
        return false;
    };
    let theme = app.theme;
    let mut spans = head(decoded, reading, message, area.width, theme);
    if let Some(word) = message.outcome() {
        spans.push(Span::styled(format!("{word} "), theme.done()));
    }
    for mark in &message.marks {
        spans.push(Span::styled(format!("#{mark} "), theme.done()));
    }
    spans.push(Span::raw(reading.gist(message, app.style.secrets)));
    let with_datagram = matches!(
        line.about,
        About::Message {
            with_datagram: true,
            ..
        }
    );
    let notes = EventLines::of(decoded, app.style).notes(message, with_datagram);
    for note in &notes {
        let is_lint = note.code.severity() >= Severity::Warning;
        let style = if is_lint { theme.warning() } else { theme.quiet() };
        spans.push(Span::styled(format!(" !{}", note.code.name()), style));
    }
    let text = Rect {
        width: area.width.saturating_sub(MARKS),
        ..area
    };
    put(buffer, text, &Line::from(spans));
    let letter = letter(message).map_or(" ".to_owned(), |letter| letter.to_string());
    let lint = if line.kind == Kind::Warning { "!" } else { " " };
    let marks = Line::from(vec![
        Span::raw(" "),
        Span::styled(letter, theme.done()),
        Span::styled(lint, theme.warning()),
    ]);
    if area.width > MARKS {
        buffer.set_line(text.right(), area.y, &marks, MARKS);
    }
    true
}

/// Returns the columns before the gist.
fn head(
    decoded: &DecodedEvent,
    reading: &Reading,
    message: &Message,
    width: u16,
    theme: Theme,
) -> Vec<Span<'static>> {
    let event = &decoded.event;
    let (dir, leg) = match &event.what {
        What::Datagram(datagram) => (Some(datagram.dir), datagram.leg),
        What::Connless(connless) => (Some(connless.dir), None),
        _ => (None, None),
    };
    let direction = dir.map_or(Style::new(), |dir| theme.direction(dir));
    let arrow = dir.map_or("   ", |dir| row::arrow(dir, leg));
    // A long number shortens the column of the name, so that gists stay in theirs.
    let seq = row::seq(message);
    let wide = seq.chars().count().saturating_sub(5);
    let name = reading.label(message);
    vec![
        Span::styled(start(event.at, event.session), theme.quiet()),
        Span::styled(arrow, direction),
        Span::raw(format!(" {} {seq:>5} ", row::flag(message))),
        Span::styled(
            format!("{} ", padded(&name, name_width(width).saturating_sub(wide))),
            theme.name_of(direction),
        ),
    ]
}

/// Returns the width of the column of names on a screen of this width.
const fn name_width(width: u16) -> usize {
    match width {
        ..70 => 14,
        70..100 => 18,
        _ => 23,
    }
}

/// Returns a name in so many columns, cut with `…`.
fn padded(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return format!("{name:<width$}");
    }
    let kept: String = name.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Returns the letter of what was done with a message; `None` if it was passed on.
fn letter(message: &Message) -> Option<char> {
    if matches!(message.origin, Origin::Rule | Origin::User) {
        return Some('I');
    }
    let letter = match message.done {
        Done::Ended => None,
        Done::Discarded => Some('X'),
        Done::Placed(action) => match action {
            Action::Pass => None,
            Action::Edit => Some('E'),
            Action::Drop => Some('D'),
            Action::Lose => Some('L'),
            Action::Hold => Some('H'),
            Action::Refuse => Some('F'),
            Action::Gap => Some('G'),
            Action::Repeat | Action::Known => Some('R'),
        },
    };
    // A rule that only logs or marks leaves the message as it is.
    letter.or_else(|| (!message.rules.is_empty()).then_some('*'))
}

/// Draws folded messages: the columns of the last one, with the number of messages and their rate.
fn fold(buffer: &mut Buffer, area: Rect, fold: &Fold, row: &Row, app: &App) {
    let (Row::Line(decoded, _), Some((reading, message))) = (row, row.message()) else {
        return;
    };
    let theme = app.theme;
    let mut spans = head(decoded, reading, message, area.width, theme);
    // The eye is for the other rows.
    spans.iter_mut().for_each(|span| span.style = theme.quiet());
    let rate = fold.rate().map_or(String::new(), |rate| format!(" {rate:.0}/s"));
    spans.push(Span::styled(
        format!("×{:<5}{rate:<7}", fold.count),
        theme.name_of(Style::new()),
    ));
    let gist = reading.gist(message, app.style.secrets);
    spans.push(Span::styled(gist, theme.quiet()));
    let text = Rect {
        width: area.width.saturating_sub(MARKS),
        ..area
    };
    put(buffer, text, &Line::from(spans));
}

/// Returns the text of a line about a session, a notice or a datagram.
fn other(decoded: &DecodedEvent, line: &lines::Line, app: &App) -> Line<'static> {
    let rows = row::render(decoded, line, app.style);
    let text = rows.into_iter().next().map(|row| row.text).unwrap_or_default();
    Line::styled(text, style(line.kind, app.theme))
}

fn style(kind: Kind, theme: Theme) -> Style {
    match kind {
        Kind::Warning => theme.warning(),
        Kind::Session => theme.session(),
        Kind::Traffic | Kind::Info => Style::new(),
    }
}

/// Returns the columns of the time in seconds and the session.
fn start(at: Time, session: Option<SessionId>) -> String {
    let ms = at.0 / 1000;
    let session = session.map_or("-".to_owned(), |session| format!("#{}", session.0));
    format!("{:>4}.{:03} {session:<3} ", ms / 1000, ms % 1000)
}

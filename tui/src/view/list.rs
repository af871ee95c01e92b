//! The message list: one row per message, and rows for folded messages, sessions, notices and gaps.
//!
//! ```text
//!   12.418 #2  s→c V   217 sv_chat            0 "nameless tee": gg           D!
//! ```

use std::time::Duration;

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};
use teetap_inspect::{DecodedEvent, EventLines, Kind, Message, Reading, lines, row};
use teetap_proxy::session::{EventKind, Time};
use teetap_wire::{Severity, counted};

use super::{
    empty, padded, put, ruled,
    summary::{letter, summary},
};
use crate::{
    Action as Key, Theme,
    app::{
        App, Pane,
        clock::{TimeForm, seconds, wall},
        history::Row,
        messages::Fold,
        timeline::Timeline,
    },
};

/// Columns at the end of a row, for the letter of an action and the lint mark.
const MARKS: u16 = 3;

/// Minimum lines for the sign that older rows were dropped.
const LEAST: u16 = 4;

/// Minimum lines of the list for the names of its columns.
const HEADS: u16 = 6;

/// Maximum lines for the counts of warnings.
const LINTS: u16 = 3;

/// Draws the counts of warnings if only rows with warnings are listed. Returns the area below them.
fn lints(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    if !app.messages.is_lint_only() || area.height < 2 * LINTS {
        return area;
    }
    let mut counts: Vec<(u64, &str)> = app
        .run
        .meter
        .lints
        .iter()
        .map(|(code, count)| (*count, *code))
        .collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let mut lines = vec![String::from(" warnings by code:")];
    for (count, code) in &counts {
        let word = format!("  {count} {code}");
        let line = lines
            .last_mut()
            .filter(|line| line.len() + word.len() < area.width.into());
        match line {
            Some(line) => line.push_str(&word),
            None => lines.push(word),
        }
    }
    let is_part = app.timeline.as_ref().is_some_and(Timeline::is_part);
    if counts.is_empty() {
        let others = app.messages.len();
        lines = vec![match (others, is_part) {
            (1.., _) => format!(" no notes on messages; {}", counted(others, "other warning")),
            (0, true) => " no warnings in the part of the recording that is listed".to_owned(),
            (0, false) => " no warnings so far".to_owned(),
        }];
    } else if is_part && let Some(first) = lines.first_mut() {
        *first = first.replacen("by code", "of this part by code", 1);
    }
    let mut used = 0;
    for (line, row) in lines.iter().zip(area.rows().take(LINTS.into())) {
        put(
            buffer,
            row,
            &Line::styled(line.as_str(), app.look.theme.warning()),
        );
        used += 1;
    }
    Rect {
        y: area.y + used,
        height: area.height - used,
        ..area
    }
}

/// Draws the visible rows and, until there is traffic, the command that connects a client. Returns the area of the
/// rows.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let area = lints(buffer, area, app);
    let area = heads(buffer, area, app);
    let area = folds(buffer, area, app);
    let area = older(buffer, area, app);
    app.messages.fit(area.height.into());
    let selected = app.messages.selected().filter(|_| !app.messages.follows());
    let mut rest = area.rows();
    let focused = app.panes.focus == Pane::List;
    for ((place, number), area) in app.messages.visible().zip(rest.by_ref()) {
        listed(buffer, area, (place, number), app);
        if app.messages.is_marked(number)
            && let Some(cell) = buffer.cell_mut((area.x, area.y))
        {
            cell.set_symbol("◆").set_style(app.look.theme.action());
        }
        if selected == Some(place) || !focused && app.messages.selected() == Some(place) {
            buffer.set_style(area, app.look.theme.selected(focused));
        }
    }
    let left = rest.count();
    if app.messages.is_empty() && app.messages.folds().len() == 0 && app.run.meter.messages > 0 {
        let [filter, lint, session] =
            [Key::FilterOnOff, Key::Lint, Key::Session].map(|action| app.dialog.keymap.hint(action));
        let sentence = match app.messages.progress() {
            Some(percent) => format!("filtering: {percent} %"),
            None => {
                format!(
                    "no row is shown: {filter} switches the filter off, {lint} shows all rows, {session} all sessions"
                )
            }
        };
        empty(buffer, area, &[&sentence]);
    }
    if app.run.meter.messages == 0 {
        let below = Rect {
            y: area.bottom().saturating_sub(u16::try_from(left).unwrap_or(0)),
            height: u16::try_from(left).unwrap_or(0),
            ..area
        };
        let sentence = app.run.title.invitation("nothing");
        empty(buffer, below, &[&sentence]);
    }
    area
}

/// Draws the names of the columns. Returns the area below them.
fn heads(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    if area.height < HEADS || app.run.meter.messages == 0 {
        return area;
    }
    let time = match app.look.time {
        TimeForm::Run => "run s",
        TimeForm::Session => "session s",
        TimeForm::Delta => "delta s",
        TimeForm::Wall => "time UTC",
    };
    let width = match app.look.time {
        TimeForm::Wall => wall(app.run.title.start, Time::ZERO).len(),
        _ => seconds(Duration::ZERO).len().max(time.len()),
    };
    let names = padded("message", name_width(area.width));
    let words = format!("{time:>width$} id  way f   seq {names} contents");
    if let Some(row) = area.rows().next() {
        let style = app.look.theme.quiet();
        put(buffer, row, &Line::styled(words, style));
        let marks = Rect {
            x: area.right().saturating_sub(MARKS + 1),
            width: MARKS + 1,
            ..row
        };
        put(buffer, marks, &Line::styled(" did", style));
    }
    super::below(area, 1)
}

/// Draws a line above the oldest row if older rows exist or were dropped. Returns the area below it.
fn older(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    app.messages.fit(area.height.into());
    if area.height < LEAST || !app.messages.is_at_top() {
        return area;
    }
    let gone = app.messages.history.numbers().start;
    let key = |action| app.dialog.keymap.hint(action);
    let words = match &app.timeline {
        Some(timeline) if timeline.listed.start > 0 => {
            format!(
                "earlier rows are read with {} or {}",
                key(Key::Earlier),
                key(Key::First)
            )
        }
        None if gone > 0 => {
            let kept = app.messages.history.limit >> 20;
            let rare = app.messages.history.rare_len();
            let count = gone - rare as u64;
            let until = app.messages.history.get(gone).and_then(Row::at);
            let until = until.map_or(String::new(), |at| format!(", until {:.1} s", at.as_secs_f64()));
            let stay = match rare {
                0 => String::new(),
                rare => format!(", {rare} rare ones stay"),
            };
            let are = if count == 1 { "row is" } else { "rows are" };
            format!("{count} older {are} gone{until}: --history {kept}{stay}")
        }
        _ => return area,
    };
    let words = ruled(&words, area.width);
    if let Some(row) = area.rows().next() {
        put(buffer, row, &Line::styled(words, app.look.theme.quiet()));
    }
    super::below(area, 1)
}

/// Draws a listed row.
fn listed(buffer: &mut Buffer, area: Rect, (place, number): (usize, u64), app: &App) {
    if let Some(row) = app.messages.history.get(number) {
        let above = || app.messages.above(place).and_then(Row::at);
        let start = start(row, above, app);
        self::row(buffer, area, row, &start, app);
    }
}

/// Draws the lines of folded types at the bottom, using at most a third of the area. Returns the area above them.
fn folds(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    let count = app.messages.folds().len();
    if count == 0 {
        return area;
    }
    let key = app.dialog.keymap.hint(Key::Fold);
    let quiet = app.look.theme.quiet();
    let room = area.height / 3;
    // Draws a title if there is room.
    let titles = u16::from(room > 1);
    let used = u16::try_from(count).unwrap_or(u16::MAX).min(room - titles);
    let [above, title, below] = Layout::vertical([
        Constraint::Min(0),
        Constraint::Length(titles),
        Constraint::Length(used),
    ])
    .areas(area);
    let words = ruled(&format!("folded: {key} unfolds"), title.width);
    put(buffer, title, &Line::styled(words, quiet));
    let hidden = count.saturating_sub(used.into());
    for (place, (fold, area)) in app.messages.folds().zip(below.rows()).enumerate() {
        if hidden == 0 || place + 1 < usize::from(used) {
            self::fold(buffer, area, fold, app);
            continue;
        }
        let words = match place {
            0 => format!(" {} folded types: {key} unfolds", hidden + 1),
            _ => format!(" {} more folded types", hidden + 1),
        };
        put(buffer, area, &Line::styled(words, quiet));
    }
    above
}

/// Returns the text of a row for a search.
pub(crate) fn text_of(row: &Row, app: &App) -> String {
    match (row, row.message()) {
        (Row::Line(decoded, _), Some((reading, message))) => {
            let outcome = message.outcome().unwrap_or_default();
            let gist = reading.gist(message, app.look.style.secrets);
            let notes = EventLines::from_event(decoded, app.look.style).notes(message, false);
            let notes: Vec<&str> = notes.iter().map(|note| note.code.name()).collect();
            format!("{} {outcome} {gist} {}", reading.label(message), notes.join(" "))
        }
        (Row::Line(decoded, line), None) => other_text(decoded, line, app),
        (Row::Gap(lost), _) => row::gap(*lost).into_text(),
        (Row::Log(_, _, text), _) => text.to_string(),
    }
}

fn row(buffer: &mut Buffer, area: Rect, row: &Row, start: &str, app: &App) {
    let theme = app.look.theme;
    match row {
        Row::Line(decoded, line) => {
            if !message(buffer, area, row, start, app) {
                let line = Line::from(vec![
                    Span::styled(start.to_owned(), theme.quiet()),
                    Span::styled(other_text(decoded, line, app), theme.for_kind(line.kind)),
                ]);
                put(buffer, area, &line);
            }
        }
        Row::Gap(lost) => put(
            buffer,
            area,
            &Line::styled(row::gap(*lost).into_text(), theme.warning()),
        ),
        Row::Log(_, _, text) => {
            let line = Line::from(vec![
                Span::styled(start.to_owned(), theme.quiet()),
                Span::styled(format!("teetap: {text}"), theme.for_kind(row.kind())),
            ]);
            put(buffer, area, &line);
        }
    }
}

/// Draws the columns of a message. Returns false if the row is not a message.
fn message(buffer: &mut Buffer, area: Rect, row: &Row, start: &str, app: &App) -> bool {
    let (Row::Line(decoded, line), Some((reading, message))) = (row, row.message()) else {
        return false;
    };
    let theme = app.look.theme;
    let mut spans = head(decoded, (reading, message), start, area.width, theme);
    let letter = letter(row, message);
    for mark in &message.handling.marks {
        spans.push(Span::styled(format!("#{mark} "), theme.action()));
    }
    let columns = usize::from(area.width.saturating_sub(MARKS));
    let left = columns.saturating_sub(spans.iter().map(Span::width).sum());
    spans.extend(summary(row, (reading, message), left, app));
    let notes =
        EventLines::from_event(decoded, app.look.style).marks(message, row.with_datagram(), app.look.style);
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
    let letter = letter.map_or(" ".to_owned(), |letter| letter.to_string());
    let lint = if line.kind == Kind::Warning { "!" } else { " " };
    let marks = Line::from(vec![
        Span::raw(" "),
        Span::styled(letter, theme.action()),
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
    (reading, message): (&Reading, &Message),
    start: &str,
    width: u16,
    theme: Theme,
) -> Vec<Span<'static>> {
    let (dir, leg) = match &decoded.event.what {
        EventKind::Datagram(datagram) => (Some(datagram.dir), datagram.leg),
        EventKind::Connless(connless) => (Some(connless.dir), None),
        _ => (None, None),
    };
    let direction = dir.map_or(Style::new(), |dir| theme.direction(dir));
    let arrow = dir.map_or("   ", |dir| row::arrow(dir, leg));
    // A long sequence number shortens the name column, so that gists stay aligned.
    let seq = row::seq(&message.transport);
    let wide = seq.chars().count().saturating_sub(5);
    let name = reading.label(message);
    vec![
        Span::styled(start.to_owned(), theme.quiet()),
        Span::styled(arrow, direction),
        Span::raw(format!(" {} {seq:>5} ", row::flag(&message.transport))),
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

/// Draws the line of a folded type: the columns of its newest message, with the number of messages and their rate.
fn fold(buffer: &mut Buffer, area: Rect, fold: Fold<'_>, app: &App) {
    let history = &app.messages.history;
    let Some(row @ Row::Line(decoded, _)) = fold.newest().and_then(|number| history.get(number)) else {
        return;
    };
    let Some((reading, message)) = row.message() else {
        return;
    };
    let theme = app.look.theme;
    let start = start(row, || row.at(), app);
    let mut spans = head(decoded, (reading, message), &start, area.width, theme);
    // Folded types are dimmed.
    spans.iter_mut().for_each(|span| span.style = theme.quiet());
    let now = app.messages.frozen_at().unwrap_or(app.run.now);
    let rate = format!("{}/s", fold.rate(history, now));
    spans.push(Span::styled(
        format!("×{:<6} {rate:<6} ", fold.count()),
        theme.name_of(Style::new()),
    ));
    let gist = reading.gist(message, app.look.style.secrets);
    spans.push(Span::styled(gist, theme.quiet()));
    let text = Rect {
        width: area.width.saturating_sub(MARKS),
        ..area
    };
    put(buffer, text, &Line::from(spans));
}

/// Returns the text of a line about a session, a notice or a datagram, without time and session.
fn other_text(decoded: &DecodedEvent, line: &lines::Line, app: &App) -> String {
    let rows = row::render(decoded, line, app.look.style);
    rows.first().map(teetap_inspect::Row::body).unwrap_or_default()
}

/// Returns the columns of the time and the session. `above` returns the time of the row above.
fn start(row: &Row, above: impl FnOnce() -> Option<Time>, app: &App) -> String {
    let Some(at) = row.at() else {
        return String::new();
    };
    let session = row.session();
    let begin = session.and_then(|session| app.sessions.follow.session(session));
    let time = match app.look.time {
        TimeForm::Run => seconds(at - Time::ZERO),
        TimeForm::Session => seconds(at - begin.map_or(Time::ZERO, |followed| followed.begin)),
        TimeForm::Delta => seconds(above().map_or(Duration::ZERO, |above| at - above)),
        TimeForm::Wall => wall(app.run.title.start, at),
    };
    let session = session.map_or("-".to_owned(), |session| format!("#{}", session.0));
    format!("{time} {session:<3} ")
}

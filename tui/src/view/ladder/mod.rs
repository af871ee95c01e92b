//! The ladder: client leg, proxy, server leg, and a line for each datagram.
//!
//! ```text
//!    1.586          8    5 <- R 8 first 0.585  sv_chat repeat   <-         9    5
//! ```

mod columns;
mod head;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_inspect::{
    BothLegs, DecodedEvent, Kind, Message, Reading,
    both_legs::OnLeg,
    follow::{Missing, Ties},
    row,
};
use teetap_proxy::session::{EventKind, Origin, SessionId, Time};
use teetap_wire::{Dir, Scratch, Side};

use super::{empty, put};
use crate::{
    Theme,
    app::{App, Pane, clock::seconds, ladder::LadderLine},
};
use columns::{Columns, TIME, cell_text};
use head::{names, title, tokens};

/// Draws a line above the datagrams of a session, given the session and its newest relevant line.
type DrawHead = fn(&mut Buffer, Rect, &App, (SessionId, u64));

/// Minimum columns in the middle for names to be aligned.
const WIDE: u16 = 50;

/// Number of lines above the datagrams.
const HEAD: u16 = 3;

/// Draws the lines of the current session.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let Some(session) = app.sessions.shown() else {
        let connect = app.run.title.invitation("no session");
        return empty(buffer, area, &[&connect]);
    };
    let head = HEAD.min(area.height / 3);
    let rows = app.sessions.ladder.rows(session);
    let visible = app
        .sessions
        .ladder
        .tail
        .fit(usize::from(area.height - head), rows);
    app.panes.areas.push((Pane::Ladder, super::below(area, head)));
    let mut lines = area.rows();
    let ladder = &app.sessions.ladder;
    let last = ladder
        .selected(session)
        .or_else(|| ladder.number(session, visible.end.saturating_sub(1)))
        .unwrap_or(0);
    let heads: [DrawHead; 3] = [title, tokens, names];
    for (line, draw) in lines.by_ref().take(head.into()).zip(heads) {
        draw(buffer, line, app, (session, last));
    }
    let chosen = app.sessions.ladder.selected(session);
    let chosen = chosen.and_then(|number| Some((number, app.sessions.ladder.get(session, number)?)));
    let mut scratch = Scratch::new();
    if visible.is_empty() {
        let text = "every datagram is hidden: the second line of the screen names the keys that show them";
        empty(buffer, super::below(area, head), &[text]);
    }
    for (row, line) in visible.zip(lines) {
        let Some(number) = app.sessions.ladder.number(session, row) else {
            continue;
        };
        let Some(step) = app.sessions.ladder.get(session, number) else {
            continue;
        };
        self::step(buffer, line, app, step, &mut scratch);
        let Some((selected, chosen)) = chosen else {
            continue;
        };
        if selected == number {
            buffer.set_style(line, app.look.theme.selected(true));
        } else if step.shares_message(chosen) {
            buffer.set_string(line.x, line.y, "●", app.look.theme.action());
        }
    }
}

fn step(buffer: &mut Buffer, area: Rect, app: &App, step: &LadderLine, scratch: &mut Scratch) {
    match step {
        LadderLine::Datagram(decoded, ties) => {
            if let Some(both_legs) = BothLegs::from_event(decoded, scratch) {
                datagram(buffer, area, app, (decoded, &both_legs, ties));
            }
        }
        LadderLine::Missing(at, dir, missing) => {
            self::missing(buffer, area, app.look.theme, (*at, *dir, *missing))
        }
        LadderLine::Change(decoded) => change(buffer, area, app, decoded),
        LadderLine::Gap(lost) => put(
            buffer,
            area,
            &Line::styled(row::gap(*lost).into_text(), app.look.theme.warning()),
        ),
    }
}

/// Draws a gap in the sequence numbers on the sender's leg.
fn missing(buffer: &mut Buffer, area: Rect, theme: Theme, (at, dir, missing): (Time, Dir, Missing)) {
    time(buffer, area, at, theme);
    let Missing { first, count } = missing;
    let last = first.plus(count - 1);
    let numbers = OnLeg::numbers_of(Some((first, last)));
    let text = format!("-- missing {numbers} --");
    let width = u16::try_from(text.len()).unwrap_or(0);
    let left = match dir.sender() {
        Side::Client => Columns::for_area(area).leg(Side::Client).x,
        Side::Server => area.right().saturating_sub(width),
    };
    let place = Rect {
        x: left,
        width,
        ..area
    };
    put(
        buffer,
        place.intersection(area),
        &Line::styled(text, theme.warning()),
    );
}

/// Draws a change of the session, or a notice.
fn change(buffer: &mut Buffer, area: Rect, app: &App, decoded: &DecodedEvent) {
    let style = teetap_inspect::Style {
        quiet: false,
        ..app.look.style
    };
    let Some(row) = row::rows(decoded, style).into_iter().next() else {
        return;
    };
    let colour = match row.kind {
        Kind::Traffic | Kind::Info => app.look.theme.quiet(),
        kind => app.look.theme.for_kind(kind),
    };
    time(buffer, area, decoded.event.at, app.look.theme);
    let place = Rect {
        x: area.x + TIME,
        width: area.width.saturating_sub(TIME),
        ..area
    };
    put(buffer, place, &Line::styled(row.body(), colour));
}

fn time(buffer: &mut Buffer, area: Rect, at: Time, theme: Theme) {
    let text = format!(" {}", seconds(at - Time::ZERO));
    put(buffer, area, &Line::styled(text, theme.quiet()));
}

fn datagram(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    (decoded, both_legs, ties): (&DecodedEvent, &BothLegs, &Ties),
) {
    let theme = app.look.theme;
    let columns = Columns::for_area(area);
    time(buffer, area, decoded.event.at, theme);
    let (dir, direction) = (both_legs.dir, theme.direction(both_legs.dir));
    for side in [Side::Client, Side::Server] {
        let is_changed = side == dir.receiver() && !both_legs.shift().is_none();
        let style = if is_changed {
            theme.name_of(direction)
        } else {
            direction
        };
        if let Some(passage) = both_legs.leg(side) {
            let text = cell(passage, columns);
            put(buffer, columns.leg(side), &Line::styled(text, style));
        }
        let arrow = arrow(both_legs, side);
        put(buffer, columns.arrow(side), &Line::styled(arrow, style));
    }
    let area = columns.middle();
    put(buffer, area, &middle((decoded, both_legs, ties), app, area.width));
}

/// Returns the arrow between a leg and the proxy, with `x` at the end of a datagram's path.
fn arrow(both_legs: &BothLegs, side: Side) -> &'static str {
    let has_left = both_legs.leg(side).is_some();
    let is_receiver = side == both_legs.dir.receiver();
    match (has_left, both_legs.dir) {
        (true, Dir::C2s) if is_receiver && both_legs.is_lost => " ─x ",
        (true, Dir::S2c) if is_receiver && both_legs.is_lost => " x─ ",
        (true, Dir::C2s) => " ─▸ ",
        (true, Dir::S2c) => " ◂─ ",
        (false, _) if is_receiver && both_legs.is_stopped => "  x ",
        (false, _) => "    ",
    }
}

/// Returns the sequence numbers, ack and size of a datagram on one leg.
fn cell(passage: &OnLeg, columns: Columns) -> String {
    let ack = passage.ack.map_or(String::new(), |ack| ack.to_string());
    cell_text(&passage.numbers(), &ack, &passage.len.to_string(), columns)
}

/// Returns the actions of the proxy: shift of the numbers, resends, messages that it acted on, and a loss by link
/// lines; then the other messages, and other effects of link lines.
fn middle(
    (decoded, both_legs, ties): (&DecodedEvent, &BothLegs, &Ties),
    app: &App,
    room: u16,
) -> Line<'static> {
    let theme = app.look.theme;
    let mut parts: Vec<Vec<Span<'static>>> = Vec::new();
    let shift = both_legs.shift();
    // On wide screens names are aligned, with or without a shift.
    let has_legs = [Side::Client, Side::Server].map(|side| both_legs.leg(side).is_some()) == [true; 2];
    let width = if has_legs && room >= WIDE { 6 } else { 0 };
    if !shift.is_none() || width > 0 {
        let style = if shift.seq == 0 {
            theme.quiet()
        } else {
            theme.key()
        };
        parts.push(vec![Span::styled(
            format!("{:<width$}", shift.to_string()),
            style,
        )]);
    }
    for resend in &ties.resends {
        let first = resend.first.map_or("not seen before".to_owned(), first_seen);
        let text = format!("R {} {first}", resend.seq);
        parts.push(vec![Span::styled(text, theme.warning())]);
    }
    let reading = decoded.reading.as_ref();
    let all = reading.map_or(&[][..], |reading| &*reading.messages);
    let (touched, plain): (Vec<_>, Vec<_>) = all.iter().partition(|message| is_touched(message));
    let messages = |list: &[&Message]| messages(reading, list, theme);
    parts.push(messages(&touched));
    let link = (!both_legs.link.is_empty())
        .then(|| vec![Span::styled(both_legs.link.clone(), link_style(both_legs, theme))]);
    // A loss is shown first. If a link line delays everything, the names are more interesting.
    let (first, last) = if both_legs.is_lost {
        (link, None)
    } else {
        (None, link)
    };
    parts.extend(first);
    parts.push(messages(&plain));
    if let Some(reading) = reading
        && all.is_empty()
    {
        let text = reading
            .error
            .map_or("no messages".to_owned(), |error| error.to_string());
        parts.push(vec![Span::styled(text, theme.quiet())]);
    }
    if let EventKind::Datagram(datagram) = &decoded.event.what
        && datagram.origin == Origin::Proxy
    {
        parts.push(vec![Span::styled("by the proxy", theme.quiet())]);
    }
    parts.extend(last);
    parts.retain(|part| !part.is_empty());
    Line::from(parts.join(&Span::raw("  ")))
}

fn link_style(both_legs: &BothLegs, theme: Theme) -> Style {
    if both_legs.is_lost {
        theme.action()
    } else {
        theme.quiet()
    }
}

fn first_seen(at: Time) -> String {
    format!("first {}", seconds(at - Time::ZERO).trim_start())
}

/// Returns true if a rule, a person or the proxy acted on a message.
fn is_touched(message: &Message) -> bool {
    matches!(message.handling.origin, Origin::Rule | Origin::User) || message.outcome().is_some()
}

/// Returns the names and outcomes of messages. Equal messages in a row are counted.
fn messages(reading: Option<&Reading>, list: &[&Message], theme: Theme) -> Vec<Span<'static>> {
    let messages = list.iter().filter_map(|message| {
        let mut spans = vec![Span::raw(reading?.label(message).into_owned())];
        match message.handling.origin {
            Origin::Rule => spans.push(Span::styled(" by a rule", theme.action())),
            Origin::User => spans.push(Span::styled(" by hand", theme.action())),
            Origin::Peer | Origin::Proxy => {}
        }
        if let Some(outcome) = message.outcome() {
            spans.push(Span::styled(format!(" {outcome}"), theme.action()));
        }
        Some(spans)
    });
    let mut parts: Vec<Vec<Span<'static>>> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for spans in messages {
        match (parts.last(), counts.last_mut()) {
            (Some(last), Some(count)) if *last == spans => *count += 1,
            _ => {
                parts.push(spans);
                counts.push(1);
            }
        }
    }
    for (spans, count) in parts.iter_mut().zip(counts).filter(|(_, count)| *count > 1) {
        spans.push(Span::styled(format!(" ×{count}"), theme.quiet()));
    }
    parts.join(&Span::styled(", ", theme.quiet()))
}

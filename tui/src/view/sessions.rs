//! The sessions: one line each, and the legs of the selected session.
//!
//! ```text
//!  #1   seven        0.7    online   online     12 s   8/16 ms  0/1     2    5   1   0  _-=#
//! ```

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_inspect::follow::{Followed, Leg, LegState};
use teetap_proxy::session::{SessionId, State, Time};
use teetap_wire::Side;

use super::{empty, graph::spark, put};
use crate::app::{App, Pane};

/// Number of lines about the selected session.
const DETAIL: u16 = 4;

/// Columns below which the lines about a session are shortened.
const NARROW: u16 = 76;

/// A column of the table.
struct Column {
    name: &'static str,
    width: usize,
    /// On narrow screens columns with a lower rank are left out first.
    rank: u8,
    is_right: bool,
    text: fn(SessionId, &Followed, Time) -> String,
}

const fn left(
    name: &'static str,
    width: usize,
    rank: u8,
    text: fn(SessionId, &Followed, Time) -> String,
) -> Column {
    Column {
        name,
        width,
        rank,
        is_right: false,
        text,
    }
}

const fn right(
    name: &'static str,
    width: usize,
    rank: u8,
    text: fn(SessionId, &Followed, Time) -> String,
) -> Column {
    Column {
        is_right: true,
        ..left(name, width, rank, text)
    }
}

/// All columns in order; the sparkline uses the remaining width.
const COLUMNS: [Column; 12] = [
    left("id", 4, 9, |id, _, _| format!("#{}", id.0)),
    left("player", 12, 9, |_, session, _| player(session)),
    left("proto", 6, 5, |_, session, _| {
        session.proto.map_or(String::new(), |proto| proto.to_string())
    }),
    left("client", 7, 8, |_, session, now| {
        state(session, Side::Client, now)
    }),
    left("server", 7, 8, |_, session, now| {
        state(session, Side::Server, now)
    }),
    right("age", 6, 7, |_, session, now| age(session.age(now).as_secs())),
    right("rtt c/s", 9, 8, |_, session, _| {
        both(session, |leg| ms(leg.rtt()))
    }),
    right("lost", 6, 6, |_, session, _| {
        both(session, |leg| leg.lost.to_string())
    }),
    right("resent", 6, 4, |_, session, _| {
        both(session, |leg| leg.resends.to_string())
    }),
    right("drop", 5, 3, |_, session, _| session.counts.dropped.to_string()),
    right("inj", 4, 3, |_, session, _| session.counts.injected.to_string()),
    right("lint", 5, 6, |_, session, _| session.counts.lints.to_string()),
];

/// Minimum columns of the sparkline.
const SPARK: usize = 8;

fn player(session: &Followed) -> String {
    session.player.clone().unwrap_or_else(|| "?".to_owned())
}

/// Returns the state of a leg. A peer that was online may have become silent.
fn state(session: &Followed, side: Side, now: Time) -> String {
    let state = match session.silence(side, now) {
        Some(_) => LegState::Silent,
        None => session.leg(side).state,
    };
    state.to_string()
}

/// Returns the values of the client's and the server's leg.
fn both(session: &Followed, value: fn(&Leg) -> String) -> String {
    let [client, server] = [Side::Client, Side::Server].map(|side| value(session.leg(side)));
    format!("{client}/{server}")
}

fn ms(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |ms| format!("{ms:.0}"))
}

fn age(seconds: u64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the columns that fit, each with a space.
fn fitting(width: usize) -> Vec<&'static Column> {
    let mut least = 0;
    loop {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.rank >= least).collect();
        let used: usize = columns.iter().map(|column| column.width + 1).sum();
        if used + SPARK < width || least >= 9 {
            return columns;
        }
        least += 1;
    }
}

/// Draws the table, and the legs of the selected session if there is room.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let count = app.sessions.follow.sessions().len();
    if count == 0 {
        let connect = app.run.title.invitation("no session");
        return empty(buffer, area, &[&connect]);
    }
    let detail = if area.height >= 8 { DETAIL } else { 0 };
    let table = Rect {
        height: area.height - detail,
        ..area
    };
    let body = super::below(table, 1);
    app.panes.areas.push((Pane::Sessions, body));
    let columns = fitting(area.width.into());
    let mut lines = table.rows();
    if let Some(line) = lines.next() {
        let mut text = String::new();
        for column in &columns {
            text.push_str(&aligned(column, column.name));
        }
        put(
            buffer,
            line,
            &Line::styled(format!("{text}  msgs/s"), app.look.theme.quiet()),
        );
    }
    let top = app
        .sessions
        .cursor
        .fit(usize::from(table.height.saturating_sub(1)), count);
    let selected = app.sessions.cursor.selected();
    let shown = app.sessions.shown();
    for ((place, (id, session)), line) in app.sessions.follow.sessions().enumerate().skip(top).zip(lines) {
        row(buffer, line, (id, session), &columns, app);
        if shown == Some(id) {
            buffer.set_string(line.x, line.y, "▸", app.look.theme.key());
        }
        if selected == Some(place) {
            buffer.set_style(line, app.look.theme.selected(true));
        }
    }
    let below = super::below(area, table.height);
    if let Some((id, session)) = selected.and_then(|place| app.sessions.follow.sessions().nth(place)) {
        self::detail(buffer, below, app, (id, session));
    }
}

fn row(
    buffer: &mut Buffer,
    line: Rect,
    (id, session): (SessionId, &Followed),
    columns: &[&Column],
    app: &App,
) {
    let style = match session.state {
        State::Closed => app.look.theme.quiet(),
        _ => Style::new(),
    };
    let mut spans = Vec::new();
    for column in columns {
        let text = (column.text)(id, session, app.run.now);
        let is_odd = match column.name {
            "lint" => session.counts.lints > 0,
            "lost" => has_lost(session),
            "client" => session.silence(Side::Client, app.run.now).is_some(),
            "server" => session.silence(Side::Server, app.run.now).is_some(),
            _ => false,
        };
        let style = if is_odd { app.look.theme.warning() } else { style };
        spans.push(Span::styled(aligned(column, &text), style));
    }
    let used: usize = columns.iter().map(|column| column.width + 1).sum();
    let room = usize::from(line.width).saturating_sub(used + 1);
    let rate = session.counts.rates.last();
    let number = format!(" {rate:>4} ");
    let spark = spark(
        session.counts.rates.newest_first(),
        room.saturating_sub(number.len()).min(60),
    );
    spans.push(Span::styled(number, style));
    spans.push(Span::styled(spark, app.look.theme.quiet()));
    put(buffer, line, &Line::from(spans));
}

fn has_lost(session: &Followed) -> bool {
    [Side::Client, Side::Server]
        .into_iter()
        .any(|side| session.leg(side).lost > 0)
}

/// Returns a space and a text, aligned in its column.
fn aligned(column: &Column, text: &str) -> String {
    let (text, space) = super::fitted(text, column.width);
    if column.is_right {
        format!(" {space}{text}")
    } else {
        format!(" {text}{space}")
    }
}

/// Draws the legs of a session.
fn detail(buffer: &mut Buffer, area: Rect, app: &App, (id, session): (SessionId, &Followed)) {
    let theme = app.look.theme;
    let rule = super::ruled(&format!("#{} {}", id.0, player(session)), area.width);
    let is_narrow = area.width < NARROW;
    let mut lines = area.rows();
    let mut next = |line: Line<'_>| {
        if let Some(area) = lines.next() {
            put(buffer, area, &line);
        }
    };
    next(Line::styled(rule, theme.quiet()));
    for side in [Side::Client, Side::Server] {
        let leg = session.leg(side);
        let loss = leg
            .loss()
            .map_or(String::new(), |loss| format!(" ({:.1} %)", loss * 100.0));
        let rtt = leg.rtt().map_or("-".to_owned(), |rtt| format!("{rtt:.1} ms"));
        let silence = session.silence(side, app.run.now);
        let state = match silence {
            Some(silence) if !is_narrow => format!("silent {}", age(silence.as_secs())),
            _ => state(session, side, app.run.now),
        };
        let style = if silence.is_some() {
            theme.warning()
        } else {
            Style::new()
        };
        let (vital, resends, lost) = (leg.vital, leg.resends, leg.lost);
        let text = match is_narrow {
            true => {
                format!(" {side} {state:<7} rtt {rtt:<8} vital {vital:<4} resent {resends:<3} lost {lost}")
            }
            false => format!(
                " {side} leg  {state:<8} rtt {rtt:<10} vital {vital:<6} resent {resends:<5} lost {lost}{loss}"
            ),
        };
        next(Line::styled(text, style));
    }
    let client = session
        .client
        .map_or(String::new(), |client| format!("  client {client}"));
    let is_silent = [Side::Client, Side::Server]
        .iter()
        .any(|side| session.silence(*side, app.run.now).is_some());
    let rules = if is_narrow { "" } else { "rules: " };
    // The session is still open, but a silent peer is not called online.
    let state = match is_narrow || is_silent {
        true => String::new(),
        false => format!("  {}", session.state),
    };
    let text = format!(
        " {rules}{} dropped, {} edited, {} injected{state}{client}",
        session.counts.dropped, session.counts.edited, session.counts.injected
    );
    next(Line::styled(text, theme.quiet()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_two_units_at_most() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m00s"),
            (61, "1m01s"),
            (3599, "59m59s"),
            (3600, "1h00m"),
            (7260, "2h01m"),
            (3600 * 26 + 60 * 59 + 59, "26h59m"),
        ] {
            assert_eq!(age(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn a_round_trip_is_in_whole_milliseconds() {
        assert_eq!([None, Some(0.4), Some(41.6)].map(ms), ["-", "0", "42"]);
    }

    /// The columns of lower rank give way to a narrow screen, in groups, but never all.
    #[test]
    fn the_columns_leave_room_for_the_graph() {
        let mut before: Vec<&str> = fitting(0).iter().map(|column| column.name).collect();
        assert_eq!(before, ["id", "player"]);
        for width in 1..200 {
            let columns = fitting(width);
            let used: usize = columns.iter().map(|column| column.width + 1).sum();
            let names: Vec<_> = columns.iter().map(|column| column.name).collect();
            assert!(
                used + SPARK < width || names == ["id", "player"],
                "{width}: {names:?}"
            );
            let rank = columns.iter().map(|column| column.rank).min();
            let is_whole = |column: &&Column| Some(column.rank) >= rank;
            assert_eq!(names.len(), COLUMNS.iter().filter(is_whole).count(), "{width}");
            assert!(names.len() >= before.len(), "{width}: {names:?} after {before:?}");
            before = names;
        }
        assert_eq!(before.len(), COLUMNS.len());
    }
}

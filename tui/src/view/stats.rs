//! The statistics of a session: totals, messages and items by bytes, and graphs.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_inspect::{
    follow::{Counts, Followed},
    row,
};
use teetap_proxy::session::Time;
use teetap_wire::{Dir, Side};

use super::{empty, graph, put, session_title};
use crate::{
    Theme,
    app::{App, Pane, cursor::Cursor},
};

/// Columns of the tables.
const TABLE: u16 = 50;

/// Columns of the table of items.
const ITEMS: u16 = 30;

/// Minimum columns of a graph if several are in a row.
const GRAPH: u16 = 56;

/// Minimum lines of a graph.
const GRAPH_LINES: u16 = 8;

/// Draws totals, tables and the graphs that fit.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let mut cursor = app.sessions.stats.cursor;
    let table = paint(buffer, area, app, &mut cursor);
    app.sessions.stats.cursor = cursor;
    app.panes.areas.extend(table.map(|rows| (Pane::Stats, rows)));
}

/// Draws the statistics. Returns the area of the rows in the table of messages.
fn paint(buffer: &mut Buffer, area: Rect, app: &App, cursor: &mut Cursor) -> Option<Rect> {
    let session = app.sessions.shown();
    let Some((id, followed)) = session.and_then(|id| Some((id, app.sessions.follow.session(id)?))) else {
        let connect = app.run.title.invitation("no session");
        empty(buffer, area, &[&connect]);
        return None;
    };
    let mut lines = area.rows();
    let all = app.sessions.counts_all();
    let title = match all {
        true => Line::from(vec![
            Span::styled(" all sessions", app.look.theme.title(true)),
            Span::styled(format!("  legs and graphs of #{}", id.0), app.look.theme.quiet()),
        ]),
        false => session_title(app, id),
    };
    let totals = totals(followed, app.look.theme, area.width);
    let head = [title, run(app)].into_iter().chain(totals);
    let head: Vec<Line<'_>> = head.take(usize::from(area.height.div_ceil(4))).collect();
    for (line, area) in head.iter().zip(lines.by_ref()) {
        put(buffer, area, line);
    }
    let used = u16::try_from(head.len()).unwrap_or(0);
    let below = super::below(area, used);
    let counts = match all {
        true => app.sessions.follow.total(),
        false => &followed.counts,
    };
    if area.width >= TABLE + GRAPH {
        let left = Rect {
            width: TABLE,
            ..below
        };
        let half = Rect {
            height: below.height / 2,
            ..left
        };
        messages(buffer, half, app, (counts, cursor));
        let rest = super::below(left, half.height);
        items(buffer, rest, app.look.theme, counts);
        let right = Rect {
            x: left.right() + 1,
            width: below.width - TABLE - 1,
            ..below
        };
        graphs(buffer, right, app, followed);
        return Some(super::below(half, 1));
    }
    // On a small screen the table keeps its head and three rows.
    let least = GRAPH_LINES.min(below.height.saturating_sub(4));
    let tables = Rect {
        height: below.height.saturating_sub((below.height / 2).max(least)),
        ..below
    };
    let left = Rect {
        width: TABLE.min(area.width),
        ..tables
    };
    messages(buffer, left, app, (counts, cursor));
    if area.width >= TABLE + ITEMS {
        let right = Rect {
            x: left.right() + 1,
            width: area.width - left.width - 1,
            ..tables
        };
        items(buffer, right, app.look.theme, counts);
    }
    let bottom = super::below(below, tables.height);
    graphs(buffer, bottom, app, followed);
    Some(super::below(left, 1))
}

/// Returns the counts of the whole run, and its seed.
fn run(app: &App) -> Line<'static> {
    let meter = &app.run.meter;
    let mut facts = vec![
        ("run", format!("{} messages", meter.messages)),
        ("now", format!("{}/s", meter.rate())),
    ];
    if meter.dropped > 0 {
        facts.push(("dropped", meter.dropped.to_string()));
    }
    facts.extend(app.run.title.seed.map(|seed| ("seed", seed.to_string())));
    let mut line = Line::raw(" ");
    for (name, text) in facts {
        line.push_span(Span::styled(format!("{name} "), app.look.theme.quiet()));
        line.push_span(Span::raw(format!("{text}  ")));
    }
    line
}

/// Returns the totals of a session, in two lines, or more if they do not fit.
fn totals(session: &Followed, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let leg = |side| {
        let leg = session.leg(side);
        let rtt = leg.rtt().map_or("-".to_owned(), |rtt| format!("{rtt:.1}"));
        let resends = match leg.vital {
            0 => 0.0,
            vital => leg.resends as f64 * 100.0 / vital as f64,
        };
        (rtt, resends)
    };
    let ((client, client_resends), (server, server_resends)) = (leg(Side::Client), leg(Side::Server));
    let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let ratio = |dir| {
        let ratio = session.counts.packed(dir).ratio();
        ratio.map_or("-".to_owned(), |ratio| format!("{:.0} %", ratio * 100.0))
    };
    let first = [
        ("rtt c/s", format!("{client}/{server} ms")),
        ("resent", format!("{client_resends:.1}/{server_resends:.1} %")),
        ("input margin", format!("{} ms", value(session.margins.mean()))),
    ];
    let second = [
        ("snapshots", format!("{} bytes", value(session.snapshots.mean()))),
        (
            "every",
            format!(
                "{} ms ±{}",
                value(session.intervals.mean()),
                value(session.intervals.spread())
            ),
        ),
        (
            "huffman",
            format!("c→s {} s→c {}", ratio(Dir::C2s), ratio(Dir::S2c)),
        ),
    ];
    let mut lines: Vec<Line<'static>> = Vec::new();
    for facts in [first, second] {
        lines.push(Line::raw(" "));
        for (name, text) in facts {
            // Includes the spaces that follow.
            let columns = name.len() + 3 + Line::raw(text.as_str()).width();
            if lines
                .last()
                .is_none_or(|line| line.width() + columns > usize::from(width))
            {
                lines.push(Line::raw(" "));
            }
            if let Some(line) = lines.last_mut() {
                line.push_span(Span::styled(format!("{name} "), theme.quiet()));
                line.push_span(Span::raw(format!("{text}  ")));
            }
        }
    }
    lines
}

/// Draws the table of messages, sorted by bytes in descending order.
fn messages(buffer: &mut Buffer, area: Rect, app: &App, (counts, cursor): (&Counts, &mut Cursor)) {
    let mut rows: Vec<_> = counts.messages().collect();
    rows.sort_by(|(dir, name, count), (other_dir, other, others)| {
        let by_bytes = others.bytes.cmp(&count.bytes);
        by_bytes.then_with(|| (dir, name).cmp(&(other_dir, other)))
    });
    let height = usize::from(area.height.saturating_sub(1));
    let top = cursor.fit(height, rows.len());
    let selected = cursor.selected();
    let theme = app.look.theme;
    let mut lines = area.rows();
    let head = format!(
        "     {:<18}{:>7}{:>7}{:>6}{:>7}",
        "message", "count", "bytes", "/s", "B/s"
    );
    if let Some(line) = lines.next() {
        put(buffer, line, &Line::styled(head, theme.quiet()));
    }
    for ((place, (dir, name, count)), line) in rows.iter().enumerate().skip(top).zip(lines) {
        let (messages, bytes) = count.rate(app.run.now);
        let arrow = row::arrow(*dir, None);
        let text = format!(
            "{:>7}{:>7}{:>6}{:>7}",
            short(count.messages),
            short(count.bytes),
            shorter(messages),
            short(bytes)
        );
        let spans = vec![
            Span::styled(format!(" {arrow} "), theme.direction(*dir)),
            Span::raw(super::padded(name, 18)),
            Span::raw(text),
        ];
        put(buffer, line, &Line::from(spans));
        if selected == Some(place) {
            buffer.set_style(line, theme.selected(true));
        }
    }
}

/// Returns a number in at most five columns.
fn shorter(number: u64) -> String {
    match number {
        ..10_000 => number.to_string(),
        number => short(number.max(100_000) / 100_000 * 100_000),
    }
}

/// Returns a number in at most six columns.
fn short(number: u64) -> String {
    match number {
        ..100_000 => number.to_string(),
        100_000..100_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// Draws the table of snapshot items, sorted by bytes in descending order.
fn items(buffer: &mut Buffer, area: Rect, theme: Theme, counts: &Counts) {
    let mut rows: Vec<_> = counts.items().collect();
    rows.sort_by_key(|(_, items)| std::cmp::Reverse(items.bytes));
    let width = usize::from(area.width).saturating_sub(15).min(24);
    let mut lines = area.rows();
    let head = format!(" {:<width$}{:>7}{:>7}", "snapshot item", "count", "bytes");
    if let Some(line) = lines.next() {
        put(buffer, line, &Line::styled(head, theme.quiet()));
    }
    for ((name, items), line) in rows.iter().zip(lines) {
        let text = format!(
            " {}{:>7}{:>7}",
            super::padded(name, width),
            short(items.items),
            short(items.bytes)
        );
        put(buffer, line, &Line::styled(text, Style::new()));
    }
}

/// Draws the graphs that fit.
fn graphs(buffer: &mut Buffer, area: Rect, app: &App, session: &Followed) {
    let columns = (area.width / GRAPH).clamp(1, 2);
    let rows = (area.height / (GRAPH_LINES + 2)).clamp(1, 4);
    let (width, height) = (area.width / columns, area.height / rows);
    let now: Time = app.run.now.max(session.last);
    for (place, graph) in (0..columns * rows).zip(app.sessions.stats.graphs()) {
        let (column, row) = (place % columns, place / columns);
        let part = Rect {
            x: area.x + column * width,
            y: area.y + row * height,
            width: if column + 1 == columns {
                area.width - column * width
            } else {
                width - 1
            },
            height: if row + 1 == rows {
                area.height - row * height
            } else {
                height
            },
        };
        graph::draw(buffer, part, app, graph, (session, now));
    }
}

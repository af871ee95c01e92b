//! The current snapshot: its items with old and new values, and a map.
//!
//! ```text
//!  ~ character[0]       x=320→322 vel_x=0→512
//! ```

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    symbols::Marker,
    text::{Line, Span},
    widgets::{
        Widget as _,
        canvas::{Canvas, Circle, Line as Beam, Points},
    },
};
use teetap_inspect::{
    item_rows,
    snapshots::{Thing, places},
};
use teetap_wire::{
    Dir,
    snap::{Completed, Fate},
};

use super::{empty, padded, put, session_title};
use crate::{
    Theme,
    app::{App, Pane},
};

/// Columns for the names of items.
const NAME: usize = 20;

/// Minimum columns for a map beside the items.
const WIDE: u16 = 110;

/// World units per tile.
const TILE: f64 = 32.0;

/// Draws the items, with the map beside or instead of them.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let Some(session) = app.sessions.shown() else {
        let connect = app.run.title.invitation("no session");
        return empty(buffer, area, &[&connect]);
    };
    let mut lines = area.rows();
    if let Some(line) = lines.next() {
        put(buffer, line, &session_title(app, session));
    }
    let below = super::below(area, 1);
    let Some(retained) = app.sessions.snapshot.get(session) else {
        let sentence = "no snapshot yet: the server sends them once the player has entered the game";
        return empty(buffer, below, &[sentence]);
    };
    let completed = retained.view();
    if let Some(line) = lines.next() {
        put(buffer, line, &head(&completed, app.look.theme));
    }
    let below = super::below(area, 2);
    let (list, chart) = match (app.sessions.snapshot.has_map, area.width >= WIDE) {
        (false, _) => (below, Rect::default()),
        (true, false) => (Rect { height: 0, ..below }, below),
        (true, true) => {
            let width = below.width / 2;
            let chart = Rect {
                x: below.x + below.width - width,
                width,
                ..below
            };
            let list = Rect {
                width: below.width - width - 1,
                ..below
            };
            (list, chart)
        }
    };
    items(buffer, list, app, &completed);
    if !chart.is_empty() {
        map(buffer, chart, app, &completed);
    }
}

/// Returns the tick, the base, the result of the checksum and the counts.
fn head(completed: &Completed<'_>, theme: Theme) -> Line<'static> {
    let counts = completed.counts;
    let base = completed
        .base
        .map_or("without a base".to_owned(), |base| format!("base {base}"));
    let mut line = Line::raw(format!(" tick {} {base}  ", completed.tick));
    let fate = match completed.fate {
        Fate::Kept => "",
        Fate::Late => "  late",
        Fate::Again => "  received again",
        Fate::NoBase => "  its base is not known",
        Fate::Broken => "  broken",
        Fate::BadCrc => "  refused",
    };
    let (text, style) = match completed.crc {
        None => ("crc not sent".to_owned(), theme.quiet()),
        Some(crc) if crc.ok() => (format!("crc ok {}", crc.actual), theme.good()),
        Some(crc) => (
            format!("crc {} instead of {}!", crc.stated, crc.actual),
            theme.warning(),
        ),
    };
    line.push_span(Span::styled(text, style));
    line.push_span(Span::styled(fate, theme.warning()));
    line.push_span(Span::raw(format!(
        "  {} items: {} new, {} changed, {} deleted",
        counts.items, counts.new, counts.changed, counts.deleted
    )));
    line
}

/// Draws the visible items.
fn items(buffer: &mut Buffer, area: Rect, app: &mut App, completed: &Completed<'_>) {
    app.panes.areas.push((Pane::Snapshot, area));
    let count = completed.items().count();
    let top = app.sessions.snapshot.cursor.fit(area.height.into(), count);
    let selected = app.sessions.snapshot.cursor.selected();
    let theme = app.look.theme;
    let rows = item_rows(completed, top, area.height.into(), app.look.style.secrets);
    for ((place, row), line) in (top..).zip(&rows).zip(area.rows()) {
        let (sign, values) = match row.sign {
            '+' => (theme.good(), Style::new()),
            '-' => (theme.warning(), Style::new()),
            '~' => (theme.action(), Style::new()),
            _ => (theme.quiet(), theme.quiet()),
        };
        let spans = vec![
            Span::styled(format!(" {} ", row.sign), sign),
            Span::raw(padded(&row.name, NAME)),
            Span::styled(row.values.as_str(), values),
        ];
        put(buffer, line, &Line::from(spans));
        if selected == Some(place) {
            buffer.set_style(line, theme.selected(true));
        }
    }
}

/// Draws the positions of tees, hooks, shots, pickups and flags.
fn map(buffer: &mut Buffer, area: Rect, app: &App, completed: &Completed<'_>) {
    let theme = app.look.theme;
    let places = places(completed);
    let legend = " tees by client id, hooks and lasers as lines, + pickup, * shot, F flag";
    let mut lines = area.rows();
    if let Some(line) = lines.next() {
        put(buffer, line, &Line::styled(legend, theme.quiet()));
    }
    let inner = super::below(area, 1);
    let [x, y] = bounds(&places, inner);
    let marker = if app.look.ascii {
        Marker::Dot
    } else {
        Marker::Braille
    };
    let canvas = Canvas::default()
        .marker(marker)
        .x_bounds(x)
        .y_bounds(y)
        .paint(|context| {
            for (thing, x, y) in &places {
                let (x, y) = (*x as f64, -*y as f64);
                match *thing {
                    Thing::Hook(from_x, from_y) | Thing::Laser(from_x, from_y) => {
                        let color = theme.direction(Dir::C2s).fg.unwrap_or_default();
                        context.draw(&Beam::new(from_x as f64, -from_y as f64, x, y, color));
                    }
                    Thing::Tee(_) => {
                        let color = theme.direction(Dir::S2c).fg.unwrap_or_default();
                        context.draw(&Circle {
                            x,
                            y,
                            radius: TILE / 2.0,
                            color,
                        });
                    }
                    Thing::Projectile | Thing::Pickup | Thing::Flag => {
                        context.draw(&Points::new(&[(x, y)], Style::new().fg.unwrap_or_default()));
                    }
                }
            }
            context.layer();
            for (thing, x, y) in &places {
                let text = match thing {
                    Thing::Tee(id) => Line::styled(id.to_string(), theme.name_of(theme.direction(Dir::S2c))),
                    Thing::Projectile => Line::styled("*", theme.action()),
                    Thing::Pickup => Line::styled("+", theme.quiet()),
                    Thing::Flag => Line::styled("F", theme.key()),
                    Thing::Hook(..) | Thing::Laser(..) => continue,
                };
                context.print(*x as f64, -*y as f64, text);
            }
        });
    canvas.render(inner, buffer);
}

/// Returns the bounds of the world that contain all positions, in the proportions of the area.
fn bounds(places: &[(Thing, i64, i64)], area: Rect) -> [[f64; 2]; 2] {
    let span = |values: &mut dyn Iterator<Item = i64>| {
        let (least, most) = values.fold((i64::MAX, i64::MIN), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        match least <= most {
            true => (least as f64 - 2.0 * TILE, most as f64 + 2.0 * TILE),
            false => (0.0, TILE),
        }
    };
    let (left, right) = span(&mut places.iter().map(|(_, x, _)| *x));
    let (low, high) = span(&mut places.iter().map(|(_, _, y)| -*y));
    // A cell is twice as high as it is wide.
    let (columns, rows) = (f64::from(area.width.max(1)), 2.0 * f64::from(area.height.max(1)));
    let unit = ((right - left) / columns).max((high - low) / rows);
    let around = |low: f64, high: f64, cells: f64| {
        let (middle, half) = (f64::midpoint(low, high), unit * cells / 2.0);
        [middle - half, middle + half]
    };
    [around(left, right, columns), around(low, high, rows)]
}

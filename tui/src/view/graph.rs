//! Graphs over time, and sparklines.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Chart, Dataset, GraphType, Widget as _},
};
use teetap_inspect::follow::{Followed, SECONDS, Samples, Track};
use teetap_proxy::session::Time;
use teetap_wire::{Dir, Side};

use super::put;
use crate::{
    Theme,
    app::{App, stats::Graph},
};

/// A line of a graph.
struct Series {
    name: String,
    /// Points: seconds before now (negative), and value.
    points: Vec<(f64, f64)>,
    marker: Marker,
    style: Style,
}

/// A graph with its lines.
struct Plot {
    title: &'static str,
    series: Vec<Series>,
    /// True if the value axis includes zero.
    from_zero: bool,
}

/// Draws a graph of a session under a title with its legend.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    app: &App,
    graph: Graph,
    (session, now): (&Followed, Time),
) {
    let theme = app.look.theme;
    let plot = plot(graph, session, now, theme);
    let mut title = Line::default();
    title.push_span(Span::styled(format!("── {} ", plot.title), theme.title(true)));
    for series in &plot.series {
        title.push_span(Span::styled(format!(" {}", glyph(series.marker)), series.style));
        title.push_span(Span::raw(format!(" {}", series.name)));
    }
    let first = Rect {
        height: area.height.min(1),
        ..area
    };
    put(buffer, first, &title);
    let inner = super::below(area, 1);
    let points = || plot.series.iter().flat_map(|series| &series.points);
    if inner.height < 3 || inner.width < 20 {
        return;
    }
    if points().next().is_none() {
        let row = Rect { height: 1, ..inner };
        return put(
            buffer,
            row,
            &Line::styled("   nothing measured so far", theme.quiet()),
        );
    }
    let values = || points().map(|(_, value)| *value);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    let low = if plot.from_zero { least.min(0.0) } else { least };
    let (low, high) = round_range(low, most);
    let oldest = points().map(|(at, _)| *at).fold(0.0, f64::min).min(-1.0);
    let oldest = -round_time(-oldest);
    let sets = plot.series.iter().map(|series| {
        let kind = match series.marker {
            Marker::Braille => GraphType::Line,
            _ => GraphType::Scatter,
        };
        Dataset::default()
            .marker(series.marker)
            .graph_type(kind)
            .style(series.style)
            .data(&series.points)
    });
    let label = |text: String| Span::styled(text, theme.quiet());
    let across = Axis::default()
        .bounds([oldest, 0.0])
        .style(theme.quiet())
        .labels([
            label(format!("{oldest:.0} s")),
            label(format!("{} s", number(oldest / 2.0))),
            label("now".to_owned()),
        ]);
    let middle = (low + high) / 2.0;
    let up = Axis::default()
        .bounds([low, high])
        .style(theme.quiet())
        .labels([low, middle, high].map(|value| label(format!("{:>7}", number(value)))));
    Chart::new(sets.collect())
        .x_axis(across)
        .y_axis(up)
        .legend_position(None)
        .render(inner, buffer);
}

/// Returns the smallest round step that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= least * 0.999)
        .unwrap_or(power * 10.0)
}

/// Returns round ends of an axis of two steps that includes both values.
fn round_range(least: f64, most: f64) -> (f64, f64) {
    let mut step = round_step(((most - least) / 2.0).max(0.5));
    loop {
        let low = (least / step).floor() * step;
        // Rounding never excludes the value itself.
        if low + 2.0 * step >= most || !step.is_finite() {
            return (low, low + 2.0 * step);
        }
        step = round_step(step * 1.1);
    }
}

/// Returns the smallest round number of seconds that is at least this one.
fn round_time(seconds: f64) -> f64 {
    let steps = [
        2.0, 4.0, 6.0, 10.0, 20.0, 30.0, 40.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 600.0,
    ];
    steps.into_iter().find(|step| *step >= seconds).unwrap_or(seconds)
}

/// Returns a value as text, with a decimal if it is small.
fn number(value: f64) -> String {
    if value.abs() < 10.0 && value.fract().abs() > 0.01 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Returns the character of a marker in the legend.
const fn glyph(marker: Marker) -> char {
    match marker {
        Marker::Braille => '⠒',
        Marker::Custom(char) => char,
        _ => '•',
    }
}

fn plot(graph: Graph, session: &Followed, now: Time, theme: Theme) -> Plot {
    let one = |title, samples: &Samples, dir| Plot {
        title,
        series: vec![Series {
            name: described(samples),
            points: recent(samples, now),
            marker: Marker::Braille,
            style: theme.direction(dir),
        }],
        from_zero: true,
    };
    match graph {
        Graph::Trips => Plot {
            title: "rtt ms",
            series: [(Side::Client, Marker::Braille), (Side::Server, Marker::Dot)]
                .map(|(side, marker)| trips(session, side, marker, (now, theme)))
                .into(),
            from_zero: true,
        },
        Graph::NumbersC2s => numbers("seq to server", session, Dir::C2s, (now, theme)),
        Graph::NumbersS2c => numbers("seq to client", session, Dir::S2c, (now, theme)),
        Graph::Rate => {
            let rates = &session.counts.rates;
            let points = (1..).zip(rates.newest_first());
            let points = points.map(|(second, count): (u32, u64)| (-f64::from(second), count as f64));
            Plot {
                title: "messages/s",
                series: vec![Series {
                    name: format!("now {}", rates.last()),
                    points: points.collect(),
                    marker: Marker::Braille,
                    style: theme.good(),
                }],
                from_zero: true,
            }
        }
        Graph::Snapshots => one("snapshot bytes", &session.snapshots, Dir::S2c),
        Graph::Intervals => one("ms between snapshots", &session.intervals, Dir::S2c),
        Graph::Margins => one("input margin ms", &session.margins, Dir::C2s),
    }
}

fn trips(session: &Followed, side: Side, marker: Marker, (now, theme): (Time, Theme)) -> Series {
    let leg = session.leg(side);
    let rtt = leg.rtt().map_or("-".to_owned(), number);
    Series {
        name: format!("{side} {rtt}"),
        points: recent(&leg.trips, now),
        marker,
        style: theme.direction(Dir::from_sender(side)),
    }
}

/// Returns the plot of sequence numbers and acks on both legs.
fn numbers(title: &'static str, session: &Followed, dir: Dir, (now, theme): (Time, Theme)) -> Plot {
    let tracks = [
        (Track::SeqIn, "seq", dir.sender(), Marker::Braille),
        (Track::SeqOut, "seq", dir.receiver(), Marker::Dot),
        (Track::AckIn, "ack", dir.receiver(), Marker::Custom('+')),
        (Track::AckOut, "ack", dir.sender(), Marker::Custom('x')),
    ];
    let series = tracks.map(|(track, what, side, marker)| {
        let points = session.way(dir).points().filter(|point| point.track == track);
        Series {
            name: format!("{what} {}", initial(side)),
            points: points
                .map(|point| (before(point.at, now), point.number as f64))
                .collect(),
            marker,
            style: theme.direction(Dir::from_sender(side)),
        }
    });
    Plot {
        title,
        series: series.into(),
        from_zero: false,
    }
}

/// Returns the letter of a side, as in the arrows of directions.
const fn initial(side: Side) -> char {
    match side {
        Side::Client => 'c',
        Side::Server => 's',
    }
}

fn described(samples: &Samples) -> String {
    let [mean, spread] = [samples.mean(), samples.spread()].map(|value| value.map_or("-".to_owned(), number));
    format!("mean {mean} ±{spread}")
}

/// Returns the samples that fit the graph's period.
fn recent(samples: &Samples, now: Time) -> Vec<(f64, f64)> {
    let points = samples.iter().map(|(at, value)| (before(at, now), value));
    points.filter(|(at, _)| *at >= -(SECONDS as f64)).collect()
}

/// Returns the seconds from now to a past time, as a negative number.
fn before(at: Time, now: Time) -> f64 {
    -now.since(at).as_secs_f64()
}

/// Bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the newest values as bars, the newest at the right. Zero is a space.
pub(super) fn spark(newest_first: impl Iterator<Item = u64>, width: usize) -> String {
    let values: Vec<u64> = newest_first.take(width).collect();
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let bar = |value: &u64| match value.checked_mul(8).map(|eighths| eighths.div_ceil(most)) {
        Some(0) => ' ',
        eighths => {
            let place = eighths.unwrap_or(8).saturating_sub(1);
            let place = usize::try_from(place).unwrap_or(0);
            BARS.get(place).copied().unwrap_or('█')
        }
    };
    values.iter().rev().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_relative_to_the_most() {
        assert_eq!(spark([8, 4, 1, 0, 9].into_iter(), 4), " ▁▄█");
        assert_eq!(spark([0, 0].into_iter(), 9), "  ");
        assert_eq!(spark([u64::MAX, 0].into_iter(), 9), " █");
    }

    #[test]
    fn axes_have_round_ends_around_their_values() {
        for (least, most, range) in [
            (0.0, 45.0, (0.0, 50.0)),
            (0.0, 40.0, (0.0, 40.0)),
            (0.0, 422.0, (0.0, 500.0)),
            (0.0, 0.0, (0.0, 1.0)),
            (0.0, 3.0, (0.0, 4.0)),
            (103.0, 118.0, (100.0, 120.0)),
            (99.0, 101.0, (99.0, 101.0)),
            (-3.0, 12.0, (-20.0, 20.0)),
        ] {
            let (low, high) = round_range(least, most);
            assert!(low <= least && most <= high, "{least} {most}: {low} {high}");
            let close = |one: f64, other: f64| (one - other).abs() < 1e-6;
            assert!(
                close(low, range.0) && close(high, range.1),
                "{least} {most}: {low} {high}"
            );
        }
        assert_eq!([0.5, 9.0, 55.0, 700.0].map(round_time), [2.0, 10.0, 60.0, 700.0]);
    }
}

//! The result of a comparison as JSON lines.

use serde::Serialize;
use teetap_inspect::{
    Layer,
    diff::{Comparison, Difference, How, Measure, Side, Statistic},
    jsonl::VERSION,
};
use teetap_proxy::session::Time;
use teetap_wire::{Dir, printable};

use super::{Outcome, Read};

#[derive(Serialize)]
struct DiffLine<T> {
    v: u8,
    t: f64,
    event: &'static str,
    #[serde(flatten)]
    body: T,
}

/// First line: both sides.
#[derive(Serialize)]
struct Sides {
    a: SideBody,
    b: SideBody,
}

#[derive(Serialize)]
struct SideBody {
    file: String,
    session: u32,
    leg: Option<&'static str>,
    proto: Option<String>,
    client: Option<String>,
    name: Option<String>,
    seconds: f64,
    reached: Option<bool>,
    lost: u64,
    left_messages: u64,
    left_inputs: u64,
    left_snapshots: u64,
}

/// Line of a difference.
#[derive(Serialize)]
struct DifferenceBody<'d> {
    kind: &'static str,
    dir: String,
    layer: Option<&'static str>,
    name: &'d str,
    id: Option<u16>,
    tick: Option<i64>,
    count: u64,
    t_a: Option<f64>,
    t_b: Option<f64>,
    frame_a: Option<u64>,
    frame_b: Option<u64>,
    fields: Vec<FieldBody<'d>>,
    rules: Vec<String>,
}

#[derive(Serialize)]
struct FieldBody<'d> {
    field: &'d str,
    a: Option<&'d str>,
    b: Option<&'d str>,
}

/// Line of a statistic.
#[derive(Serialize)]
struct StatisticBody<'d> {
    name: &'d str,
    dir: String,
    about: Option<&'static str>,
    differs: bool,
    a: MeasureBody<'d>,
    b: MeasureBody<'d>,
}

/// Value of a statistic: the number, or the value of a field that never changes, or null for a field that does.
#[derive(Serialize)]
#[serde(untagged)]
enum MeasureBody<'d> {
    Number(f64),
    Median(i64),
    Count(u64),
    Always(&'d str),
    Varies(()),
}

/// Last line: the totals.
#[derive(Serialize)]
struct SummaryBody {
    same: bool,
    same_game: Option<bool>,
    alike: u64,
    ticks_alike: u64,
    changed: u64,
    only_a: u64,
    only_b: u64,
    order: u64,
    unlisted: u64,
    stops: Vec<StopBody>,
    exit: u8,
}

/// The side that stops sending messages in a direction.
#[derive(Serialize)]
struct StopBody {
    side: &'static str,
    dir: String,
    after: Option<String>,
    t: f64,
    still: Vec<String>,
    more: usize,
}

/// Returns the result as JSON lines.
pub(super) fn lines(result: &Outcome) -> serde_json::Result<String> {
    let [a, b] = &result.sides;
    let mut out = String::new();
    let sides = Sides {
        a: side(a),
        b: side(b),
    };
    push(&mut out, 0.0, "diff", sides)?;
    for difference in result.comparison.differences() {
        let [at_a, at_b] = difference.at;
        let at = at_a.or(at_b).map_or(0.0, Time::as_secs_f64);
        push(&mut out, at, "difference", body(difference))?;
    }
    for one in &result.comparison.statistics {
        push(&mut out, 0.0, "diff_statistic", statistic(one))?;
    }
    let Comparison {
        totals, same_game, ..
    } = &result.comparison;
    let last = a.side.lasted.max(b.side.lasted).as_secs_f64();
    let summary = SummaryBody {
        same: result.comparison.is_same() && a.side.reached == b.side.reached,
        same_game: *same_game,
        alike: totals.alike,
        ticks_alike: totals.ticks_alike,
        changed: totals.changed,
        only_a: totals.only_a,
        only_b: totals.only_b,
        order: totals.moved,
        unlisted: totals.unlisted,
        stops: stops(&result.comparison),
        exit: result.exit.code(),
    };
    push(&mut out, last, "diff_summary", summary)?;
    Ok(out)
}

fn statistic(one: &Statistic) -> StatisticBody<'_> {
    let value = |measure| match measure {
        // Thousandths are more than exact enough.
        &Measure::PerSecond(number) | &Measure::Percent(number) => {
            MeasureBody::Number((number * 1000.0).round() / 1000.0)
        }
        &Measure::Spread(middle, ..) => MeasureBody::Median(middle),
        Measure::Count(count) => MeasureBody::Count(*count),
        Measure::Always(value) => MeasureBody::Always(value),
        Measure::Varies => MeasureBody::Varies(()),
    };
    let [a, b] = &one.values;
    StatisticBody {
        name: &one.name,
        dir: one.dir.to_string(),
        about: one.about,
        differs: one.differs,
        a: value(a),
        b: value(b),
    }
}

fn stops(comparison: &Comparison) -> Vec<StopBody> {
    let stops = [Dir::C2s, Dir::S2c].into_iter().filter_map(|dir| {
        let stop = comparison.stops[dir].as_ref()?;
        let (after, at) = stop.after.clone().unzip();
        Some(StopBody {
            side: if stop.side == 0 { "a" } else { "b" },
            dir: dir.to_string(),
            after: after.map(String::from),
            t: at.map_or(0.0, Time::as_secs_f64),
            still: stop.still.iter().map(|name| name.to_string()).collect(),
            more: stop.more,
        })
    });
    stops.collect()
}

fn push(out: &mut String, t: f64, event: &'static str, body: impl Serialize) -> serde_json::Result<()> {
    let line = DiffLine {
        v: VERSION,
        t,
        event,
        body,
    };
    out.push_str(&serde_json::to_string(&line)?);
    out.push('\n');
    Ok(())
}

fn side(read: &Read) -> SideBody {
    let Side {
        session,
        proto,
        client,
        player,
        lasted,
        lost,
        reached,
        left,
        ..
    } = &read.side;
    SideBody {
        file: read.source.file(),
        session: session.0,
        leg: read.source.leg(),
        proto: proto.map(|proto| proto.to_string()),
        client: client.map(|client| client.to_string()),
        name: player.clone(),
        seconds: lasted.as_secs_f64(),
        reached: *reached,
        lost: *lost,
        left_messages: left.messages,
        left_inputs: left.inputs,
        left_snapshots: left.snapshots,
    }
}

fn body(difference: &Difference) -> DifferenceBody<'_> {
    let [t_a, t_b] = difference.at.map(|at| at.map(Time::as_secs_f64));
    let [frame_a, frame_b] = difference.frame;
    let fields = difference.fields.iter().map(|field| {
        let [a, b] = &field.values;
        FieldBody {
            field: &field.path,
            a: a.as_deref(),
            b: b.as_deref(),
        }
    });
    DifferenceBody {
        kind: match difference.how {
            How::Changed => "changed",
            How::OnlyA => "only_a",
            How::OnlyB => "only_b",
            How::Moved => "order",
        },
        dir: difference.dir.to_string(),
        layer: difference.layer.and_then(layer),
        name: &difference.name,
        id: difference.id,
        tick: difference.tick,
        count: difference.count,
        t_a,
        t_b,
        frame_a,
        frame_b,
        fields: fields.collect(),
        rules: difference
            .rules
            .iter()
            .map(|rule| printable(rule.as_bytes()))
            .collect(),
    }
}

const fn layer(layer: Layer) -> Option<&'static str> {
    match layer {
        Layer::Control => Some("control"),
        Layer::System => Some("system"),
        Layer::Game => Some("game"),
        Layer::Connless => Some("connless"),
        Layer::Unreadable => None,
    }
}

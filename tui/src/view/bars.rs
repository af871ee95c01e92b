//! The first line of the screen, and the crumbs below it: everything that narrows what is shown, or changes the traffic.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_wire::{counted, printable};

use super::put;
use crate::{
    action::Action,
    app::{
        App, Pane, View,
        filter::Filtering,
        timeline::{Reading, Timeline},
    },
};

/// Minimum height of a screen with a line of crumbs. On lower screens the crumbs replace the views in the first line.
const LEAST: u16 = 8;

/// A fact that narrows what is shown or changes the traffic, with the action that ends it.
pub(super) struct Crumb {
    action: Action,
    text: String,
    /// True if the traffic is changed.
    is_loud: bool,
}

/// Returns the number of lines for crumbs: one, or two if one is too short for them.
pub(super) fn crumb_lines(app: &App, width: u16, height: u16) -> u16 {
    let crumbs = crumbs(app);
    match height {
        ..LEAST => 0,
        _ if crumbs.is_empty() => 0,
        _ => 1 + u16::from(split(&crumbs, app, width) < crumbs.len()),
    }
}

/// Returns the number of crumbs that fit the first line, at least one.
fn split(crumbs: &[Crumb], app: &App, width: u16) -> usize {
    let fits = |count: &usize| {
        let first = crumbs.get(..*count).unwrap_or_default();
        crumb_line(first, app).width() <= usize::from(width)
    };
    (2..=crumbs.len()).rev().find(fits).unwrap_or(1)
}

/// Draws the recording mark, the target and the address for clients if there is room, and the views.
pub(super) fn top(buffer: &mut Buffer, area: Rect, app: &mut App, height: u16) {
    buffer.set_style(area, app.look.theme.bar());
    let crumbs = crumbs(app);
    if height < LEAST && !crumbs.is_empty() {
        return put(buffer, area, &crumb_line(&crumbs, app));
    }
    let room = usize::from(area.width);
    let names = [Names::Full, Names::Short, Names::Current];
    let mut views = names.into_iter().map(|names| views(app, names));
    let views = views.find(|views| views.iter().map(Span::width).sum::<usize>() < room);
    let views = views.unwrap_or_default();
    let taken: usize = views.iter().map(Span::width).sum();
    let mut heads = heads(app).into_iter().map(Line::raw);
    if let Some(head) = heads.find(|head| head.width() + taken < room) {
        put(buffer, area, &head);
    }
    let mut x = area.right() - u16::try_from(taken).unwrap_or(area.width).min(area.width);
    for (span, view) in views.iter().zip(View::ALL) {
        let width = u16::try_from(span.width()).unwrap_or(0);
        buffer.set_span(x, area.y, span, width);
        if let Some(action) = Action::named(view.name()) {
            let tab = Rect { x, width, ..area };
            app.panes.buttons.push((tab, action));
        }
        x += width;
    }
}

/// Draws the crumbs.
pub(super) fn crumb_rows(buffer: &mut Buffer, area: Rect, app: &App) {
    let crumbs = crumbs(app);
    let (first, second) = crumbs.split_at(split(&crumbs, app, area.width).min(crumbs.len()));
    for (crumbs, row) in [first, second].into_iter().zip(area.rows()) {
        put(buffer, row, &crumb_line(crumbs, app));
    }
}

fn crumb_line(crumbs: &[Crumb], app: &App) -> Line<'static> {
    let theme = app.look.theme;
    let mut line = Line::default();
    for (place, crumb) in crumbs.iter().enumerate() {
        let lead = if place == 0 { " " } else { " › " };
        line.push_span(Span::styled(lead, theme.quiet()));
        let key = app.dialog.keymap.hint(crumb.action);
        line.push_span(Span::styled(key, theme.key()));
        let style = if crumb.is_loud {
            theme.action()
        } else {
            Style::new()
        };
        line.push_span(Span::styled(format!(" {}", crumb.text), style));
    }
    line
}

/// Returns what is in force, the longest text last.
fn crumbs(app: &App) -> Vec<Crumb> {
    let mut crumbs = Vec::new();
    let mut add = |action, text: String, is_loud| {
        crumbs.push(Crumb {
            action,
            text,
            is_loud,
        });
    };
    if app.rules.are_silenced() {
        add(Action::AllRules, "RULES OFF".to_owned(), true);
    }
    if let Some(repeat) = &app.orders.repeat {
        let text = format!("SENDING every {:?}: {}", repeat.every, repeat.sent);
        add(Action::StopRepeat, text, true);
    }
    if app.rules.intercepts() {
        add(Action::Intercept, "PAUSING".to_owned(), true);
    }
    match app.panes.view {
        View::Messages => list(app, &mut add),
        View::Snapshot if app.sessions.snapshot.is_frozen() => {
            add(Action::KeepSnapshot, "kept".to_owned(), false);
        }
        View::Ladder => ladder(app, &mut add),
        _ => {}
    }
    crumbs
}

/// Adds what narrows the ladder.
fn ladder(app: &App, add: &mut impl FnMut(Action, String, bool)) {
    let ladder = &app.sessions.ladder;
    let hidden = app.sessions.shown().map_or(0, |session| ladder.hidden(session));
    if hidden > 0 && !ladder.has_noise() {
        let text = format!(
            "{} hidden, most of inputs and snapshots",
            counted(hidden, "datagram")
        );
        add(Action::Fold, text, false);
    }
    if let Some(filter) = ladder.filter() {
        add(Action::FilterOnOff, filter_text(filter), false);
    }
}

/// Returns the text of a filter, and whether it is off.
fn filter_text(filter: &Filtering) -> String {
    let off = if filter.is_on() { "" } else { " (off)" };
    format!("filter{off} {}", printable(filter.text.as_bytes()))
}

/// Adds what narrows the message list.
fn list(app: &App, add: &mut impl FnMut(Action, String, bool)) {
    let list = &app.messages;
    if let Some(session) = picked(app) {
        add(Action::Session, format!("only {session}"), false);
    }
    if list.is_lint_only() {
        add(Action::Lint, "warnings only".to_owned(), false);
    }
    if list.is_frozen() {
        add(Action::Freeze, "frozen".to_owned(), false);
    }
    if app.panes.shape.is_zoomed && app.panes.focus != Pane::Queue {
        add(Action::Zoom, format!("only {}", app.panes.focus.name()), false);
    }
    if let Some(timeline) = app.timeline.as_ref().filter(|timeline| is_part(timeline)) {
        let percent = |at| timeline.percent(at);
        let (from, to) = (percent(timeline.listed.start), percent(timeline.listed.end));
        let later = app.dialog.keymap.hint(Action::Later);
        let text = format!("{later} {from}-{to} % of the file");
        add(Action::Earlier, text, false);
    }
    if let Some(filter) = list.filter() {
        add(Action::FilterOnOff, filter_text(filter), false);
    }
}

/// Returns true if a part of a recording is listed and the rest is not being read.
fn is_part(timeline: &Timeline) -> bool {
    let is_resting = matches!(timeline.reading, Reading::Waiting | Reading::Stopped);
    timeline.listed.start > 0 || is_resting
}

/// Returns the start of the first line in several lengths, the longest first.
fn heads(app: &App) -> Vec<String> {
    let title = &app.run.title;
    let target = match &*title.connect {
        // The target is the name of a recording.
        "" => printable(title.target.as_bytes()),
        _ => title.target.clone(),
    };
    let recording = if title.recording { " REC" } else { "" };
    let connect = match &*title.connect {
        "" => String::new(),
        connect => format!("  connect {connect}"),
    };
    vec![
        format!("{recording} teetap  {target}{connect}"),
        format!("{recording} teetap  {target}"),
        format!("{recording} {target}"),
        format!("{recording} teetap"),
        recording.to_owned(),
    ]
}

/// Returns the session to which the list is limited, with its player; `None` if all are listed.
fn picked(app: &App) -> Option<String> {
    let session = app.messages.session()?;
    let followed = app.sessions.follow.session(session);
    let player = followed.and_then(|followed| followed.player.as_ref());
    let player = player.map_or(String::new(), |player| format!(" \"{player}\""));
    Some(format!("#{}{player}", session.0))
}

/// Names of the views in the first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// All, in full.
    Full,
    /// All, some of them shortened.
    Short,
    /// Only the name of the current view.
    Current,
}

/// Returns the number and name of each view, the current one bold and with a mark.
fn views(app: &App, names: Names) -> Vec<Span<'static>> {
    let views = View::ALL.iter().map(|view| {
        let is_current = *view == app.panes.view;
        let name = match names {
            Names::Full => view.name(),
            Names::Short => view.short(),
            Names::Current if is_current => view.short(),
            Names::Current => "",
        };
        let gap = if name.is_empty() { "" } else { " " };
        let style = match is_current {
            true => app.look.theme.key(),
            false => Style::new(),
        };
        // The current view is marked without bold letters, too.
        let lead = if is_current { "▸" } else { " " };
        Span::styled(format!("{lead}{}{gap}{name}", view.number()), style)
    });
    views.collect()
}

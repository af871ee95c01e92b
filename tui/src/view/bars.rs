//! The first and the last line of the screen.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_proxy::session::Level;
use teetap_wire::{counted, printable};

use super::put;
use crate::{
    action::{ACTIONS, Action},
    app::{App, View},
};

/// Draws the target, the address for clients, the recording mark, the session of the list, the filter, and the views if
/// there is room.
pub(super) fn top(buffer: &mut Buffer, area: Rect, app: &App) {
    buffer.set_style(area, app.look.theme.bar());
    let title = &app.run.title;
    let mut text = String::new();
    if title.recording {
        text.push_str("  REC");
    }
    if app.rules.are_silenced() {
        text.push_str("  RULES OFF");
    } else if app.rules.intercepts() {
        text.push_str("  PAUSING");
    }
    if let Some(repeat) = &app.orders.repeat {
        text.push_str(&format!("  SENDING every {:?}: {}", repeat.every, repeat.sent));
    }
    if let Some(session) = picked(app) {
        text.push_str(&format!("  only {session}"));
    }
    if let Some(filter) = app.messages.filter() {
        let off = if filter.is_on() { "" } else { " (off)" };
        text.push_str(&format!("  filter{off} {}", printable(filter.text.as_bytes())));
    }
    // The user's changes have precedence over the target.
    let [mut text, shorter, shortest] = heads(app).map(|head| Line::raw(format!("{head}{text}")));
    for next in [shorter, shortest] {
        if text.width() > usize::from(area.width) {
            text = next;
        }
    }
    put(buffer, area, &text);
    let room = usize::from(area.width).saturating_sub(text.width());
    let mut views = [true, false].map(|named| views(app, named)).into_iter();
    if let Some(views) = views.find(|views| views.width() < room) {
        buffer.set_line(
            area.right() - u16::try_from(views.width()).unwrap_or(0),
            area.y,
            &views,
            area.width,
        );
    }
}

/// Returns the start of the first line in three lengths, the longest first.
fn heads(app: &App) -> [String; 3] {
    let title = &app.run.title;
    let target = match &*title.connect {
        // The target is the name of a recording.
        "" => printable(title.target.as_bytes()),
        _ => title.target.clone(),
    };
    let connect = match &*title.connect {
        "" => String::new(),
        connect => format!("  connect {connect}"),
    };
    [
        format!(" teetap  {target}{connect}"),
        format!(" teetap  {target}"),
        " teetap".to_owned(),
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

/// Returns the numbers and names of the views, the current one bold. Unless `named`, only the current view has its
/// name.
fn views(app: &App, named: bool) -> Line<'static> {
    let mut line = Line::default();
    for view in View::ALL {
        let style = match *view == app.panes.view {
            true => app.look.theme.key(),
            false => Style::new(),
        };
        let name = match named || *view == app.panes.view {
            true => format!(" {}", view.name()),
            false => String::new(),
        };
        line.push_span(Span::styled(format!("{}{name}", view.number()), style));
        line.push_span(Span::raw(" "));
    }
    line
}

/// Draws the reply to the last key. Without one, draws the mode, the counts and the key hints.
pub(super) fn bottom(buffer: &mut Buffer, area: Rect, app: &App) {
    buffer.set_style(area, app.look.theme.bar());
    if let Some((level, text)) = &app.dialog.status {
        let style = match level {
            Level::Info => Style::new(),
            Level::Warning => app.look.theme.key(),
        };
        return put(buffer, area, &Line::styled(format!(" {text}"), style));
    }
    let meter = &app.run.meter;
    let mut parts = vec![
        mode(app),
        format!("{}/s", meter.rate()),
        format!("{} msgs", meter.messages),
    ];
    if meter.dropped > 0 {
        parts.push(format!("{} dropped", meter.dropped));
    }
    match meter.lint_count() {
        0 => {}
        count => parts.push(counted(count, "warning").to_string()),
    }
    parts.extend(app.run.title.seed.map(|seed| format!("seed {seed}")));
    // The help hint fits any screen.
    let help = app.dialog.keymap.hint(Action::Help).len() + " help".len() + 3;
    let counts = loop {
        let counts = Line::raw(format!(" {}", parts.join("  ")));
        if parts.len() == 1 || counts.width() + help <= usize::from(area.width) {
            break counts;
        }
        parts.pop();
    };
    let hints = hints(app, usize::from(area.width).saturating_sub(counts.width() + 2));
    let start = usize::from(area.width).saturating_sub(hints.width() + 1);
    put(buffer, area, &counts);
    if !hints.spans.is_empty() {
        let start = area.x + u16::try_from(start).unwrap_or(0);
        buffer.set_line(start, area.y, &hints, area.width);
    }
}

/// Returns the state of the list: frozen, following, or the position of the selection.
fn mode(app: &App) -> String {
    match app.panes.view {
        View::Messages => {}
        View::Ladder => return format!("ladder {}", app.sessions.ladder.tail.place()),
        View::Log => return format!("log {}", app.log.tail.place()),
        View::Snapshot if app.sessions.snapshot.is_frozen() => return "snapshot kept".to_owned(),
        View::Sessions | View::Rules | View::Snapshot | View::Stats => {
            return app.panes.view.name().to_owned();
        }
    }
    let list = &app.messages;
    let place = match list.selected() {
        _ if list.is_frozen() => "frozen".to_owned(),
        _ if list.follows() => "following".to_owned(),
        Some(selected) => format!("{}/{}", selected + 1, list.len()),
        None => String::new(),
    };
    if list.is_lint_only() {
        format!("{place}  warnings only")
    } else {
        place
    }
}

/// Returns the hints of the focused pane that fit `columns` columns.
fn hints(app: &App, columns: usize) -> Line<'static> {
    let mut line = Line::default();
    let mut used = 0;
    let own = |entry: &&crate::action::ActionRow| entry.scope != crate::action::Scope::Everywhere;
    let (special, general): (Vec<_>, Vec<_>) = ACTIONS
        .iter()
        .filter(|entry| !entry.hint.is_empty() && entry.scope.has(app.panes.focus))
        .partition(own);
    let is_help = |entry: &crate::action::ActionRow| entry.action == Action::Help;
    let help = general.iter().filter(|entry| is_help(entry));
    let rest = general.iter().filter(|entry| !is_help(entry));
    // The help hint is first, so that it is shown if nothing else fits.
    for entry in help.chain(&special).chain(rest) {
        let (key, hint) = (app.dialog.keymap.hint(entry.action), entry.hint);
        let width = Line::raw(format!("{key} {hint}")).width() + 2;
        if key.is_empty() || used + width > columns {
            continue;
        }
        used += width;
        line.push_span(Span::styled(key, app.look.theme.key()));
        line.push_span(Span::raw(format!(" {hint}  ")));
    }
    // The last hint needs no space after it.
    if let Some(last) = line.spans.last_mut() {
        *last = Span::raw(last.content.trim_end().to_owned());
    }
    line
}

//! The last line of the screen, which belongs to the part that has the keys: its state and its key hints, or the answer
//! to the last key.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use teetap_proxy::session::Level;
use teetap_wire::counted;

use super::put;
use crate::{
    action::{Action, hints_of},
    app::{
        App, Overlay, View, contents::wrapped, filter::Filtering, form::Target, prompt::Purpose,
        rules::RuleRow,
    },
};

/// Maximum lines of an answer.
const LINES: usize = 3;

/// A key with what it does.
struct Hint {
    key: String,
    word: String,
    /// Action for a click; `None` for keys of prompts, menus and forms.
    action: Option<Action>,
}

/// Returns the number of lines at the end of the screen: more than one for an answer that does not fit one.
pub(super) fn lines(app: &App, width: u16, height: u16) -> u16 {
    let lines = u16::try_from(answer(app, width).len()).unwrap_or(1);
    lines.clamp(1, (height / 4).max(1))
}

/// Returns the lines of the answer to the last key; none if there is none, or if a prompt shows it.
fn answer(app: &App, width: u16) -> Vec<String> {
    let is_above = matches!(app.dialog.overlay, Some(Overlay::Prompt(_)));
    let Some((_, text)) = app.dialog.status.as_ref().filter(|_| !is_above) else {
        return Vec::new();
    };
    short(text, usize::from(width).saturating_sub(2))
}

/// Wraps a text to at most three lines, with `…` if it is longer.
pub(super) fn short(text: &str, width: usize) -> Vec<String> {
    let mut lines = wrapped(text, width.max(1));
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
            *last = super::cut(last, width);
        }
    }
    lines
}

/// Draws the answer to the last key. Without one, draws the state and the hints.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    buffer.set_style(area, app.look.theme.bar());
    let theme = app.look.theme;
    let mut answer = answer(app, area.width);
    let style = match &app.dialog.status {
        Some((Level::Warning, _)) if !answer.is_empty() => theme.key(),
        _ => Style::new(),
    };
    for (text, row) in answer.iter().zip(area.rows()) {
        put(buffer, row, &Line::styled(format!(" {text}"), style));
    }
    if answer.len() > 1 {
        return;
    }
    let hints = match &app.dialog.overlay {
        Some(overlay) => overlaid(overlay),
        None => of_pane(app),
    };
    let is_answered = !answer.is_empty();
    let state = answer.pop().unwrap_or_else(|| match &app.dialog.overlay {
        Some(overlay) => owner(overlay).to_owned(),
        None => state(app),
    });
    // The first hint fits any screen, unless there is an answer.
    let first = hints.first().filter(|_| !is_answered);
    let least = first.map_or(0, |hint| width(hint) + 1);
    let state = super::cut(
        &format!(" {state}"),
        usize::from(area.width).saturating_sub(least),
    );
    put(buffer, area, &Line::styled(state.as_str(), style));
    let used = Line::raw(state.as_str()).width() + 2;
    let mut shown = fitting(hints, usize::from(area.width).saturating_sub(used));
    // The first hint may be too long for the rest of the line.
    let too_long = |hint: &Hint| used + width(hint) > usize::from(area.width);
    if is_answered && shown.first().is_some_and(too_long) {
        shown.clear();
    }
    let total: usize = shown.iter().map(|hint| width(hint) + 2).sum();
    let start = usize::from(area.width).saturating_sub((total + 1).saturating_sub(2));
    let mut x = area.x + u16::try_from(start).unwrap_or(0);
    for hint in shown {
        let columns = u16::try_from(width(&hint)).unwrap_or(0);
        let spans = [
            Span::styled(hint.key, theme.key()),
            Span::raw(format!(" {}", hint.word)),
        ];
        buffer.set_line(x, area.y, &Line::from(spans.to_vec()), columns);
        let place = Rect {
            x,
            width: columns,
            ..area
        };
        let button = hint.action.map(|action| (place, action));
        app.panes.buttons.extend(button);
        x += columns + 2;
    }
}

fn width(hint: &Hint) -> usize {
    Line::raw(hint.key.as_str()).width() + 1 + Line::raw(hint.word.as_str()).width()
}

/// Returns the hints that fit, in order of their importance.
fn fitting(hints: Vec<Hint>, columns: usize) -> Vec<Hint> {
    let mut used = 0;
    let mut shown = Vec::new();
    for hint in hints {
        let columns_with_it = used + width(&hint) + if used == 0 { 0 } else { 2 };
        if shown.is_empty() || columns_with_it <= columns {
            used = columns_with_it;
            shown.push(hint);
        }
    }
    shown
}

/// Returns the state of the focused pane, and the number of warnings with the key that lists them.
fn state(app: &App) -> String {
    let list = &app.messages;
    let state = match app.panes.view {
        View::Messages => match list.selected() {
            _ if list.is_frozen() => "frozen".to_owned(),
            _ if list.follows() => "following".to_owned(),
            Some(selected) => format!("{}/{}", selected + 1, list.len()),
            None => String::new(),
        },
        View::Ladder => app.sessions.ladder.tail.place(),
        View::Log => app.log.tail.place(),
        View::Snapshot if app.sessions.snapshot.is_frozen() => "kept".to_owned(),
        View::Sessions | View::Rules | View::Snapshot | View::Stats => String::new(),
    };
    match app.run.meter.lint_count() {
        0 => state,
        count => {
            let key = app.dialog.keymap.hint(Action::Lint);
            let gap = if state.is_empty() { "" } else { "  " };
            format!("{state}{gap}{} ({key})", counted(count, "warning"))
        }
    }
}

/// Returns the hints of the focused pane: those of actions that have an effect now.
fn of_pane(app: &App) -> Vec<Hint> {
    let hints = hints_of(app.panes.focus).iter().filter_map(|action| {
        let key = app.dialog.keymap.hint(*action);
        let word = word(app, *action)?;
        (!key.is_empty()).then_some(Hint {
            key,
            word,
            action: Some(*action),
        })
    });
    hints.collect()
}

/// Returns the filter of the view; `None` if there is none.
fn filter(app: &App) -> Option<&Filtering> {
    match app.panes.view {
        View::Ladder => app.sessions.ladder.filter(),
        _ => app.messages.filter(),
    }
}

/// Returns the word for an action; `None` if it has no effect now.
fn word(app: &App, action: Action) -> Option<String> {
    let is_held = !app.queue.list.is_empty();
    let list = &app.messages;
    let special = match action {
        Action::Fold if app.panes.view == View::Ladder => match app.sessions.ladder.has_noise() {
            true => "hide noise",
            false => "noise",
        },
        Action::FilterOnOff => match filter(app)?.is_on() {
            true => "filter off",
            false => "filter on",
        },
        Action::Freeze if list.is_frozen() => "unfreeze",
        Action::Lint if list.is_lint_only() => "all rows",
        Action::Lint if app.run.meter.lint_count() == 0 => return None,
        Action::Follow if list.follows() => return None,
        Action::Intercept if app.rules.intercepts() => "stop pausing",
        Action::Intercept if !list.filter()?.is_on() || !app.orders.is_live => return None,
        Action::Release | Action::ReleaseAll | Action::DropHeld if !is_held => return None,
        Action::NextMatch if app.dialog.histories.searches.get(0).is_none() => return None,
        Action::StopRepeat if app.orders.repeat.is_none() => return None,
        Action::Zoom if app.panes.shape.is_zoomed => "all panes",
        Action::Zoom | Action::NextPane if !app.panes.has_detail() && !is_held => return None,
        Action::Earlier | Action::Later if app.timeline.is_none() => return None,
        Action::Edit | Action::Inject | Action::Again if !app.orders.is_live => return None,
        Action::Less | Action::More if matches!(app.rules.row(), Some(RuleRow::Statement(_)) | None) => {
            return None;
        }
        Action::ToggleRule | Action::DeleteRule | Action::RuleUp | Action::RuleDown
            if app.rules.selected().is_none() =>
        {
            return None;
        }
        // The crumb names the key.
        Action::Session if list.session().is_some() => return None,
        Action::Undo if app.rules.undo.is_empty() => return None,
        Action::KeepSnapshot if app.sessions.snapshot.is_frozen() => "newest",
        _ => action.entry().hint,
    };
    (!special.is_empty()).then(|| special.to_owned())
}

/// Returns the name of a part that is drawn over the view.
const fn owner(overlay: &Overlay) -> &'static str {
    match overlay {
        Overlay::Help(_) => "help",
        Overlay::Menu(_) => "menu",
        Overlay::Form(_) => "form",
        Overlay::Prompt(prompt) => match prompt.purpose {
            Purpose::Command => "command",
            Purpose::Filter => "filter",
            Purpose::Search => "search",
            Purpose::Rule(_) => "rule",
            Purpose::Value { .. } => "value",
            Purpose::Inject => "message",
            Purpose::Save(_) => "file",
        },
    }
}

/// Returns the hints of a part that is drawn over the view.
fn overlaid(overlay: &Overlay) -> Vec<Hint> {
    let hints: &[(&str, &str)] = match overlay {
        Overlay::Help(_) => &[
            ("enter", "run"),
            ("esc", "close"),
            ("up down", "choose"),
            ("a-z", "search"),
        ],
        Overlay::Menu(_) => &[
            ("enter", "choose"),
            ("esc", "cancel"),
            ("up down", "move"),
            ("0-9 a-z", "choose at once"),
        ],
        Overlay::Form(form) => {
            let enter = match form.target {
                Target::Edit(_) if !form.is_late => ("enter", "change it"),
                _ => ("enter", "send"),
            };
            return [
                enter,
                ("esc", "cancel"),
                ("tab", "complete"),
                ("up down", "field"),
                ("ctrl-r", "undo"),
            ]
            .map(fixed)
            .into();
        }
        Overlay::Prompt(prompt) => match prompt.purpose {
            Purpose::Filter => &[
                ("enter", "apply"),
                ("esc", "cancel"),
                ("tab", "complete"),
                ("up", "history"),
                ("F1", "language"),
            ],
            Purpose::Rule(_) => &[
                ("enter", "set"),
                ("esc", "cancel"),
                ("tab", "complete"),
                ("up", "history"),
                ("F1", "language"),
            ],
            Purpose::Command | Purpose::Inject => &[
                ("enter", "run"),
                ("esc", "cancel"),
                ("tab", "complete"),
                ("up", "history"),
            ],
            Purpose::Search => &[("enter", "search"), ("esc", "cancel"), ("up", "history")],
            Purpose::Value { .. } => &[("enter", "set"), ("esc", "cancel")],
            Purpose::Save(_) => &[("enter", "save"), ("esc", "cancel")],
        },
    };
    hints.iter().copied().map(fixed).collect()
}

/// Returns the hint of a key that cannot be bound to another action.
fn fixed((key, word): (&str, &str)) -> Hint {
    Hint {
        key: key.to_owned(),
        word: word.to_owned(),
        action: None,
    }
}

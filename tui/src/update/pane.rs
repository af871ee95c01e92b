//! Movements in panes and between them.

use ratatui::layout::Position;

use crate::{
    Action,
    app::{App, Pane, View},
};

/// The most cells by which the list is made larger or smaller.
pub(super) const MOST: i16 = 40;

/// Moves in the pane that has the keys.
pub(super) fn move_by(app: &mut App, action: Action) {
    let len = app.contents.bytes.len();
    let pane = app.focused();
    let page = pane.page();
    match action {
        Action::Down => pane.down(1),
        Action::Up => pane.up(1),
        Action::PageDown => pane.down(page),
        Action::PageUp => pane.up(page),
        Action::First => pane.first(),
        Action::Last => pane.last(),
        Action::Left => app.detail.hex.left(),
        Action::Right => app.detail.hex.right(len),
        _ => {}
    }
}

/// Opens the selected row, or goes to the next pane of its detail.
pub(super) fn open(app: &mut App) {
    if app.focus == Pane::List {
        app.shape.is_open = true;
    }
    next(app, true);
}

/// Gives the keys to the next pane that is shown, or to the one before.
pub(super) fn next(app: &mut App, forward: bool) {
    let mut panes = app.view.panes().to_vec();
    panes.retain(|pane| match pane {
        Pane::Tree | Pane::Hex => app.has_detail(),
        Pane::Queue => !app.queue.list.is_empty(),
        _ => true,
    });
    let at = panes.iter().position(|pane| *pane == app.focus).unwrap_or(0);
    let step = if forward { 1 } else { panes.len().saturating_sub(1) };
    if let Some(pane) = panes.get((at + step) % panes.len().max(1)) {
        app.focus = *pane;
    }
}

/// Returns true if there is nothing to go back from.
pub(super) fn is_at_start(app: &App) -> bool {
    let is_list = app.view == View::Messages && app.focus == Pane::List;
    is_list && !app.shape.is_open && !app.shape.is_zoomed
}

/// Goes back by one step: out of the zoom, to the list, to the list alone, to the newest row.
pub(super) fn back(app: &mut App) {
    if app.shape.is_zoomed {
        app.shape.is_zoomed = false;
    } else if app.view != View::Messages {
        app.show(View::Messages);
    } else if app.focus != Pane::List || app.shape.is_open {
        app.focus = Pane::List;
        app.shape.is_open = false;
    } else if !app.messages.follows() && !app.messages.is_frozen() {
        app.messages.toggle_follow();
    }
}

/// Gives the keys to the pane at this place of the screen, and selects the row there.
pub fn click(app: &mut App, column: u16, row: u16) {
    let position = Position::new(column, row);
    let found = app
        .areas
        .iter()
        .find(|(_, area)| area.contains(position))
        .copied();
    if let Some((pane, area)) = found {
        app.focus = pane;
        app.focused().select_visible((row - area.y).into());
        app.changed = true;
        app.sync();
    }
}

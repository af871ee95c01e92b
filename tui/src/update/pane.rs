//! Movements within panes and between them.

use ratatui::layout::Position;

use crate::{
    Action,
    app::{
        App, Pane, View,
        timeline::{Reading, Seek, Timeline},
    },
};

/// The reason why the panes stay as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum PaneError {
    /// Only the list is shown; contains the key that opens a message.
    #[error("only the list is shown; {0} opens a message beside it")]
    Alone(String),
    /// The queue cannot fill the screen.
    #[error("the held messages stay below the list")]
    Queue,
    /// Only the focused pane is shown; contains the key that shows all.
    #[error("only one pane is shown; {0} shows all")]
    Zoomed(String),
    /// The list has its largest or smallest size.
    #[error("there is no more room")]
    NoRoom,
    /// The view has one pane.
    #[error("the view {} has one pane; {help} lists the keys", view.name())]
    OnePane {
        /// View that is shown.
        view: View,
        /// Key of the help.
        help: String,
    },
    /// The list is frozen; contains the key that shows new rows.
    #[error("the view is frozen; {0} shows new rows")]
    Frozen(String),
    /// Nothing is open; contains the key that ends the run.
    #[error("there is nothing to go back from; {0} ends the run")]
    AtStart(String),
}

/// Maximum number of cells by which the list can grow or shrink.
const MOST: i16 = 40;

/// Moves the selection in the focused pane.
pub(super) fn move_by(app: &mut App, action: Action) {
    let is_end = matches!(action, Action::First | Action::Last);
    if is_end && app.panes.focus == Pane::List && end_of_recording(app, action) {
        return;
    }
    let len = app.detail.contents.bytes.len();
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

/// Moves to the first or last event of a recording. Returns false if that is not needed, or not possible.
fn end_of_recording(app: &mut App, action: Action) -> bool {
    let is_filtered = app.messages.filter().is_some_and(|filter| filter.is_on());
    let Some(timeline) = &mut app.timeline else {
        return false;
    };
    let is_first = action == Action::First;
    match is_first {
        true if timeline.listed.start > 0 => {
            timeline.seek(if is_filtered { Seek::Filter } else { Seek::To(0) })
        }
        // The last row is followed while the recording is read.
        false if timeline.reading != Reading::Ended && !is_filtered => timeline.seek(Seek::End),
        _ => return false,
    }
    true
}

/// Opens the selected row, or focuses the next pane of its detail.
pub(super) fn open(app: &mut App) -> Result<(), PaneError> {
    if app.panes.focus == Pane::List {
        app.panes.shape.is_open = true;
        // The open row stays selected when new rows are added.
        if app.messages.follows() {
            app.messages.toggle_follow();
        }
    }
    next(app, true)
}

/// Returns the reason why only the list is shown.
fn alone(app: &App) -> PaneError {
    PaneError::Alone(app.dialog.keymap.hint(Action::Open))
}

/// Shows only the focused pane, or all panes again.
pub(super) fn zoom(app: &mut App) -> Result<(), PaneError> {
    if app.panes.focus == Pane::Queue {
        return Err(PaneError::Queue);
    }
    if !app.panes.shape.is_zoomed && !app.panes.has_detail() {
        return Err(alone(app));
    }
    app.panes.shape.is_zoomed = !app.panes.shape.is_zoomed;
    Ok(())
}

/// Makes the list larger or smaller by `by` cells.
pub(super) fn resize(app: &mut App, by: i16) -> Result<(), PaneError> {
    if app.panes.shape.is_zoomed {
        return Err(PaneError::Zoomed(app.dialog.keymap.hint(Action::Zoom)));
    }
    if !app.panes.has_detail() {
        return Err(alone(app));
    }
    let more = app.panes.shape.more + by;
    if more.abs() > MOST {
        return Err(PaneError::NoRoom);
    }
    app.panes.shape.more = more;
    Ok(())
}

/// Focuses the next or previous visible pane.
pub(super) fn next(app: &mut App, forward: bool) -> Result<(), PaneError> {
    let mut panes = app.panes.view.panes().to_vec();
    panes.retain(|pane| match pane {
        Pane::Tree | Pane::Hex => app.panes.has_detail(),
        Pane::Queue => !app.queue.list.is_empty(),
        _ => true,
    });
    if panes.len() < 2 {
        return Err(match app.panes.view {
            View::Messages => alone(app),
            view => PaneError::OnePane {
                view,
                help: app.dialog.keymap.hint(Action::Help),
            },
        });
    }
    let at = panes
        .iter()
        .position(|pane| *pane == app.panes.focus)
        .unwrap_or(0);
    let step = if forward { 1 } else { panes.len() - 1 };
    if let Some(pane) = panes.get((at + step) % panes.len()) {
        app.panes.focus = *pane;
    }
    Ok(())
}

/// Goes back one step: stops the reading, ends the zoom, closes the view or the detail panes, or follows the newest
/// row.
pub(super) fn back(app: &mut App) -> Result<(), PaneError> {
    if app.timeline.as_mut().is_some_and(Timeline::stop) {
        return Ok(());
    }
    if app.panes.shape.is_zoomed {
        app.panes.shape.is_zoomed = false;
    } else if app.panes.view != View::Messages {
        app.panes.show(View::Messages);
    } else if app.panes.focus != Pane::List || app.panes.shape.is_open {
        app.panes.focus = Pane::List;
        app.panes.shape.is_open = false;
    } else if app.messages.is_frozen() {
        return Err(PaneError::Frozen(app.dialog.keymap.hint(Action::Freeze)));
    } else if app.messages.follows() {
        return Err(PaneError::AtStart(app.dialog.keymap.hint(Action::Quit)));
    } else {
        app.messages.toggle_follow();
    }
    Ok(())
}

/// Focuses the pane at this position of the screen and selects the row there.
pub(crate) fn click(app: &mut App, column: u16, row: u16) {
    let position = Position::new(column, row);
    if let Some(action) = app.panes.button(position) {
        return super::update(app, action);
    }
    if let Some(timeline) = app
        .timeline
        .as_mut()
        .filter(|timeline| timeline.area.contains(position))
    {
        timeline.click(column);
        return;
    }
    if let Some((pane, area)) = app.panes.at(position) {
        app.panes.focus = pane;
        app.focused().select_visible((row - area.y).into());
        app.terminal.changed = true;
        app.sync();
    }
}

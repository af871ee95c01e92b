//! Changes of the state by named actions.

use crate::{Action, App};

/// Applies an action.
pub fn update(app: &mut App, action: Action) {
    let page = app.list.page();
    match action {
        Action::Quit => app.leaving = true,
        Action::Down => app.list.down(1),
        Action::Up => app.list.up(1),
        Action::PageDown => app.list.down(page),
        Action::PageUp => app.list.up(page),
        Action::First => app.list.first(),
        Action::Last => app.list.follow(),
    }
    app.changed = true;
}

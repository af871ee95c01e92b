//! Search in the rows.

use crate::{app::App, view::text_of};

/// Selects the next or previous row that contains the text of the last search.
pub(super) fn next(app: &mut App, forward: bool) -> Result<(), String> {
    let open = app.keymap.hint(crate::Action::Search);
    let text = app
        .searches
        .get(0)
        .ok_or_else(|| format!("search first: {open}"))?;
    let wanted = text.to_lowercase();
    let found = app.messages.search(forward, |number, list| {
        let row = list.history.get(number);
        row.is_some_and(|row| text_of(row, app).to_lowercase().contains(&wanted))
    });
    let place = found.ok_or_else(|| format!("no unfolded row has '{text}'"))?;
    if !app.messages.follows() && app.messages.selected() == Some(place) {
        return Err(format!("no other row has '{text}'"));
    }
    app.messages.go_to(place);
    Ok(())
}

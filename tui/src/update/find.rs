//! Search in the rows.

use crate::{app::App, view::text_of};

/// The reason why no row is selected by a search.
#[derive(Debug, thiserror::Error)]
pub(super) enum FindError {
    /// No text was searched for; contains the key that opens the prompt.
    #[error("search first: {0}")]
    Nothing(String),
    /// No row contains this text.
    #[error("no unfolded row has '{0}'")]
    NotFound(String),
    /// Only the selected row contains this text.
    #[error("no other row has '{0}'")]
    OnlyHere(String),
}

/// Selects the next or previous row that contains the text of the last search.
pub(super) fn next(app: &mut App, forward: bool) -> Result<(), FindError> {
    let open = app.dialog.keymap.hint(crate::Action::Search);
    let text = app
        .dialog
        .histories
        .searches
        .get(0)
        .ok_or(FindError::Nothing(open))?;
    let wanted = text.to_lowercase();
    let found = app.messages.search(forward, |number, list| {
        let row = list.history.get(number);
        row.is_some_and(|row| text_of(row, app).to_lowercase().contains(&wanted))
    });
    let place = found.ok_or_else(|| FindError::NotFound(text.to_owned()))?;
    if !app.messages.follows() && app.messages.selected() == Some(place) {
        return Err(FindError::OnlyHere(text.to_owned()));
    }
    app.messages.go_to(place);
    Ok(())
}

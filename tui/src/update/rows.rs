//! Changes which rows the list shows.

use crate::app::{
    App, Overlay,
    menu::{Choice, Menu},
};

/// The reason why the rows stay as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    /// No message is selected, and no type is folded.
    #[error("select a message to fold its type")]
    NothingToFold,
    /// There is no filter to switch.
    #[error("no filter is set")]
    NoFilter,
    /// There is no time line.
    #[error("this is a run; only a recording has other places to go to")]
    NoRecording,
    /// The list is empty.
    #[error("there is no row to mark")]
    NothingToMark,
    /// Only the selected row is marked.
    #[error("no other row is marked")]
    NoOtherMark,
    /// No row is marked.
    #[error("no row is marked")]
    NoMark,
}

/// Freezes or unfreezes the list.
pub(super) fn freeze(app: &mut App) {
    if app.messages.toggle_frozen() {
        app.dialog.say("frozen: the traffic is not held");
    }
}

/// Opens the menu of types: the selected row's type to fold, and the folded types to unfold.
pub(super) fn fold(app: &mut App) -> Result<(), RowError> {
    let own = app
        .messages
        .group()
        .filter(|group| !app.messages.is_folded(group));
    let count = |group: &str| {
        let fold = app.messages.folds().find(|fold| fold.group == group);
        fold.map_or(0, |fold| fold.count())
    };
    let fold = own.map(|group| (format!("fold {group}"), Choice::Fold(group)));
    let unfold = app.messages.folded().map(|group| {
        let text = format!("unfold {group:<14} {:>6} messages", count(group));
        (text, Choice::Fold(group))
    });
    let entries: Vec<_> = fold.into_iter().chain(unfold).collect();
    if entries.is_empty() {
        return Err(RowError::NothingToFold);
    }
    app.dialog.overlay = Some(Overlay::Menu(Menu::new(
        "fold or unfold messages of a type",
        entries,
    )));
    Ok(())
}

/// Folds or unfolds messages of a type.
pub(super) fn toggle_fold(app: &mut App, group: &'static str) {
    let is_folded = app.messages.toggle_fold(group);
    app.dialog.say(format!(
        "{group} is {}",
        if is_folded { "folded" } else { "unfolded" }
    ));
}

/// Switches between rows with warnings, with their counts by code, and all rows.
pub(super) fn lint(app: &mut App) {
    if app.messages.toggle_lint() {
        app.dialog.say("only rows with warnings");
    } else {
        app.dialog.say("all rows");
    }
}

/// Switches the filter off or on.
pub(super) fn filter(app: &mut App) -> Result<(), RowError> {
    app.messages.toggle_filter().ok_or(RowError::NoFilter)?;
    app.reread();
    Ok(())
}

/// Moves to an earlier or later position of the recording.
pub(super) fn step(app: &mut App, is_later: bool) -> Result<(), RowError> {
    let from = app.offset();
    let timeline = app.timeline.as_mut().ok_or(RowError::NoRecording)?;
    timeline.step(from, is_later);
    Ok(())
}

/// Switches to the next form of times.
pub(super) fn time(app: &mut App) {
    app.look.time = app.look.time.next();
    app.dialog.say(format!("time {}", app.look.time.name()));
}

/// Marks the selected row or removes its mark.
pub(super) fn mark(app: &mut App) -> Result<(), RowError> {
    let is_marked = app.messages.toggle_mark().ok_or(RowError::NothingToMark)?;
    app.dialog.say(if is_marked {
        "marked"
    } else {
        "the mark is removed"
    });
    Ok(())
}

/// Selects the next marked row.
pub(super) fn next_mark(app: &mut App) -> Result<(), RowError> {
    let before = (app.messages.follows(), app.messages.number());
    match app.messages.next_mark() {
        true if before == (false, app.messages.number()) => Err(RowError::NoOtherMark),
        true => Ok(()),
        false => Err(RowError::NoMark),
    }
}

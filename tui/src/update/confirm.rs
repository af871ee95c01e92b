//! Keys that must be pressed twice, because what they discard cannot be restored.

use teetap_inspect::control::HeldPlace;

use super::choose;
use crate::{Action, app::App, app::dialog::Asked};

/// Returns true if the key of an action must be pressed again, and says so. `asked` is the question about the previous
/// key.
pub(super) fn asks(app: &mut App, action: Action, asked: Option<Asked>) -> bool {
    let held = || {
        app.queue
            .selected()
            .map(|held| HeldPlace::from_held(&held.message))
    };
    let key = app.dialog.keymap.hint(action);
    let (question, text) = match action {
        Action::DropHeld => match held() {
            Some(place) => {
                let text = format!("{key} again drops it for good; another key keeps it");
                (Asked::Drop(place), text)
            }
            None => return false,
        },
        Action::QuitNow => match choose::players(app) {
            0 => return false,
            players => {
                let players = teetap_wire::counted(players, "player");
                let text = format!("{key} again ends the run with {players}; another key goes on");
                (Asked::Quit, text)
            }
        },
        _ => return false,
    };
    if asked.as_ref() == Some(&question) {
        return false;
    }
    app.dialog.say(text);
    app.dialog.asked = Some(question);
    true
}

//! Menus: their entries, and the effects of the entries.

use teetap_proxy::session::State;

use super::session::SessionError;
use crate::{
    app::{
        App, Overlay,
        menu::{Choice, Menu},
        prompt::Purpose,
    },
    request::Request,
};

/// Opens the menu of sessions.
pub(super) fn session(app: &mut App) -> Result<(), SessionError> {
    let sessions = app.sessions.follow.sessions().map(|(session, followed)| {
        let player = followed.player.as_ref();
        let player = player.map_or(String::new(), |player| format!(" \"{player}\""));
        let proto = followed.proto.map_or(String::new(), |proto| format!(" {proto}"));
        let client = followed.client;
        let client = client.map_or(String::new(), |client| format!(" {client}"));
        let state = match followed.state {
            State::Online => String::new(),
            state => format!(" {state}"),
        };
        let text = format!("#{}{player}{proto}{client}{state}", session.0);
        (text, Choice::Session(Some(session)))
    });
    // The newest sessions are the most interesting.
    let mut sessions: Vec<_> = sessions.collect();
    if sessions.is_empty() {
        return Err(SessionError::NoSession);
    }
    sessions.reverse();
    let all = ("all sessions".to_owned(), Choice::Session(None));
    let entries = std::iter::once(all).chain(sessions);
    app.dialog.overlay = Some(Overlay::Menu(Menu::new("sessions", entries)));
    Ok(())
}

/// Returns the number of players that are online in this run; zero for a recording.
pub(super) fn players(app: &App) -> usize {
    let sessions = app.sessions.follow.sessions();
    let online = sessions.filter(|(_, session)| session.state == State::Online);
    if app.orders.is_live { online.count() } else { 0 }
}

/// Ends the run. Asks first if players are online.
pub(super) fn leave(app: &mut App) {
    let title = match players(app) {
        0 => {
            app.terminal.leaving = true;
            return;
        }
        1 => "a player is online: end the run?".to_owned(),
        players => format!("{players} players are online: end the run?"),
    };
    let entries = [
        ("go on".to_owned(), Choice::Stay),
        ("end the run: each peer gets a CLOSE".to_owned(), Choice::Leave),
    ];
    app.dialog.overlay = Some(Overlay::Menu(Menu::new(&title, entries)));
}

/// Applies the choice of a menu.
pub(super) fn choose(app: &mut App, choice: &Choice) {
    match choice {
        Choice::Session(session) => {
            app.messages.pick(*session);
            if let Some(session) = session {
                app.sessions.pick(*session);
            }
        }
        Choice::Rule(text) => super::open(app, Purpose::Rule(None), text),
        Choice::Fold(group) => super::rows::toggle_fold(app, group),
        Choice::Save(saved) => super::send::ask_for_file(app, *saved),
        Choice::Leave => app.terminal.leaving = true,
        Choice::Stay => {}
        Choice::Copy(text) => {
            app.terminal.clipboard = Some(text.clone());
            // Without a proxy nothing can write the file.
            if app.ask(Request::Copy(text.clone())).is_err() {
                app.dialog.say("copied by OSC 52");
            }
        }
    }
    app.sync();
}

//! The sessions that were seen, for picking one and for times since their beginning.

use std::collections::BTreeMap;

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{SessionId, State, Time, What};

/// Sessions by their numbers.
#[derive(Debug, Default)]
pub struct Roster(BTreeMap<u32, Seen>);

/// A session that was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The first event.
    pub begin: Time,
    /// The state.
    pub state: State,
    /// Protocol and client.
    pub about: String,
    /// The name of the player, if it is known.
    pub player: Option<String>,
}

/// The maximum number of sessions that are remembered.
const KEPT: usize = 4096;

impl Roster {
    /// Takes an event.
    pub fn event(&mut self, decoded: &DecodedEvent) {
        let Some(SessionId(id)) = decoded.event.session else {
            return;
        };
        let at = decoded.event.at;
        let seen = self.0.entry(id).or_insert_with(|| Seen {
            begin: at,
            state: State::Online,
            about: String::new(),
            player: None,
        });
        if let What::Session(change) = &decoded.event.what {
            seen.state = change.state;
            seen.about = format!("{} {}", change.proto, change.client);
            if decoded.player.is_some() {
                seen.player.clone_from(&decoded.player);
            }
        }
        while self.0.len() > KEPT {
            self.0.pop_first();
        }
    }

    /// Returns the sessions in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = (SessionId, &Seen)> {
        self.0.iter().map(|(id, seen)| (SessionId(*id), seen))
    }

    /// Returns a session.
    #[must_use]
    pub fn get(&self, session: SessionId) -> Option<&Seen> {
        self.0.get(&session.0)
    }
}

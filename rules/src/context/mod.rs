//! The context of one session for rules and filters: its state, its round trip, its players and its snapshots.
//!
//! ```text
//! message ── Context::observe ──> decide with Context::facts ──> Context::learn
//! ```
//!
//! Law: pure and bounded: a session has at most 128 players and 2 MiB of snapshots, and [`Contexts`] limits all
//! sessions together. Each message of a session is observed once, in the order of arrival, before any decision about
//! it. The names of players are updated after the decision, so that rules can still name a player whom the message
//! reports as leaving.
//!
//! Sessions are numbers and times are microseconds, so that both the session core and watchers can use contexts.

mod facts;
mod needs;
mod players;
mod sessions;
mod snapshots;
mod table;
mod trip;
mod view;

use std::{cell::Cell, net::SocketAddr, sync::Arc};

use teetap_wire::{
    Dir, Notes, PerSide, Seq,
    def::Decoded,
    snap::{Completed, Diagnosis, Retained, Store},
};

pub use facts::MessageFacts;
pub use needs::{Names, Needs};
pub use players::Players;
pub use sessions::{Contexts, LIMIT, SESSIONS};
pub use snapshots::Stores;
pub use table::Table;
pub use trip::RoundTrip;
pub use view::{DoneView, LinkView, MessageView, PacketView};

use crate::eval::{Lazy, SessionState};
use snapshots::SnapshotTracker;

/// The context of one session.
#[derive(Clone, Debug)]
pub struct Context {
    known: Known,
    trip: RoundTrip,
    track: SnapshotTracker,
    kinds: Option<players::Kinds>,
}

/// Part of a context that is kept with a message; cheap to clone.
#[derive(Clone, Debug)]
pub struct Known {
    /// Time of the first event, in microseconds.
    pub since: u64,
    /// The state of the session.
    pub state: SessionState,
    /// Microseconds from the last measured vital message to the client until its ack; `None` before the first
    /// measurement.
    pub rtt: Option<u64>,
    /// Address of the client; `None` until it is known.
    pub client: Option<SocketAddr>,
    /// True for each peer, client and server, that has shown that it is DDNet.
    ddnet: PerSide<bool>,
    /// The players.
    pub players: Arc<Players>,
}

impl Context {
    /// Creates the context of a session whose first event was at this time, in microseconds. The event may not be the
    /// beginning of the session.
    #[must_use]
    pub fn new(since: u64) -> Self {
        Self {
            known: Known {
                since,
                state: SessionState::Opening,
                rtt: None,
                client: None,
                ddnet: PerSide::default(),
                players: Arc::default(),
            },
            trip: RoundTrip::default(),
            track: SnapshotTracker::default(),
            kinds: None,
        }
    }

    /// Creates the context of a session that opens at this time, of which no message was missed.
    #[must_use]
    pub fn opening(since: u64) -> Self {
        Self {
            track: SnapshotTracker::from_the_beginning(),
            ..Self::new(since)
        }
    }

    /// Changes the state.
    pub(crate) const fn set_state(&mut self, state: SessionState) {
        self.known.state = state;
    }

    /// Sets the address of the client.
    pub(crate) const fn set_client(&mut self, client: Option<SocketAddr>) {
        self.known.client = client;
    }

    /// Observes a message before any decision about it. Follows snapshots if `needs` requires them.
    pub fn observe(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, needs: Needs, stores: &Stores) {
        if view.class.is_some() {
            match (view.dir, view.seq_out, view.packet.ack) {
                (Dir::S2c, Some(seq), _) => self.on_sent(view.at, seq, view.resend),
                (Dir::C2s, _, Some(ack)) => self.on_ack(view.at, ack),
                _ => {}
            }
        }
        self.introduce(view);
        let follows = view.session.is_some() && needs.follows(view.proto);
        self.track.observe(view, fields, follows.then_some(stores));
    }

    /// Records whether a message shows that its sender is DDNet, for callers that do not observe all messages.
    pub(crate) fn introduce(&mut self, view: &MessageView<'_>) {
        if view.session.is_some() && view.shows_ddnet() {
            self.known.ddnet[view.dir.sender()] = true;
        }
    }

    /// Returns true if the receiver in this direction has shown that it is DDNet.
    #[must_use]
    pub fn is_to_ddnet(&self, dir: Dir) -> bool {
        self.known.ddnet[dir.receiver()]
    }

    /// Returns the fields of a message that its receiver accepts. Reuses `buffer`.
    #[must_use]
    pub fn fields<'a>(&self, view: &MessageView<'a>, mut buffer: Decoded) -> Lazy<'a> {
        buffer.set_for_ddnet(self.is_to_ddnet(view.dir));
        Lazy::new(view.def, view.data, view.body, buffer)
    }

    /// Records that a vital message was sent to the client with this sequence number, for callers that observe a
    /// message before it has a number.
    pub fn on_sent(&mut self, at: u64, seq: Seq, resend: bool) {
        self.trip.on_sent(at, seq, resend);
    }

    /// Handles an ack of the client, for callers that do not observe all its datagrams.
    pub fn on_ack(&mut self, at: u64, ack: Seq) {
        if let Some(trip) = self.trip.on_ack(at, ack) {
            self.known.rtt = Some(trip);
        }
    }

    /// Restarts the measurement of round trips, because acks were missed.
    pub(crate) fn restart_trips(&mut self) {
        self.trip = RoundTrip::default();
        self.known.rtt = None;
    }

    /// Learns the names of players from the last observed message.
    pub fn learn(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, needs: Needs) {
        if !view.delivered || needs.names == Names::None || view.session.is_none() {
            return;
        }
        if let Some(def) = view.def.filter(|def| Players::learns_from(view.dir, def))
            && let Some(fields) = fields.fields()
        {
            Arc::make_mut(&mut self.known.players).learn(view.dir, def, fields.decoded, view.data);
        }
        if needs.names == Names::All
            && let Some(snapshot) = self.track.completed()
        {
            Players::learn_snapshot(&mut self.known.players, &snapshot, &mut self.kinds);
        }
    }

    /// Records that messages were missed.
    pub fn gap(&mut self) {
        self.track.gap();
        Players::gap(&mut self.known.players);
    }

    /// Returns the facts about the last observed message, before its names are learned; `item` is a buffer.
    #[must_use]
    pub fn facts<'a>(
        &'a self,
        view: &'a MessageView<'a>,
        fields: &'a Lazy<'a>,
        item: &'a Cell<Decoded>,
    ) -> MessageFacts<'a> {
        MessageFacts::new(view, fields, &self.known, item).with_snapshot(self.completed(), self.notes())
    }

    /// Returns the part that is kept with a message.
    #[must_use]
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// Returns the snapshot that the last observed message completes.
    #[must_use]
    pub fn completed(&self) -> Option<Completed<'_>> {
        self.track.completed()
    }

    /// Returns that snapshot in a form that outlives the next message. Copies no items.
    #[must_use]
    pub fn retained(&self) -> Option<Retained<'static>> {
        self.track.retained()
    }

    /// Returns that snapshot without its items, but with the counts.
    #[must_use]
    pub fn retained_counts(&self) -> Option<Retained<'static>> {
        self.track.retained_counts()
    }

    /// Returns the reasons why the snapshot that the last observed message (`view`) completes is wrong; `None` if it is
    /// right, or if no reason is known.
    pub fn diagnose(&mut self, view: &MessageView<'_>) -> Option<Diagnosis> {
        self.track.diagnose(view.data)
    }

    /// Returns the oddities of the last observed message that only its snapshots show.
    #[must_use]
    pub fn notes(&self) -> &Notes {
        self.track.notes()
    }

    /// Returns the snapshots; `None` until there is one to follow.
    #[must_use]
    pub fn store(&self) -> Option<&Store<'static>> {
        self.track.store()
    }
}

#[cfg(test)]
mod tests;

//! The statistics of one session.

use std::{net::SocketAddr, time::Duration};

use teetap_proxy::session::{Action, Datagram, EventKind, Origin, SessionChange, State, Time};
use teetap_wire::{Dir, PerDir, PerSide, Proto, Severity, Side, printable};

use super::{Counts, DirectionStatistics, Leg, LegState, Resend, Samples, Ties, Track};
use crate::{
    DecodedEvent, Reading,
    reading::{Layer, Message, MessageOutcome},
};

/// The statistics of one session.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Time of the first event.
    pub begin: Time,
    /// Time of the last event.
    pub last: Time,
    /// The state.
    pub state: State,
    /// The protocol; `None` if not known yet.
    pub proto: Option<Proto>,
    /// Address of the client; `None` if the start of the session was not seen.
    pub client: Option<SocketAddr>,
    /// Name of the player without control characters; `None` if not known yet.
    pub player: Option<String>,
    /// Counts of messages, bytes and items.
    pub counts: Counts,
    /// Sizes of snapshots as received, in bytes.
    pub snapshots: Samples,
    /// Intervals between snapshots, in milliseconds.
    pub intervals: Samples,
    /// Margins by which inputs reached the server early, in milliseconds; negative for late inputs.
    pub margins: Samples,
    /// The snapshot whose parts are being received: its tick, the time of its first part, and its bytes so far.
    receiving: Option<(i64, Time, u64)>,
    legs: PerSide<Leg>,
    dirs: PerDir<DirectionStatistics>,
}

/// Time without a datagram after which a peer counts as silent. The games send a datagram each second.
const SILENCE: Duration = Duration::from_secs(3);

impl Followed {
    /// Creates a session whose first event was at `begin`.
    pub(super) fn new(begin: Time) -> Self {
        Self {
            begin,
            last: begin,
            state: State::Online,
            proto: None,
            client: None,
            player: None,
            counts: Counts::default(),
            snapshots: Samples::default(),
            intervals: Samples::default(),
            margins: Samples::default(),
            receiving: None,
            legs: PerSide::default(),
            dirs: PerDir::default(),
        }
    }

    /// Returns the leg of a side.
    #[must_use]
    pub fn leg(&self, side: Side) -> &Leg {
        &self.legs[side]
    }

    /// Returns the sequence numbers in a direction.
    #[must_use]
    pub fn way(&self, dir: Dir) -> &DirectionStatistics {
        &self.dirs[dir]
    }

    /// Returns the time since the last datagram of an online peer; `None` if it is below 3 s, or the session is
    /// not online.
    #[must_use]
    pub fn silence(&self, side: Side, now: Time) -> Option<Duration> {
        let leg = self.leg(side);
        let is_open = self.state == State::Online && leg.state == LegState::Online;
        let silent = now.since(leg.heard?);
        (is_open && silent >= SILENCE).then_some(silent)
    }

    /// Returns the time from the first event to the last event, or to `now` if the session is open.
    #[must_use]
    pub fn age(&self, now: Time) -> Duration {
        let end = match self.state {
            State::Closed => self.last,
            _ => now.max(self.last),
        };
        end.since(self.begin)
    }

    pub(super) fn event(&mut self, decoded: &DecodedEvent) -> Ties {
        self.last = decoded.event.at;
        match &decoded.event.what {
            EventKind::Session(change) => self.change(change, decoded.player.as_deref()),
            EventKind::Datagram(datagram) => {
                self.proto.get_or_insert(datagram.proto);
                if let Some(reading) = &decoded.reading {
                    return self.datagram(self.last, datagram, reading);
                }
            }
            EventKind::Connless(_) | EventKind::Notice(_) | EventKind::Answer(_) => {}
        }
        Ties::default()
    }

    pub(super) fn gap(&mut self) {
        self.legs.iter_mut().for_each(Leg::gap);
        self.dirs.iter_mut().for_each(DirectionStatistics::gap);
        self.receiving = None;
    }

    fn change(&mut self, change: &SessionChange, player: Option<&str>) {
        self.state = change.state;
        self.proto = Some(change.proto);
        self.client = Some(change.client);
        if let Some(player) = player {
            self.player = Some(player.to_owned());
        }
        if change.state == State::Closed {
            self.legs.iter_mut().for_each(|leg| leg.state = LegState::Closed);
        }
    }

    fn datagram(&mut self, at: Time, datagram: &Datagram, reading: &Reading) -> Ties {
        self.counts.datagram(at, datagram, reading);
        let heavy = |severity| severity >= Severity::Warning;
        let of_messages = reading.messages.iter().flat_map(|message| &message.notes);
        let notes = reading.notes.iter().chain(of_messages);
        self.counts.lints += notes.filter(|note| heavy(note.code.severity())).count() as u64;
        if !reading.token_ok() || reading.error.is_some() {
            // No receiver accepts such a datagram.
            return Ties::default();
        }
        let dir = datagram.dir;
        if datagram.received().is_some() {
            self.legs[dir.sender()].heard = Some(at);
        }
        self.acks(at, dir, reading);
        let mut ties = Ties::default();
        for message in &reading.messages {
            self.state_of_legs(datagram, message);
            self.numbers(at, dir, message, &mut ties);
            self.outcome(message);
            self.values(at, datagram, reading, message);
        }
        ties
    }

    /// Records the acks of a datagram, which are about the other direction.
    fn acks(&mut self, at: Time, dir: Dir, reading: &Reading) {
        // The ack of a keepalive is valid, unlike the acks of other control packets.
        let opens = |message: &Message| message.layer == Layer::Control && message.name != Some("keepalive");
        let is_handshake = reading.messages.iter().any(opens);
        if is_handshake {
            return;
        }
        if let Some(ack) = reading.header.ack.filter(|_| reading.sizes.received.is_some()) {
            self.legs[dir.sender()].on_ack(ack, at);
            self.dirs[dir.reverse()].plot(Track::AckIn, ack, at);
        }
        if let Some(ack) = reading.header.ack_out.filter(|_| !reading.sizes.sent.is_empty()) {
            self.dirs[dir.reverse()].plot(Track::AckOut, ack, at);
        }
    }

    fn state_of_legs(&mut self, datagram: &Datagram, message: &Message) {
        let state = match (message.layer, message.name) {
            (Layer::Control, Some("token")) => LegState::Token,
            (Layer::Control, Some("connect")) => LegState::Connect,
            (Layer::Control, Some("close")) => LegState::Closed,
            (Layer::Control, Some("keepalive")) => return,
            _ => LegState::Online,
        };
        let sides = [Side::Client, Side::Server];
        for side in sides
            .into_iter()
            .filter(|side| datagram.leg.is_none_or(|leg| leg == *side))
        {
            let leg = &mut self.legs[side];
            let is_late = matches!(leg.state, LegState::Online | LegState::Closed);
            // Repeated handshakes and late messages change nothing.
            if state == LegState::Closed || !is_late && leg.state as u8 <= state as u8 {
                leg.state = state;
            }
        }
    }

    fn numbers(&mut self, at: Time, dir: Dir, message: &Message, ties: &mut Ties) {
        let (from, to) = (dir.sender(), dir.receiver());
        let placed = matches!(
            message.handling.done,
            MessageOutcome::Placed(Action::Pass | Action::Edit | Action::Corrupt | Action::Repeat)
        );
        let left = message.transport.vital && placed;
        if let Some(seq) = message.transport.seq {
            let first = self.way(dir).first(seq);
            let leg = &mut self.legs[from];
            leg.vital += 1;
            if message.transport.resend {
                leg.resends += 1;
                ties.resends.push(Resend {
                    seq,
                    first: first.map(|first| first.at),
                });
                match first {
                    None => leg.lost += 1,
                    // A message that the proxy had kept back was not lost.
                    Some(first) if first.left => self.legs[to].lost += 1,
                    Some(_) => {}
                }
            }
            let way = &mut self.dirs[dir];
            let missing = way.on_number(seq, at, left);
            ties.missing = ties.missing.or(missing);
            way.plot(Track::SeqIn, seq, at);
        }
        if left {
            let leg = &mut self.legs[to];
            leg.vital += 1;
            leg.resends += u64::from(message.transport.resend);
            // A resend by the proxy itself replaces a copy that was lost on this leg.
            leg.lost += u64::from(message.transport.resend && message.handling.origin == Origin::Proxy);
        }
        if let Some(seq) = message.transport.seq_out.filter(|_| left) {
            self.legs[to].on_sent(seq, at, message.transport.resend);
            self.dirs[dir].plot(Track::SeqOut, seq, at);
        }
    }

    fn outcome(&mut self, message: &Message) {
        match message.handling.done {
            MessageOutcome::Placed(Action::Drop | Action::Lose) => self.counts.dropped += 1,
            MessageOutcome::Placed(Action::Edit | Action::Corrupt) => self.counts.edited += 1,
            _ => {}
        }
        let is_made = matches!(message.handling.origin, Origin::Rule | Origin::User);
        self.counts.injected += u64::from(is_made && message.transport.seq.is_none());
    }

    /// Records the values of messages that views plot.
    fn values(&mut self, at: Time, datagram: &Datagram, reading: &Reading, message: &Message) {
        if let Some(players) = &message.players
            && let Some(name) = players.own_name()
        {
            self.player = Some(printable(name));
        }
        let int = |field| reading.int(message, field);
        match (datagram.dir, message.name) {
            (Dir::C2s, Some("input")) => {
                if let Some(tick) = int("ack_snapshot") {
                    self.legs.client.on_answer(tick, at);
                }
                if let Some(tick) = int("intended_tick") {
                    self.legs.server.on_tick(tick, at);
                }
            }
            (Dir::C2s, Some("cl_start_info")) => {
                self.player = reading.text(message, "name").or(self.player.take());
            }
            (Dir::S2c, Some("input_timing")) => {
                if let Some(tick) = int("input_pred_tick") {
                    self.legs.server.on_answer(tick, at);
                }
                if let Some(left) = int("time_left") {
                    self.margins.push(at, left as f64);
                }
            }
            (Dir::S2c, Some("snap" | "snap_single" | "snap_empty")) => {
                if let Some(tick) = int("tick") {
                    self.legs.client.on_tick(tick, at);
                    self.snapshot(tick, at, reading.data(message).len() as u64);
                }
            }
            _ => {}
        }
    }

    /// Records a part of a snapshot. A snapshot counts as complete when the next snapshot begins.
    fn snapshot(&mut self, tick: i64, at: Time, bytes: u64) {
        if let Some((known, _, sum)) = &mut self.receiving
            && *known == tick
        {
            *sum += bytes;
            return;
        }
        if let Some((_, begin, sum)) = self.receiving.replace((tick, at, bytes)) {
            self.snapshots.push(begin, sum as f64);
            self.intervals.push(at, at.since(begin).as_secs_f64() * 1000.0);
        }
    }
}

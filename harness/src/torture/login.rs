//! The messages of a login.

use std::time::Duration;

use teetap_inspect::{Layer, Message};
use teetap_proxy::session::{Datagram, Time};
use teetap_wire::{Dir, Proto, Side};

/// A kind of message in a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginMessage {
    /// Direction of the message.
    pub dir: Dir,
    /// Class and name, as in conditions: `sys.con_ready`.
    pub name: String,
    /// True if the message is resent until it is acked.
    pub vital: bool,
    /// True for a control message, such as a handshake packet.
    pub is_control: bool,
    /// Protocol of the session.
    pub proto: Proto,
}

impl LoginMessage {
    fn is_same(&self, other: &Self) -> bool {
        (self.dir, &self.name) == (other.dir, &other.name)
    }

    /// Returns the step for a message; `None` if the message is not part of a login. The proxy's own exchange with the
    /// server and the end of a connection are not.
    pub(super) fn from_message(datagram: &Datagram, message: &Message) -> Option<Self> {
        let class = match message.layer {
            Layer::Control => "ctrl",
            Layer::System => "sys",
            Layer::Game => "game",
            Layer::Connless | Layer::Unreadable => return None,
        };
        let id = || message.id.filter(|_| message.uuid.is_none());
        let name = message.name.map(str::to_owned);
        let name = name.or_else(|| id().map(|id| id.to_string()))?;
        let is_close = name == "close" && class == "ctrl";
        if is_close || datagram.leg == Some(Side::Server) {
            return None;
        }
        Some(Self {
            dir: datagram.dir,
            name: format!("{class}.{name}"),
            vital: message.transport.vital,
            is_control: class == "ctrl",
            proto: datagram.proto,
        })
    }

    /// Returns the direction and the short name, such as `c2s info`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.dir, self.short())
    }

    /// Returns the name without its class, unless it is only a number: `con_ready`, `sys.77`.
    #[must_use]
    pub fn short(&self) -> &str {
        let last = self.name.split_once('.').map_or("", |(_, last)| last);
        if last.is_empty() || last.starts_with(|c: char| c.is_ascii_digit()) {
            return &self.name;
        }
        last
    }
}

/// Time after ENTER_GAME in which messages belong to the login: the first snapshot and one more message are received in
/// it.
const AFTER: Duration = Duration::from_millis(200);

/// Maximum messages of a login. A peer may send messages with any number of different ids.
const MOST: usize = 256;

/// The messages of a login, each once, in the order in which they were first sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Login {
    pub(super) steps: Vec<LoginMessage>,
    /// Time at which the client entered the game.
    entered: Option<Time>,
}

impl Login {
    /// Adds a message if it is the first of its kind and belongs to the login.
    pub(super) fn add(&mut self, at: Time, step: LoginMessage) {
        if self.entered.is_some_and(|entered| at > entered + AFTER) {
            return;
        }
        if step.dir == Dir::C2s && step.name == "sys.enter_game" {
            self.entered.get_or_insert(at);
        }
        if self.steps.len() < MOST && !self.steps.iter().any(|known| known.is_same(&step)) {
            self.steps.push(step);
        }
    }

    /// Keeps only messages that `other` has, too, since the rest depends on chance.
    pub(super) fn keep_common(&mut self, other: &Self) {
        self.steps
            .retain(|step| other.steps.iter().any(|known| known.is_same(step)));
    }

    /// Returns the messages with these names; all messages if `names` is empty.
    ///
    /// # Errors
    /// Returns the first name that the login does not have, and the names that it has.
    pub(super) fn only(self, names: &[String]) -> Result<Self, (String, String)> {
        let is_called = |step: &LoginMessage, name: &str| {
            step.name == name || step.name.split_once('.').is_some_and(|(_, last)| last == name)
        };
        for name in names {
            if !self.steps.iter().any(|step| is_called(step, name)) {
                let known: Vec<&str> = self.steps.iter().map(|step| &*step.name).collect();
                return Err((name.clone(), known.join(" ")));
            }
        }
        let is_wanted =
            |step: &LoginMessage| names.is_empty() || names.iter().any(|name| is_called(step, name));
        let steps = self.steps.into_iter().filter(is_wanted).collect();
        Ok(Self { steps, ..self })
    }
}

#[cfg(test)]
mod tests {
    use teetap_inspect::Decoder;
    use teetap_proxy::session::{Event, EventKind, SessionId};
    use teetap_wire::def::Registry;

    use super::*;

    fn step(dir: Dir, name: &str) -> LoginMessage {
        LoginMessage {
            dir,
            name: name.to_owned(),
            vital: !name.starts_with("ctrl"),
            is_control: name.starts_with("ctrl"),
            proto: Proto::Ddnet,
        }
    }

    fn login(steps: &[(u64, Dir, &str)]) -> Login {
        let mut login = Login::default();
        for (ms, dir, name) in steps {
            login.add(Time(ms * 1000), step(*dir, name));
        }
        login
    }

    fn names(login: &Login) -> Vec<(Dir, &str)> {
        login.steps.iter().map(|step| (step.dir, &*step.name)).collect()
    }

    #[test]
    fn a_login_has_each_message_once() {
        let found = login(&[
            (0, Dir::C2s, "ctrl.connect"),
            (0, Dir::C2s, "sys.info"),
            (0, Dir::C2s, "sys.info"),
            (0, Dir::S2c, "sys.7"),
        ]);
        let expected = [
            (Dir::C2s, "ctrl.connect"),
            (Dir::C2s, "sys.info"),
            (Dir::S2c, "sys.7"),
        ];
        assert_eq!(names(&found), expected);
        let short: Vec<&str> = found.steps.iter().map(LoginMessage::short).collect();
        assert_eq!(short, ["connect", "info", "sys.7"]);
        let only = |name: &str| {
            found
                .clone()
                .only(&[name.to_owned()])
                .map(|login| login.steps.len())
        };
        assert_eq!((only("info").unwrap(), only("sys.7").unwrap()), (1, 1));
        let known = "ctrl.connect sys.info sys.7".to_owned();
        assert_eq!(only("inf").unwrap_err(), ("inf".to_owned(), known));
    }

    #[test]
    fn a_flood_of_ids_is_bounded() {
        let mut login = Login::default();
        for id in 0..10_000 {
            login.add(Time(0), step(Dir::C2s, &format!("sys.{id}")));
        }
        assert_eq!(login.steps.len(), MOST, "messages that are kept");
    }

    #[test]
    fn a_login_ends_after_the_client_has_entered_and_has_no_messages_of_chance() {
        let c2s = Dir::C2s;
        let mut first = login(&[
            (0, c2s, "sys.info"),
            (100, c2s, "sys.whim"),
            (1000, c2s, "sys.enter_game"),
            (1100, c2s, "sys.input"),
            (1300, c2s, "sys.ping"),
        ]);
        let all = ["sys.info", "sys.whim", "sys.enter_game", "sys.input"].map(|name| (c2s, name));
        assert_eq!(names(&first), all);
        first.keep_common(&login(&[
            (0, c2s, "sys.info"),
            (500, c2s, "sys.enter_game"),
            (600, c2s, "sys.input"),
        ]));
        assert_eq!(names(&first), [all[0], all[2], all[3]]);
    }

    /// Messages up to 200 ms after `enter_game` of the client belong to the login.
    #[test]
    fn a_login_ends_200_ms_after_its_first_enter_game() {
        let (c2s, s2c) = (Dir::C2s, Dir::S2c);
        let found = login(&[
            (0, s2c, "sys.enter_game"),
            (1000, c2s, "sys.enter_game"),
            (1100, c2s, "sys.enter_game"),
            (1200, c2s, "sys.last"),
            (1201, c2s, "sys.late"),
        ]);
        let expected = [
            (s2c, "sys.enter_game"),
            (c2s, "sys.enter_game"),
            (c2s, "sys.last"),
        ];
        assert_eq!(names(&found), expected);
    }

    /// Returns the step of the first message of a datagram of the client in 0.7.
    fn of(bytes: &[u8], leg: Option<Side>) -> Option<(String, bool, bool)> {
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let mut datagram = Datagram::passed(Dir::C2s, Proto::V7, bytes, None);
        datagram.leg = leg;
        let mut decoder = Decoder::new(Registry::builtin());
        let decoded = decoder.decode(Event {
            at: Time::ZERO,
            session: Some(SessionId(1)),
            what: EventKind::Datagram(datagram.clone()),
        });
        let reading = decoded.reading.expect("a reading");
        let step = LoginMessage::from_message(&datagram, &reading.messages[0])?;
        Some((step.name, step.vital, step.is_control))
    }

    #[test]
    fn the_ends_of_connections_and_the_exchange_of_the_proxy_are_no_steps() {
        let packet =
            |flags: u8, chunks: u8, payload: &[u8]| [&[flags << 2, 0, chunks][..], b"tokn", payload].concat();
        let control = |id: u8| packet(1, 0, &[id]);
        let of_client = Some(Side::Client);
        let step = |name: &str, vital, is_control| Some((name.to_owned(), vital, is_control));
        for leg in [None, of_client] {
            assert_eq!(of(&control(0), leg), step("ctrl.keepalive", false, true));
            assert_eq!(of(&control(4), leg), None, "close");
        }
        assert_eq!(of(&control(0), Some(Side::Server)), None);
        // `cl_kill`, vital and not vital, and a system message without a definition.
        assert_eq!(
            of(&packet(0, 1, &[0x40, 1, 1, 0x38]), None),
            step("game.cl_kill", true, false)
        );
        assert_eq!(
            of(&packet(0, 1, &[0, 1, 0x38]), None),
            step("game.cl_kill", false, false)
        );
        assert_eq!(
            of(&packet(0, 1, &[0, 2, 0xb9, 0x01]), None),
            step("sys.60", false, false)
        );
        // A system message with an unknown UUID: its number is that of all such messages.
        let extended = [&[0, 17, 1][..], &[0x5a; 16]].concat();
        assert_eq!(of(&packet(0, 1, &extended), None), None);
    }
}

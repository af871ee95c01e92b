//! Which release of the game each peer of a session runs.

use std::fmt;

use teetap_proxy::session::{Datagram, Origin};
use teetap_wire::{
    PerSide, Proto, Side,
    receiver::{Identified, Signs, identify},
};

use crate::{
    Layer, Message, Reading,
    reading::INTRODUCTIONS,
    stated::{StatedBy, StatedVersion, reported},
};

/// Messages that state the version of a DDNet client. DDNet clients send the legacy message to servers of any kind.
const VERSIONS: [&str; 2] = ["client_version", "cl_is_ddnet_legacy"];

/// The side that is responsible for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// The client.
    Client,
    /// The server.
    Server,
    /// The proxy: a rule, the user or the proxy itself wrote the bytes or caused the finding.
    Proxy,
    /// No side: the session was never closed.
    Nobody,
}

impl From<Side> for Culprit {
    fn from(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }
}

impl Culprit {
    /// Returns `client`, `server`, `proxy` or `nobody`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Proxy => "proxy",
            Self::Nobody => "nobody",
        }
    }

    /// Returns the side; `None` for the proxy and for nobody.
    #[must_use]
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Client => Some(Side::Client),
            Self::Server => Some(Side::Server),
            Self::Proxy | Self::Nobody => None,
        }
    }
}

/// The release of the game that a peer runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRelease {
    /// The name and version number, such as `DDNet 18.3`.
    pub name: String,
    /// True if the peer did not identify itself; `name` is then the usual release of its protocol.
    pub assumed: bool,
    /// Where the server states the release; `None` if it does not.
    pub stated_by: Option<StatedBy>,
}

impl fmt::Display for PeerRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        f.write_str(match (self.assumed, self.stated_by) {
            (true, _) => ", assumed",
            (false, Some(StatedBy::Info)) => ", by its info",
            (false, Some(StatedBy::Chat)) => ", by its chat",
            (false, None) => "",
        })
    }
}

/// Evidence of the releases that the two peers of a session run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    proto: Option<Proto>,
    /// The version number in `client_version`.
    client_version: Option<i32>,
    is_ddnet: PerSide<bool>,
    /// True once the server has accepted the client or sent a message other than a control packet.
    is_answered: bool,
}

impl Peers {
    /// Returns true if a datagram may identify its sender.
    pub(crate) fn may_learn(datagram: &Datagram, reading: &Reading) -> bool {
        let introduces = |message| introduces(message) || is_tken_connect(datagram, message);
        datagram.ordinal <= INTRODUCTIONS && reading.messages.iter().any(introduces)
    }

    /// Records evidence of the sender's release in a datagram.
    pub(crate) fn learn(&mut self, datagram: &Datagram, reading: &Reading) {
        if reading
            .messages
            .iter()
            .any(|message| is_tken_connect(datagram, message))
        {
            self.is_ddnet.client = true;
            return;
        }
        self.proto = Some(datagram.proto);
        for message in reading.messages.iter().filter(|message| introduces(message)) {
            let is_version = message.name.is_some_and(|name| VERSIONS.contains(&name));
            let sender = datagram.dir.sender();
            self.is_ddnet[sender] |= is_version || sender == Side::Server;
            if is_version {
                let number = reading.int(message, "ddnet_version");
                let number = number.and_then(|number| i32::try_from(number).ok());
                self.client_version = number.or(self.client_version);
            }
        }
    }

    /// Records the sender of a datagram with an oddity. Control packets alone, such as a CLOSE, do not identify a
    /// server.
    pub(crate) fn odd(&mut self, datagram: &Datagram, reading: &Reading) {
        self.proto = Some(datagram.proto);
        let mut messages = reading.messages.iter();
        let is_of_server = datagram.origin == Origin::Peer && datagram.dir.sender() == Side::Server;
        self.is_answered |= is_of_server && messages.any(|message| message.layer != Layer::Control);
    }

    /// Records that the server has accepted the client.
    pub(crate) const fn online(&mut self) {
        self.is_answered = true;
    }

    /// Sets the protocol of the session.
    pub(crate) const fn set_proto(&mut self, proto: Proto) {
        self.proto = Some(proto);
    }

    /// Returns the listed release whose checks apply to a side; `None` before its protocol is known. `version` is the
    /// version in the server's replies to server browsers.
    pub(crate) fn release(&self, side: Side, version: Option<StatedVersion<'_>>) -> Option<Identified> {
        self.signs(side, version).map(|signs| identify(&signs))
    }

    fn signs<'v>(&self, side: Side, version: Option<StatedVersion<'v>>) -> Option<Signs<'v>> {
        Some(Signs {
            proto: self.proto?,
            client_version: self.client_version.filter(|_| side == Side::Client),
            version: version
                .filter(|_| side == Side::Server)
                .map(|version| version.text),
            is_ddnet: self.is_ddnet[side],
        })
    }

    /// Returns the release of a side; `None` for a server without evidence. `version` is the version in the server's
    /// replies to server browsers.
    pub(crate) fn program(&self, side: Side, version: Option<StatedVersion<'_>>) -> Option<PeerRelease> {
        let signs = self.signs(side, version)?;
        if side == Side::Server && !self.is_answered && !signs.is_ddnet && signs.version.is_none() {
            return None;
        }
        let Identified { release, assumed } = identify(&signs);
        // The table has only some releases; a stated version number names the exact one.
        let named = match signs.client_version.filter(|number| *number >= 1000) {
            Some(number) => Some(ddnet(number)),
            None => signs.version.and_then(reported),
        };
        Some(PeerRelease {
            stated_by: version
                .filter(|_| named.is_some() && signs.version.is_some())
                .map(|version| version.by),
            assumed: assumed && named.is_none(),
            name: named.unwrap_or_else(|| release.name().to_owned()),
        })
    }
}

/// Returns true for a message that identifies its sender as DDNet: an extended system message with a definition, or a
/// message that states a client version.
fn introduces(message: &Message) -> bool {
    let is_extended = message.layer == Layer::System && message.uuid.is_some() && message.name.is_some();
    is_extended || message.name.is_some_and(|name| VERSIONS.contains(&name))
}

/// Returns true for a CONNECT with `TKEN`, which DDNet clients send to servers of any protocol.
fn is_tken_connect(datagram: &Datagram, message: &Message) -> bool {
    datagram.proto == Proto::Ddnet && datagram.dir.sender() == Side::Client && message.name == Some("connect")
}

/// Formats a DDNet release number: 16040 is 16.4, 15091 is 15.9.1.
fn ddnet(number: i32) -> String {
    let (major, minor, patch) = (number / 1000, number / 10 % 100, number % 10);
    match patch {
        0 => format!("DDNet {major}.{minor}"),
        _ => format!("DDNet {major}.{minor}.{patch}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_the_release_that_it_names_or_the_usual_one() {
        let named = |peers: &Peers, side, version: Option<&'static str>| {
            let by = StatedBy::Info;
            let version = version.map(|text| StatedVersion { text, by });
            peers.program(side, version).unwrap().to_string()
        };
        let mut peers = Peers::default();
        assert_eq!(peers.program(Side::Client, None), None);
        peers.set_proto(Proto::Ddnet);
        assert_eq!(named(&peers, Side::Client, None), "DDNet 20.1, assumed");
        for version in ["0.6, 16.4", "0.6.4, 16.4", "0.7↔0.6.4, 16.4"] {
            let name = named(&peers, Side::Server, Some(version));
            assert_eq!(name, "DDNet 16.4, by its info", "{version}");
        }
        // The server's version says nothing about the client.
        assert_eq!(
            named(&peers, Side::Client, Some("0.6, 16.4")),
            "DDNet 20.1, assumed"
        );
        for (number, name) in [
            (16040, "DDNet 16.4"),
            (18031, "DDNet 18.3.1"),
            (20010, "DDNet 20.1"),
            (19123, "DDNet 19.12.3"),
        ] {
            peers.client_version = Some(number);
            assert_eq!(named(&peers, Side::Client, None), name);
        }
        peers.set_proto(Proto::V7);
        peers.online();
        assert_eq!(named(&peers, Side::Server, None), "Teeworlds 0.7.5, assumed");
        assert_eq!(
            named(&peers, Side::Server, Some("0.7.3")),
            "Teeworlds 0.7.3, by its info"
        );
        assert_eq!(
            named(&peers, Side::Server, Some("\u{1b}[2J")),
            "Teeworlds 0.7.5, assumed"
        );
    }
}

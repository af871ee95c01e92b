//! Queries a server once, as a server browser does, so that a wrong address is noticed immediately.
//!
//! Uses one socket, at most four datagrams and at most one second, less after the first answer. The datagrams
//! are DDNet's extended info request (which a 0.6 server answers in its own form), a 0.7 token request and,
//! after its answer, a 0.7 info request. If only one of the two was answered, the other is sent once more.
//! Some servers do not answer browsers, so a missing answer proves nothing.

use std::{
    fmt, io,
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use teetap_wire::{
    Connless, Control, Flags, Header, Packet, Proto, Scratch, Seq, Token, connless, control,
    def::{Decoded, Def, Registry, Source},
    packet, printable,
};

use super::{clock::Clock, entropy, udp};
use crate::session::{Family, Speaks, Time};

/// Maximum duration of a probe.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Minimum time to wait for further answers after the first one; three times its answer time, if that is
/// longer. Most servers speak one of the two protocols and ignore the other request.
const REST: Duration = Duration::from_millis(100);

/// The words of an info request, after the four bytes that start each message outside a connection.
const REQUEST_INFO: &[u8] = b"\xff\xff\xff\xffgie3";

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The probed address.
    pub target: SocketAddr,
    /// The protocols that were probed.
    pub requested: Vec<Family>,
    /// The answers, at most one per [`Family`].
    pub answers: Vec<Answer>,
    /// The error of the network or the operating system; `None` if there was none.
    pub error: Option<String>,
}

/// The start of the line about a server that answers, and the text before the server's version.
const ANSWERS: &str = "the server answers ";
const VERSION: &str = "\", version ";

/// The answer in one protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The protocol of the answer.
    pub family: Family,
    /// The time since the request.
    pub after: Duration,
    /// The server info; `None` if it could not be read.
    pub info: Option<Info>,
}

/// The server info. Its texts contain no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The version that the server states.
    pub version: String,
    /// The name of the server.
    pub name: String,
    /// The map.
    pub map: String,
    /// Type of the game.
    pub game_type: String,
    /// Number of clients, including spectators.
    pub clients: i32,
    /// Maximum number of clients.
    pub max_clients: i32,
}

/// Queries a server. Blocks for at most [`PATIENCE`]. With `proto`, queries only in that protocol. Uses the
/// definitions of `registry` to read the answers.
pub fn probe(target: SocketAddr, proto: Option<Proto>, registry: &Registry, clock: &Clock) -> Finding {
    let mut finding = Finding {
        target,
        requested: match proto {
            None => vec![Family::Six, Family::Seven],
            Some(proto) => vec![Family::from_proto(proto)],
        },
        answers: Vec::new(),
        error: None,
    };
    if let Err(error) = query(&mut finding, registry, clock) {
        finding.error = Some(match error.kind() {
            io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
            _ => error.to_string(),
        });
    }
    finding
}

impl Finding {
    /// Returns true if the server sent any answer.
    pub fn is_answered(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Returns the protocols that the server speaks: true if it answered in that protocol, false if it
    /// answered only in the other one, `None` if unknown.
    #[must_use]
    pub fn speaks(&self) -> Speaks {
        let probed = |family| self.is_answered() && self.requested.contains(&family);
        let speaks = |family| probed(family).then(|| self.answer(family).is_some());
        Speaks {
            six: speaks(Family::Six),
            seven: speaks(Family::Seven),
        }
    }

    /// Returns the version that the server states; `None` if no answer has it.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let info = self.answers.iter().find_map(|answer| answer.info.as_ref())?;
        Some(&info.version)
    }

    fn answer(&self, family: Family) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.family == family)
    }

    fn add(&mut self, family: Family, after: Duration, info: Option<Info>) {
        match self.answers.iter_mut().find(|answer| answer.family == family) {
            None => self.answers.push(Answer { family, after, info }),
            Some(answer) => answer.info = answer.info.take().or(info),
        }
    }

    fn has_info(&self, family: Family) -> bool {
        self.answer(family).is_some_and(|answer| answer.info.is_some())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target;
        if self.answers.is_empty() {
            return match &self.error {
                Some(error) => write!(f, "the server {target} did not answer: {error}"),
                None => {
                    let patience = PATIENCE.as_secs();
                    write!(
                        f,
                        "the server {target} did not answer within {patience} s: down, filtered, or not a game server"
                    )
                }
            };
        }
        f.write_str(ANSWERS)?;
        for (index, answer) in self.answers.iter().enumerate() {
            let and = if index > 0 { " and " } else { "" };
            write!(f, "{and}{answer}")?;
        }
        Ok(())
    }
}

/// Returns the server's version from the line about a probe, as [`Finding`] is displayed in logs and
/// recordings.
#[must_use]
pub fn stated_version(line: &str) -> Option<&str> {
    let answers = line.strip_prefix(ANSWERS)?;
    let (_, rest) = answers.split_once(VERSION)?;
    // The version itself may contain commas; the game type after it is one word before `on`.
    let (before, _) = rest.split_once(" on ")?;
    let (version, _) = before.rsplit_once(", ")?;
    Some(version)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.after.as_secs_f64() * 1000.0;
        write!(f, "{} in {ms:.1} ms", self.family)?;
        if let Some(Info {
            version,
            name,
            map,
            game_type,
            clients,
            max_clients,
        }) = &self.info
        {
            write!(
                f,
                " (\"{name}{VERSION}{version}, {game_type} on {map}, {clients}/{max_clients} players)"
            )?;
        }
        Ok(())
    }
}

fn query(finding: &mut Finding, registry: &Registry, clock: &Clock) -> io::Result<()> {
    let socket = udp::connect(finding.target)?;
    socket.set_nonblocking(false)?;
    let [own @ .., byte, extra] = entropy::<6>()?;
    let own = Token(own);
    let request = |family: &Family| match family {
        Family::Six => info_request(byte, extra),
        Family::Seven => token_request(own),
    };
    let requested = finding.requested.clone();
    let start = clock.now();
    for family in &requested {
        socket.send(&request(family))?;
    }
    let mut buffer = [0; 2048];
    let end = start + PATIENCE;
    let mut deadline = end;
    let mut is_last = false;
    while !requested.iter().all(|family| finding.has_info(*family)) {
        let Some(len) = receive(&socket, &mut buffer, deadline, clock)? else {
            let mut missing = requested
                .iter()
                .filter(|family| finding.answer(**family).is_none());
            let Some(missing) = missing.next().filter(|_| finding.is_answered() && !is_last) else {
                break;
            };
            // The request or its answer may have been lost.
            is_last = true;
            socket.send(&request(missing))?;
            deadline = end.min(clock.now() + REST);
            continue;
        };
        let datagram = buffer.get(..len).unwrap_or_default();
        let after = clock.now() - start;
        if !finding.is_answered() {
            deadline = deadline.min(clock.now() + REST.max(after * 3));
        }
        if let Some(token) = token_reply(datagram) {
            finding.add(Family::Seven, after, None);
            let mut request = Vec::new();
            let message: Vec<u8> = [REQUEST_INFO, &[byte & 0x3f]].concat();
            connless::write_v7(token, own, &message, &mut request);
            socket.send(&request)?;
        } else if let Some((family, info)) = read_info(registry, datagram) {
            finding.add(family, after, info);
        }
    }
    Ok(())
}

/// Receives one datagram; `None` if none is received before `deadline`.
fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    deadline: Time,
    clock: &Clock,
) -> io::Result<Option<usize>> {
    loop {
        let left = deadline - clock.now();
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
        match socket.recv(buffer) {
            Ok(len) => return Ok(Some(len)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}

/// Returns DDNet's extended request; a 0.6 server that does not know it reads a plain one.
fn info_request(byte: u8, extra: u8) -> Vec<u8> {
    [b"xe", &[0, extra, 0, 0][..], REQUEST_INFO, &[byte]].concat()
}

fn token_request(own: Token) -> Vec<u8> {
    let mut payload = Vec::new();
    control::token_request(own, &mut payload);
    let header = Header {
        flags: Flags::CONTROL,
        ack: Seq::ZERO,
        num_chunks: 0,
        token: Some(Token::NONE),
    };
    let mut datagram = Vec::new();
    packet::write(Proto::V7, &header, &payload, None, &mut datagram);
    datagram
}

/// Returns the server's token in the answer to a token request.
fn token_reply(datagram: &[u8]) -> Option<Token> {
    let mut scratch = Scratch::new();
    match Packet::parse(Proto::V7, datagram, &mut scratch).ok()?.control()? {
        Control::Token { token, .. } => token,
        _ => None,
    }
}

/// Reads server info as far as possible; `None` if the datagram is not an info message.
fn read_info(registry: &Registry, datagram: &[u8]) -> Option<(Family, Option<Info>)> {
    let (family, proto, data) = match Connless::parse(datagram)? {
        Connless::V7 { data, .. } => (Family::Seven, Proto::V7, data),
        Connless::Plain { data } | Connless::Extended { data, .. } => (Family::Six, Proto::Ddnet, data),
    };
    let mut decoded = Decoded::new();
    let def = decoded.connless(registry, proto, data)?;
    let found = matches!(&*def.name, "info" | "info_extended");
    found.then(|| (family, Info::read(def, &decoded, data)))
}

impl Info {
    fn read(def: &Def, decoded: &Decoded, data: &[u8]) -> Option<Self> {
        let record = |name| decoded.find(&def.path(name).ok()?);
        let text = |name| Some(printable(&def.bytes(record(name)?, Source::Bytes(data))));
        let number = |name| i32::try_from(record(name)?.int()?).ok();
        Some(Self {
            version: text("version")?,
            name: text("name")?,
            map: text("map")?,
            game_type: text("game_type")?,
            clients: number("num_clients")?,
            max_clients: number("max_clients")?,
        })
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;

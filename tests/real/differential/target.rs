//! The servers, the clients that connect to them, and the correct join.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use teetap_kit::codec::Variant;
use teetap_kit::model::Model;
use teetap_kit::real::{DdnetServer, OldServer, Server as _, TeeworldsServer, old_server};
use teetap_kit::script::{Got, Message, Step};

/// A kind of client and the server that it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Seven,
    SevenOnDdnet,
    Ddnet,
    OldOnDdnet,
    Old,
    Header,
    HeaderOnOld,
    DdnetOnOld,
    OldOnHeader,
    DdnetOnHeader,
    OldOnAntispoof,
}

impl Target {
    pub(crate) const ALL: [Self; 11] = [
        Self::Seven,
        Self::SevenOnDdnet,
        Self::Ddnet,
        Self::OldOnDdnet,
        Self::Old,
        Self::Header,
        Self::HeaderOnOld,
        Self::DdnetOnOld,
        Self::OldOnHeader,
        Self::DdnetOnHeader,
        Self::OldOnAntispoof,
    ];

    /// Returns the start of the names of its cells.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seven => "0.7",
            Self::SevenOnDdnet => "0.7 on ddnet",
            Self::Ddnet => "ddnet",
            Self::OldOnDdnet => "0.6.4 on ddnet",
            Self::Old => "0.6.4",
            Self::Header => "0.6.5",
            Self::HeaderOnOld => "0.6.5 on 0.6.4",
            Self::DdnetOnOld => "ddnet on 0.6.4",
            Self::OldOnHeader => "0.6.4 on 0.6.5",
            Self::DdnetOnHeader => "ddnet on 0.6.5",
            Self::OldOnAntispoof => "0.6.4 on antispoof",
        }
    }

    /// Returns the protocol of the client.
    pub(crate) fn variant(self) -> Variant {
        match self {
            Self::Seven | Self::SevenOnDdnet => Variant::V7,
            Self::Ddnet | Self::DdnetOnOld | Self::DdnetOnHeader => Variant::Ddnet,
            Self::Old | Self::OldOnDdnet | Self::OldOnHeader | Self::OldOnAntispoof => Variant::V6,
            Self::Header | Self::HeaderOnOld => Variant::V65,
        }
    }

    /// Returns true if the client has to prove its address by a challenge.
    pub(crate) fn is_challenged(self) -> bool {
        matches!(
            self,
            Self::OldOnHeader | Self::DdnetOnHeader | Self::OldOnAntispoof
        )
    }

    /// Returns true if the datagrams of the session have tokens.
    pub(crate) fn has_token(self) -> bool {
        matches!(
            self,
            Self::Seven | Self::SevenOnDdnet | Self::Ddnet | Self::Header
        )
    }

    /// Returns the messages of the handshake, each with the awaited answer of the server.
    pub(crate) fn handshake(self) -> Vec<(Message, Option<Got>)> {
        let mut messages = match self.variant() {
            Variant::V7 | Variant::D7 => vec![
                (Message::Token, Some(Got::Token)),
                (Message::Connect, Some(Got::Accept)),
            ],
            Variant::V65 => vec![(Message::Connect, Some(Got::Accept))],
            Variant::V6 | Variant::Ddnet => {
                // The challenge follows the answer.
                let last = if self.is_challenged() {
                    Got::Snapshot
                } else {
                    Got::Accept
                };
                vec![(Message::Connect, Some(last)), (Message::Accept, None)]
            }
        };
        messages.push((Message::Info, (!self.is_challenged()).then_some(Got::Map)));
        messages
    }

    /// Returns the messages of the join after the handshake.
    pub(crate) fn rest(self) -> Vec<(Message, Option<Got>)> {
        let mut messages = Vec::new();
        if self.is_challenged() {
            // The join of the challenge, followed by the real join.
            messages.extend([
                (Message::Ready, None),
                (Message::StartInfo, None),
                (Message::Input, Some(Got::Map)),
            ]);
        }
        messages.extend([
            (Message::Ready, Some(Got::ConReady)),
            (Message::StartInfo, Some(Got::MayEnter)),
            (Message::EnterGame, Some(Got::Snapshot)),
        ]);
        messages
    }

    /// Returns the steps of the whole join.
    pub(crate) fn join(self) -> Vec<Step> {
        let messages = self.handshake().into_iter().chain(self.rest());
        messages.flat_map(|(message, got)| steps(message, got)).collect()
    }

    /// Returns the steps of the join up to the answer to `last`.
    pub(crate) fn up_to(self, last: Message) -> Vec<Step> {
        let messages: Vec<_> = self.handshake().into_iter().chain(self.rest()).collect();
        let end = messages.iter().position(|(message, _)| *message == last);
        let messages = messages.into_iter().take(end.map_or(0, |end| end + 1));
        messages.flat_map(|(message, got)| steps(message, got)).collect()
    }

    /// Returns the number of servers that share its cells: servers of 0.6 have few slots.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::OldOnAntispoof => 1,
            Self::Seven | Self::SevenOnDdnet | Self::Ddnet | Self::OldOnDdnet => 1,
            _ if old_server("TEETAP_SERVER_064").is_some() => 4,
            _ => 1,
        }
    }

    /// Starts a server: a real one if available.
    pub(crate) fn start(self) -> Result<Running> {
        if let Some(real) = self.start_real()? {
            return Ok(real);
        }
        self.start_scripted()?.context("no server")
    }

    /// Starts a real server; `None` if it is not available.
    pub(crate) fn start_real(self) -> Result<Option<Running>> {
        let old = |variable| match old_server(variable) {
            Some(path) => Ok(Some(Running::Old(OldServer::start(&path)?))),
            None => Ok(None),
        };
        match self {
            Self::Seven => Ok(Some(Running::Seven(TeeworldsServer::start(&[])?))),
            Self::SevenOnDdnet | Self::Ddnet | Self::OldOnDdnet => {
                Ok(Some(Running::Ddnet(DdnetServer::start(&["conn_timeout 10"])?)))
            }
            Self::OldOnAntispoof => Ok(None),
            Self::Old | Self::HeaderOnOld | Self::DdnetOnOld => old("TEETAP_SERVER_064"),
            Self::Header | Self::OldOnHeader | Self::DdnetOnHeader => old("TEETAP_SERVER_065"),
        }
    }

    /// Starts a scripted server if no real one is packaged.
    pub(crate) fn start_scripted(self) -> Result<Option<Running>> {
        let variant = match self {
            Self::Seven | Self::SevenOnDdnet | Self::Ddnet | Self::OldOnDdnet => return Ok(None),
            Self::OldOnAntispoof => Variant::Ddnet,
            Self::Old | Self::HeaderOnOld | Self::DdnetOnOld => Variant::V6,
            Self::Header | Self::OldOnHeader | Self::DdnetOnHeader => Variant::V65,
        };
        Ok(Some(Running::Model(Model::start(variant, true)?)))
    }
}

/// Returns the steps for a message.
pub(crate) fn steps(message: Message, got: Option<Got>) -> Vec<Step> {
    std::iter::once(Step::Send(message))
        .chain(got.map(Step::Await))
        .collect()
}

/// A running server.
pub(crate) enum Running {
    Seven(TeeworldsServer),
    Ddnet(DdnetServer),
    Old(OldServer),
    Model(Model),
}

impl Running {
    pub(crate) fn addr(&self) -> SocketAddr {
        match self {
            Self::Seven(server) => server.addr(),
            Self::Ddnet(server) => server.addr(),
            Self::Old(server) => server.addr(),
            Self::Model(server) => server.addr(),
        }
    }

    /// Returns the number of scripts that may run in parallel: each uses up to four slots, including slots that
    /// others have not yet freed.
    pub(crate) fn room(&self) -> usize {
        match self {
            Self::Seven(_) | Self::Ddnet(_) => 16,
            Self::Old(_) => 2,
            Self::Model(_) => 40,
        }
    }

    pub(crate) fn stop(&mut self) -> Result<()> {
        match self {
            Self::Seven(server) => server.stop(),
            Self::Ddnet(server) => server.stop(),
            Self::Old(server) => server.stop(),
            Self::Model(_) => Ok(()),
        }
    }
}

/// The time for which the answers to a script are recorded.
pub(crate) const LASTS: Duration = Duration::from_millis(4200);

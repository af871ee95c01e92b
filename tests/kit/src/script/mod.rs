//! A client that follows a script exactly on real sockets, and records every answer with its time.
//!
//! Law: the client repairs, repeats and acks nothing on its own, and checks no answers, which are the trace. It only
//! fills the token, the numbers and the tick that the server gave into the next messages, as a client without the fault
//! would do.

mod answer;
mod client;
mod habit;
mod ports;
mod trace;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub use answer::Got;
pub use habit::Habit;
pub use trace::{Answer, Trace};

use crate::codec::{Datagram, Variant};
use client::Client;

/// A message of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Message {
    /// The token request of 0.7.
    Token,
    /// CONNECT.
    Connect,
    /// ACCEPT of 0.6.
    Accept,
    /// The version.
    Info,
    /// The client has loaded the map.
    Ready,
    /// Name and looks.
    StartInfo,
    /// The client enters the game.
    EnterGame,
    /// The input of the player, which acks the last snapshot. Not vital.
    Input,
    /// A line of chat.
    Say,
    /// A control message without content.
    Keepalive,
    /// The end of the session.
    Close,
}

/// A change of a datagram before it is sent.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// A change of its parts. Packed as [`Datagram::build`] does.
    Parts(fn(&mut Datagram)),
    /// A change of its bytes.
    Bytes(fn(&mut Vec<u8>)),
    /// Another way in which its parts become bytes.
    Packed(fn(&Datagram) -> Vec<u8>),
}

/// A step of a script.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends a message.
    Send(Message),
    /// Sends a message after a change.
    Edited(Message, Edit),
    /// Sends the bytes again that were last sent for this message.
    Again(Message),
    /// Retransmits a message, with its old number and the current ack.
    Resend(Message),
    /// Sends these bytes, padded with zeros to this length in bytes.
    Bytes(&'static [u8], usize),
    /// Prepares a message, which uses up a number, but does not send it.
    Lost(Message),
    /// Loses this many of the next received datagrams.
    Lose(u32),
    /// Makes this mistake from now on.
    Begin(Habit),
    /// Waits until this is received after the last sent datagram, for at most 600 ms.
    Await(Got),
    /// Continues after this many milliseconds.
    Pause(u32),
    /// Sends from the socket with this number from now on.
    Port(usize),
    /// Starts afresh, as a restarted program: a new own token, new numbers, and no token of the server.
    Restart,
    /// Same as [`Step::Restart`], but keeps the own token.
    RestartWithToken,
}

/// Maximum time that [`Step::Await`] waits.
const AWAIT: Duration = Duration::from_millis(600);

/// The steps of a client.
#[derive(Clone, Debug)]
pub struct Script {
    /// The protocol that the client speaks.
    pub variant: Variant,
    /// The steps.
    pub steps: Vec<Step>,
    /// The time for which answers are recorded, counted from the first step.
    pub lasts: Duration,
}

impl Script {
    /// Runs the script against a server; the client's token is derived from `seed`.
    ///
    /// # Errors
    ///
    /// Fails if a socket cannot be opened or written.
    pub fn run(&self, server: SocketAddr, seed: u64) -> io::Result<Trace> {
        let mut client = Client::new(self.variant, server, seed)?;
        for step in &self.steps {
            client.act(*step)?;
        }
        client.finish(self.lasts)
    }
}

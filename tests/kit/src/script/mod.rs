//! A client that does on real sockets exactly what a script says, and records every answer with its time.
//!
//! Law: it repairs, repeats and acks nothing by itself, and never checks an answer: what comes back is the trace. Only the token, the
//! numbers and the tick that the server gave are filled into what it sends next, as a client without the fault would do.

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
    /// The client has the map.
    Ready,
    /// Name and looks.
    StartInfo,
    /// The client enters the game.
    EnterGame,
    /// The input of the player, which acks the last snapshot. Not vital.
    Input,
    /// A line of chat.
    Say,
    /// Control message without content.
    Keepalive,
    /// The end.
    Close,
}

/// A change of a datagram before it is sent.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// Of its parts. Packed as [`Datagram::build`] does.
    Parts(fn(&mut Datagram)),
    /// Of its bytes.
    Bytes(fn(&mut Vec<u8>)),
    /// Of the way in which its parts become bytes.
    Packed(fn(&Datagram) -> Vec<u8>),
}

/// A step of a script.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends a message.
    Send(Message),
    /// Sends a message after a change.
    Edited(Message, Edit),
    /// Sends once more the bytes that were sent last for this message.
    Again(Message),
    /// Sends a message once more, with its number and a current ack.
    Resend(Message),
    /// Sends these bytes, padded with zeros to this length.
    Bytes(&'static [u8], usize),
    /// Prepares a message, which gets its number, but loses its datagram.
    Lost(Message),
    /// Loses this many of the datagrams that come next.
    Lose(u32),
    /// Makes this mistake from here on.
    Begin(Habit),
    /// Waits until this has come since the last datagram was sent, for 600 ms at most.
    Await(Got),
    /// Goes on after this many milliseconds.
    Pause(u32),
    /// Sends from the socket with this number from here on.
    Port(usize),
    /// Starts afresh, as a program that was started again: own token, numbers, and no token of the server.
    Restart,
    /// Same, but keeps the own token.
    RestartWithToken,
}

/// The longest time that [`Step::Await`] waits.
const AWAIT: Duration = Duration::from_millis(600);

/// The steps of a client.
#[derive(Clone, Debug)]
pub struct Script {
    /// The protocol that it speaks.
    pub variant: Variant,
    /// The steps.
    pub steps: Vec<Step>,
    /// The time for which answers are recorded, from the first step on.
    pub lasts: Duration,
}

impl Script {
    /// Runs it against a server; `seed` makes the client's token.
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

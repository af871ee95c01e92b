//! The state of the server, as shown by its datagrams.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::Result;
use teetap_kit::codec::{control, open};
use teetap_kit::peer::game::int;
use teetap_wire::{Seq, Token};

use super::{FAR, Peer};

/// The observations since the last exchange.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Replies to pings.
    pub(crate) pongs: usize,
    /// True if a datagram has the resend flag.
    pub(crate) asks_resend: bool,
    /// Number of chunks marked as retransmissions.
    pub(crate) resent: usize,
    /// Number of CONNECTACCEPTs.
    pub(crate) accepts: usize,
    /// The reason of a CLOSE, if one was received.
    pub(crate) close: Option<String>,
    /// The ids of system messages.
    pub(crate) system: Vec<i32>,
    /// True if the numbering restarted.
    pub(crate) restarted: bool,
    /// True if the server no longer reacted.
    pub(crate) silent: bool,
    /// True if this was early enough that the server had not yet retransmitted unacked chunks on its own.
    pub(crate) is_early: bool,
    /// The last ack, and the token of 0.7 in the header.
    pub(crate) ack: u16,
    pub(crate) token: Option<Token>,
    /// True if the server answered the first of two probes, which has the lower ack.
    pub(crate) first_probe: bool,
    pub(super) timing: Option<i32>,
}

impl Peer {
    pub(super) fn receive(&self, wait: Duration) -> Result<Option<Vec<u8>>> {
        if wait.is_zero() {
            return Ok(None);
        }
        self.socket.set_read_timeout(Some(wait))?;
        let mut buffer = [0; 2048];
        match self.socket.recv(&mut buffer) {
            Ok(len) => Ok(buffer.get(..len).map(<[u8]>::to_vec)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            // The system reports that nothing listens on the port.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8], seen: &mut Seen) {
        let Ok(opened) = open(self.variant, bytes) else {
            return;
        };
        let flags = opened.head.flags;
        if flags.connless {
            return;
        }
        if self.variant.is_seven() {
            seen.token = opened.head.token.map(Token);
        }
        if flags.control {
            match opened.payload.first() {
                Some(&control::CONNECT_ACCEPT) => seen.accepts += 1,
                Some(&control::CLOSE) => {
                    let reason = opened.payload.get(1..).unwrap_or_default();
                    let text = reason.split(|byte| *byte == 0).next().unwrap_or_default();
                    seen.close = Some(String::from_utf8_lossy(text).into_owned());
                }
                _ => seen.ack = opened.head.ack,
            }
            return;
        }
        seen.ack = opened.head.ack;
        seen.asks_resend |= flags.resend;
        for chunk in opened.chunks() {
            let mut is_new = true;
            if let Some(seq) = chunk.seq.map(Seq::new) {
                // The numbers of a session start with 1 only once.
                if seq == Seq::new(1) && opened.head.ack == 0 && self.got.get() > 1 && !chunk.resend {
                    seen.restarted = true;
                    self.got = Seq::ZERO;
                }
                is_new = seq == self.got.next();
                if is_new {
                    self.got = seq;
                }
            }
            seen.resent += usize::from(chunk.resend);
            if is_new {
                self.message(chunk.data, seen);
            }
        }
    }

    fn message(&mut self, data: &[u8], seen: &mut Seen) {
        let ids = self.ids();
        let Some((id, rest)) = int(data).filter(|(id, _)| id & 1 == 1) else {
            return;
        };
        let id = id >> 1;
        seen.system.push(id);
        let value = int(rest).map(|(value, _)| value);
        if id == ids.ping + 1 {
            seen.pongs += 1;
        }
        if ids.snaps.contains(&id) {
            self.snap = value.unwrap_or(self.snap);
        }
        if id == ids.input_timing && value.is_some_and(|value| value > FAR && value <= self.tick) {
            seen.first_probe |= seen.timing.is_none() && value != Some(self.tick);
            seen.timing = value;
        }
    }
}

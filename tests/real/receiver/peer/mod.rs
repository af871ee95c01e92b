//! A client that plays on a real server without the proxy, and observes everything that the server shows of its
//! state.

mod ids;
mod receive;

use std::{
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use teetap_kit::codec::{Head, Packing, Variant, control, put_chunk, seal};
use teetap_kit::peer::game::put_int;
use teetap_wire::receiver::{Leg, Phase};
use teetap_wire::{Proto, Seq, Token};

pub(crate) use ids::{Ids, ids, system};
pub(crate) use receive::Seen;

/// Maximum wait for an answer that must be received.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time after which a probe is repeated.
const AGAIN: Duration = Duration::from_millis(300);
/// The silence after which a session counts as ended: if the end is expected, and if it is not.
pub(crate) const SHORT: Duration = Duration::from_millis(250);
pub(crate) const LONG: Duration = Duration::from_secs(4);
/// A tick far ahead, for inputs that are never executed.
const FAR: i32 = 100_000_000;

/// The client. `leg` is the server's side as the table needs it.
#[derive(Debug)]
pub(crate) struct Peer {
    socket: UdpSocket,
    pub(crate) variant: Variant,
    pub(crate) own: [u8; 4],
    pub(crate) leg: Leg,
    /// The last vital chunk received in order.
    got: Seq,
    /// The ack of the last probe.
    shown: u16,
    snap: i32,
    tick: i32,
}

impl Peer {
    pub(crate) fn ids(&self) -> Ids {
        ids(self.variant)
    }

    pub(crate) fn server_token(&self) -> [u8; 4] {
        self.leg.token_in.unwrap_or(Token::NONE).0
    }

    /// Connects and completes only the handshake.
    pub(crate) fn connect(variant: Variant, server: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(server)?;
        let proto = if variant.is_seven() {
            Proto::V7
        } else {
            Proto::Ddnet
        };
        let [a, b] = socket.local_addr()?.port().to_be_bytes();
        let mut peer = Self {
            socket,
            variant,
            own: [0x40, a, b, 0x41],
            leg: Leg::new(proto, Phase::Pending, None),
            got: Seq::ZERO,
            shown: 0,
            snap: -1,
            tick: FAR,
        };
        peer.shake()?;
        Ok(peer)
    }

    fn shake(&mut self) -> Result<()> {
        let own = self.own;
        if self.variant.is_seven() {
            let reply = self.answer(&control::token_request(own), control::TOKEN)?;
            let token: [u8; 4] = reply.get(..4).context("no token")?.try_into()?;
            self.leg.token_in = Some(Token(token));
            self.answer(
                &control::connect(Variant::V7, own, token),
                control::CONNECT_ACCEPT,
            )?;
        } else {
            let connect = control::connect(Variant::Ddnet, own, own);
            let reply = self.answer(&connect, control::CONNECT_ACCEPT)?;
            let token: [u8; 4] = reply.get(4..8).context("no token")?.try_into()?;
            self.leg.token_in = Some(Token(token));
            self.socket.send(&control::accept(Some(token)))?;
        }
        self.leg.token_out = Some(Token(own));
        Ok(())
    }

    /// Sends a control packet until it is answered; returns the bytes after the id.
    fn answer(&self, packet: &[u8], id: u8) -> Result<Vec<u8>> {
        let header = if self.variant.is_seven() { 7 } else { 3 };
        for _ in 0..20 {
            self.socket.send(packet)?;
            while let Some(bytes) = self.receive(Duration::from_millis(500))? {
                if bytes.get(header) == Some(&id) && control::message(&bytes) == Some(id) {
                    return Ok(bytes.get(header + 1..).unwrap_or_default().to_vec());
                }
                if control::message(&bytes) == Some(control::CLOSE) {
                    bail!("closed: {:?}", String::from_utf8_lossy(&bytes));
                }
            }
        }
        bail!("no answer to {packet:02x?}")
    }

    /// Joins and waits until snapshots are received.
    pub(crate) fn join(variant: Variant, server: SocketAddr) -> Result<Self> {
        let mut peer = Self::connect(variant, server)?;
        let ids = peer.ids();
        let info = peer.info(true);
        peer.send_vital(&info)?;
        peer.wait(|seen, _| seen.system.contains(&ids.map_change))?;
        peer.send_vital(&system(ids.ready))?;
        peer.wait(|seen, _| seen.system.contains(&ids.con_ready))?;
        let start_info = peer.start_info();
        peer.send_vital(&start_info)?;
        peer.send_vital(&system(ids.enter_game))?;
        peer.wait(|_, peer| peer.snap > 0)?;
        peer.leg.phase = Phase::Online;
        // Acks of snapshots make the server send them at full rate.
        let seen = peer.exchange(&[], &[None], LONG)?;
        if seen.silent {
            bail!("no answer after the join");
        }
        peer.settle(peer.leg, &seen);
        Ok(peer)
    }

    pub(crate) fn info(&self, right: bool) -> Vec<u8> {
        let mut message = system(self.ids().info);
        message.extend(match (self.variant.is_seven(), right) {
            (true, true) => &b"0.7 802f1be60a05665f\0"[..],
            (false, true) => b"0.6 626fce9a778df4d4\0",
            (_, false) => b"0.5 wrong\0",
        });
        message.push(0);
        if self.variant.is_seven() {
            put_int(&mut message, 0x0705);
        }
        message
    }

    pub(crate) fn start_info(&self) -> Vec<u8> {
        if !self.variant.is_seven() {
            return teetap_kit::peer::game::start_info("truth");
        }
        let mut message = Vec::new();
        put_int(&mut message, self.ids().start_info << 1);
        message.extend(b"truth\0\0");
        put_int(&mut message, -1);
        message.extend(b"standard\0\0\0standard\0standard\0standard\0");
        message.extend([0; 12]);
        message
    }

    /// Sends a message in the next vital chunk.
    pub(crate) fn send_vital(&mut self, message: &[u8]) -> Result<()> {
        let seq = self.leg.ack.next();
        self.leg.ack = seq;
        let bytes = self.data(&[(Some(seq.get()), message)], None);
        self.socket.send(&bytes)?;
        Ok(())
    }

    /// Returns a datagram with these chunks.
    pub(crate) fn data(&self, chunks: &[(Option<u16>, &[u8])], ack: Option<u16>) -> Vec<u8> {
        let mut payload = Vec::new();
        for (seq, message) in chunks {
            put_chunk(&mut payload, self.variant, *seq, false, message);
        }
        let mut head = Head::new(
            self.variant,
            ack.unwrap_or(self.got.get()),
            Some(self.server_token()),
        );
        head.num_chunks = u8::try_from(chunks.len()).unwrap_or(u8::MAX);
        seal(&head, &payload, Packing::Clear)
    }

    /// Returns a control packet.
    pub(crate) fn control(&self, id: u8, rest: &[u8]) -> Vec<u8> {
        let token = Some(self.server_token());
        control::control(self.variant, self.got.get(), token, id, &[rest])
    }

    /// Waits until `done` returns true.
    pub(crate) fn wait(&mut self, done: impl Fn(&Seen, &Self) -> bool) -> Result<Seen> {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Seen::default();
        while !done(&seen, self) {
            if let Some(bytes) = self.receive(AGAIN)? {
                self.take(&bytes, &mut seen);
            } else {
                // The server's vital chunks must be acked, and its timeout deferred.
                self.socket.send(&self.control(control::KEEPALIVE, &[]))?;
            }
            if Instant::now() > deadline || seen.close.is_some() {
                bail!("waited in vain: {seen:?}");
            }
        }
        Ok(seen)
    }

    /// Sends datagrams and then a probe for each ack (`None` acks everything). Returns everything that the server
    /// shows up to its answer to the last probe. `silence` is the time after which the session counts as ended.
    pub(crate) fn exchange(
        &mut self,
        datagrams: &[Vec<u8>],
        acks: &[Option<u16>],
        silence: Duration,
    ) -> Result<Seen> {
        let mut seen = Seen::default();
        while let Some(bytes) = self.receive(Duration::from_micros(1))? {
            self.take(&bytes, &mut seen);
        }
        let mut seen = Seen {
            ack: seen.ack,
            ..Seen::default()
        };
        for datagram in datagrams {
            self.socket.send(datagram)?;
        }
        let begin = Instant::now();
        for ack in acks {
            self.probe(*ack)?;
        }
        loop {
            let sent = Instant::now();
            while let Some(bytes) = self.receive(AGAIN.saturating_sub(sent.elapsed()))? {
                self.take(&bytes, &mut seen);
                if seen.timing == Some(self.tick) || seen.close.is_some() || seen.restarted {
                    return Ok(seen);
                }
            }
            if begin.elapsed() > silence {
                seen.silent = true;
                return Ok(seen);
            }
            self.probe(None)?;
        }
    }

    /// Sends an input whose tick the server repeats in its answer.
    fn probe(&mut self, ack: Option<u16>) -> Result<()> {
        self.tick += 1;
        let mut message = system(self.ids().input);
        for value in [self.snap, self.tick, 40, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0] {
            put_int(&mut message, value);
        }
        self.shown = ack.unwrap_or(self.got.get());
        let bytes = self.data(&[(None, &message)], ack);
        self.socket.send(&bytes)?;
        Ok(())
    }

    /// Sends a message and a ping, and waits for `pongs` replies to pings or for a CLOSE.
    pub(crate) fn step(&mut self, message: &[u8], vital: bool, pongs: usize) -> Result<Seen> {
        if vital {
            self.send_vital(message)?;
        } else {
            self.socket.send(&self.data(&[(None, message)], None))?;
        }
        let mut seen = Seen::default();
        let begin = Instant::now();
        self.socket
            .send(&self.data(&[(None, &system(self.ids().ping))], None))?;
        while seen.pongs < pongs && seen.close.is_none() && begin.elapsed() < PATIENCE {
            if let Some(bytes) = self.receive(AGAIN)? {
                self.take(&bytes, &mut seen);
            }
        }
        Ok(seen)
    }

    /// Makes the server send a vital chunk that stays unacked. Returns the last ack; `None` if another ack was
    /// necessary.
    pub(crate) fn provoke(&mut self) -> Result<Option<u16>> {
        let before = self.got.get();
        let mut message = system(self.ids().rcon_auth);
        let rest: &[u8] = if self.variant.is_seven() {
            b"wrong\0"
        } else {
            b"\0wrong\0"
        };
        message.extend(rest);
        self.leg.ack = self.leg.ack.next();
        let bytes = self.data(&[(Some(self.leg.ack.get()), &message)], Some(before));
        let seen = self.exchange(&[bytes], &[Some(before)], LONG)?;
        self.leg.peer_ack = self.shown;
        self.leg.sequence = self.got;
        if seen.silent || self.got.get() == before {
            bail!("no answer to a wrong password: {seen:?}");
        }
        Ok(Some(before).filter(|before| *before == self.shown))
    }

    /// Updates the leg with the results of an exchange.
    pub(crate) fn settle(&mut self, leg: Leg, seen: &Seen) {
        self.leg = leg;
        self.leg.ack = Seq::new(seen.ack);
        self.leg.peer_ack = self.shown;
        self.leg.sequence = self.got;
    }

    /// Closes the session.
    pub(crate) fn close(&self) -> Result<()> {
        self.socket.send(&self.control(control::CLOSE, &[]))?;
        Ok(())
    }
}

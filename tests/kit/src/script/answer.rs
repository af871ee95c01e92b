//! The form of an answer without the values of tokens.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Habit;
use crate::codec::{Chunk, Datagram, NO_TOKEN, TKEN, Token, Variant, control, parse};
use crate::peer::SEQUENCES;
use crate::peer::game::int;

/// A sign of progress that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Got {
    /// The reply to a token request.
    Token,
    /// The answer to CONNECT.
    Accept,
    /// The map of the server.
    Map,
    /// The server is ready for the start info.
    ConReady,
    /// The server allows the client to enter.
    MayEnter,
    /// A snapshot.
    Snapshot,
    /// The end of the session.
    Close,
}

/// The client's knowledge of the session.
#[derive(Debug)]
pub(super) struct Reading {
    /// The layout in which the server has answered.
    pub(super) format: Variant,
    pub(super) variant: Variant,
    pub(super) own: Token,
    /// The token that the client sends.
    pub(super) server: Token,
    /// All tokens that the server has given.
    pub(super) known: Vec<Token>,
    /// The client's own tokens before restarts.
    pub(super) former: Vec<Token>,
    /// The sequence number of the last vital message in order.
    pub(super) ack: u16,
    pub(super) habit: Option<Habit>,
    /// The tick of the last snapshot.
    pub(super) tick: i32,
    /// True if the client has sent its request to enter the game, now or before a restart.
    pub(super) has_entered: bool,
    /// The sockets that have received a snapshot since the request to enter; `None` from a restart until the next
    /// request.
    pub(super) snapshot_ports: Option<BTreeSet<usize>>,
    /// Number of vital chat lines. DDNet's server reports the joins and leaves of other players even to clients that
    /// are loading the map.
    pub(super) chat: u16,
}

impl Reading {
    pub(super) fn new(variant: Variant, own: Token) -> Self {
        Self {
            format: variant,
            variant,
            own,
            server: NO_TOKEN,
            known: Vec::new(),
            former: Vec::new(),
            ack: 0,
            habit: None,
            tick: -1,
            has_entered: false,
            snapshot_ports: None,
            chat: 0,
        }
    }

    /// Forgets everything except the tokens, which only name the tokens in late answers.
    pub(super) fn restart(&mut self, own: Token) {
        let mut former = std::mem::take(&mut self.former);
        if self.own != own {
            former.push(self.own);
        }
        *self = Self {
            known: std::mem::take(&mut self.known),
            former,
            has_entered: self.has_entered,
            chat: self.chat,
            habit: self.habit,
            ..Self::new(self.variant, own)
        };
    }

    /// Returns the ack that the client sends.
    pub(super) fn shown_ack(&self) -> u16 {
        match self.habit {
            Some(Habit::AcksNothing) => 0,
            Some(Habit::AcksAhead) => (self.ack + 20) % SEQUENCES,
            _ => self.ack,
        }
    }

    fn name(&self, token: Token) -> &'static str {
        match token {
            _ if self.known.contains(&token) => "server's",
            _ if token == self.own => "client's",
            _ if self.former.contains(&token) => "former",
            NO_TOKEN => "none",
            _ => "unknown",
        }
    }

    fn learn(&mut self, token: Option<&[u8]>) {
        let Some(token) = token.and_then(|token| token.first_chunk().copied()) else {
            return;
        };
        self.server = token;
        self.known.push(token);
    }
}

/// Reads a datagram of a socket. Returns its text and the progress that it shows; `None` if nothing in it can be
/// compared, since everything after the first snapshot of a socket depends on the other players.
pub(super) fn read(reading: &mut Reading, port: usize, bytes: &[u8]) -> Option<(String, Vec<Got>)> {
    if bytes.first().is_some_and(|first| first & 0x20 != 0) {
        return Some((format!("connless {} bytes", bytes.len()), Vec::new()));
    }
    let Some(datagram) = open(reading, bytes) else {
        return Some((format!("unreadable {bytes:02x?}"), Vec::new()));
    };
    if datagram.head.flags.control {
        of_control(reading, &datagram)
    } else {
        of_data(reading, port, &datagram)
    }
}

/// Parses a datagram. The layout of the first answer determines the layout of the session; a refusal has no token.
fn open(reading: &Reading, bytes: &[u8]) -> Option<Datagram> {
    if reading.variant.is_seven() {
        return parse(reading.variant, bytes).ok();
    }
    let is_plain = bytes.get(..4) == Some(&[0x10, 0, 0, control::CONNECT_ACCEPT]) && bytes.len() == 4;
    if is_plain {
        return parse(Variant::V6, bytes).ok();
    }
    let usual = parse(reading.format, bytes).ok();
    let has_tail = |datagram: &Datagram| {
        datagram
            .head
            .token
            .is_some_and(|token| reading.known.contains(&token))
    };
    let is_close = bytes.first() == Some(&0x10) && bytes.get(3) == Some(&control::CLOSE);
    let is_data = bytes.first().is_some_and(|first| first & 0x10 == 0);
    if (is_close || is_data) && reading.format == Variant::Ddnet && !usual.as_ref().is_some_and(has_tail) {
        // A refusal, or a server without tokens whose client was restarted.
        return parse(Variant::V6, bytes).ok().or(usual);
    }
    usual
}

fn of_control(reading: &mut Reading, datagram: &Datagram) -> Option<(String, Vec<Got>)> {
    let (id, extra) = datagram.payload.split_first()?;
    let head = &datagram.head;
    let mut got = Vec::new();
    match *id {
        control::TOKEN => {
            reading.learn(extra.get(..4));
            got.push(Got::Token);
        }
        control::CONNECT_ACCEPT => {
            got.push(Got::Accept);
            match reading.variant {
                Variant::V65 if head.token.is_some() => reading.learn(extra.get(..4)),
                Variant::Ddnet if extra == TKEN => reading.learn(head.token.as_ref().map(|token| &token[..])),
                Variant::V65 | Variant::Ddnet => reading.format = Variant::V6,
                _ => {}
            }
        }
        control::CLOSE => got.push(Got::Close),
        control::KEEPALIVE if reading.has_entered => return None,
        _ => {}
    }
    let name = match *id {
        control::KEEPALIVE => "keepalive",
        control::CONNECT => "connect",
        control::CONNECT_ACCEPT => "connect-accept",
        control::ACCEPT => "accept",
        control::CLOSE => "close",
        control::TOKEN => "token",
        _ => "control",
    };
    let mut text = format!(
        "{name} ack {}",
        if *id == control::CLOSE && reading.has_entered {
            0
        } else {
            head.ack
        }
    );
    if let Some(token) = head.token {
        write!(text, " token {}", reading.name(token)).ok()?;
    }
    if head.num_chunks > 0 {
        write!(text, " chunks {}", head.num_chunks).ok()?;
    }
    write_extra(reading, *id, extra, &mut text)?;
    Some((text, got))
}

fn write_extra(reading: &Reading, id: u8, extra: &[u8], text: &mut String) -> Option<()> {
    if id == control::CLOSE {
        let reason = extra.split(|byte| *byte == 0).next().unwrap_or_default();
        return write!(text, " {:?}", String::from_utf8_lossy(reason)).ok();
    }
    match extra.first_chunk() {
        Some(&TKEN) => text.push_str(" with TKEN"),
        Some(token) => write!(text, " with {}", reading.name(*token)).ok()?,
        None if extra.is_empty() => {}
        None => write!(text, " with {}", String::from_utf8_lossy(extra)).ok()?,
    }
    if extra.len() > 4 {
        write!(text, " and {} bytes", extra.len() - 4).ok()?;
    }
    Some(())
}

fn of_data(reading: &mut Reading, port: usize, datagram: &Datagram) -> Option<(String, Vec<Got>)> {
    let head = &datagram.head;
    let mut got = Vec::new();
    let mut text = if reading.has_entered {
        "data".to_owned()
    } else {
        format!("data ack {}", head.ack)
    };
    if head.flags.resend {
        text.push_str(" resend");
    }
    if let Some(token) = head.token {
        write!(text, " token {}", reading.name(token)).ok()?;
    }
    let is_chat = |chunk: &Chunk| int(&chunk.data).is_some_and(|(id, _)| id == CHAT << 1);
    if !head.flags.resend && !datagram.chunks.is_empty() && datagram.chunks.iter().all(is_chat) {
        count(reading, &datagram.chunks, is_chat);
        return None;
    }
    let all_resent = datagram.chunks.iter().all(|chunk| chunk.resend);
    let mut is_new = head.flags.resend;
    for chunk in &datagram.chunks {
        count(reading, std::slice::from_ref(chunk), is_chat);
        // The time of a tick decides whether a due retransmission shares a datagram with a new message.
        let is_addition = chunk.resend && !all_resent;
        if !is_chat(chunk) && !is_addition {
            is_new |= of_chunk(reading, port, chunk, &mut got, &mut text)?;
        }
    }
    if datagram.chunks.len() != usize::from(head.num_chunks) {
        write!(text, " of {} chunks", head.num_chunks).ok()?;
        is_new = true;
    }
    (is_new || !reading.has_entered).then_some((text, got))
}

/// The id of a chat line, a game message in both protocols.
const CHAT: i32 = 3;

/// Counts the vital chunks received in order, and the chat lines of a numbering.
fn count(reading: &mut Reading, chunks: &[Chunk], is_chat: impl Fn(&Chunk) -> bool) {
    for chunk in chunks {
        let next = (reading.ack + 1) % SEQUENCES;
        match (chunk.seq, reading.habit) {
            (Some(seq), Some(Habit::AcksHighest)) => reading.ack = reading.ack.max(seq),
            (_, Some(Habit::AcksAll)) => reading.ack = next,
            (Some(seq), _) if seq == next => reading.ack = next,
            _ => {}
        }
        if chunk.seq.is_none() {
            continue;
        }
        if !chunk.resend {
            let before = if chunk.seq == Some(1) { 0 } else { reading.chat };
            reading.chat = before + u16::from(is_chat(chunk));
        }
    }
}

/// Reads a chunk into the text. Returns true if the message can be compared.
fn of_chunk(
    reading: &mut Reading,
    port: usize,
    chunk: &Chunk,
    got: &mut Vec<Got>,
    text: &mut String,
) -> Option<bool> {
    let (raw, rest) = int(&chunk.data).unwrap_or((-1, &[]));
    let (is_system, id) = (raw & 1 == 1, raw >> 1);
    let seven = reading.variant.is_seven();
    let snapshots = if seven { 6..=9 } else { 5..=8 };
    if is_system && snapshots.contains(&id) {
        reading.tick = int(rest).map_or(-1, |(tick, _)| tick);
        got.push(Got::Snapshot);
        if reading.has_entered {
            let ports = reading.snapshot_ports.as_mut();
            let is_first = ports.is_some_and(|ports| ports.insert(port));
            if is_first {
                text.push_str(" snapshot");
            }
            return Some(is_first);
        }
        text.push_str(" snapshot");
        return Some(true);
    }
    match (is_system, id) {
        (true, 2) => got.push(Got::Map),
        (true, 4) if !seven => got.push(Got::ConReady),
        (true, 5) if seven => got.push(Got::ConReady),
        (false, 8) => got.push(Got::MayEnter),
        _ => {}
    }
    // A client in the game also receives the messages of others and the timing of its own inputs.
    let is_server_info = seven && id == 4;
    if reading.has_entered && (!is_system || chunk.seq.is_none() || chunk.resend || is_server_info) {
        return Some(false);
    }
    let class = if is_system { 's' } else { 'g' };
    write!(text, " {class}{id}").ok()?;
    if let Some(seq) = chunk.seq
        && !reading.has_entered
    {
        let number = (SEQUENCES + seq).wrapping_sub(reading.chat) % SEQUENCES;
        write!(text, "#{number}").ok()?;
    }
    if chunk.resend {
        text.push('r');
    }
    write!(text, "({})", chunk.data.len()).ok()?;
    Some(true)
}

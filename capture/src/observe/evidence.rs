//! Finds the variant and the sides of the traffic between two addresses if no handshake was recorded.
//!
//! Law: a single datagram is no proof, because the flags of 0.6 and 0.7 collide. A variant gains points for bytes that
//! its senders would write (flags, chunk headers that fill the payload exactly, a token seen before), and loses points
//! for bytes that they would not write. Message ids that only one side sends identify the client and the server.

use teetap_wire::{Code, Control, Flags, Layer, MessageId, Packet, Proto, Scratch, Side, Token, identify};

/// Minimum number of points, and minimum lead over any other variant, for a variant to be certain.
const ENOUGH: i32 = 5;
/// Points for a payload that chunks of this variant fill exactly.
const EXACT: i32 = 3;
/// Points for such a payload if its flags are a resend request of 0.7. In 0.6.5 the same bit is the token flag, which
/// is always set.
const EXACT_RESEND: i32 = 2;
/// Points for a small datagram that senders of this variant are known to send.
const KNOWN: i32 = 2;
/// Points for a token that was seen before.
const SAME_TOKEN: i32 = 3;
/// Points for bytes that no sender of this variant writes.
const WRONG: i32 = -6;
/// Bytes that the npm client appends to every packet if its server gives no token. The client mistakes the end of the
/// server's ACCEPT for a token.
const ACCEPT_AS_TOKEN: [u8; 4] = [0x10, 0, 0, 2];
/// Highest message id that counts as plausible, far above the highest id in use.
const HIGHEST_ID: i32 = 63;

/// Points and tokens of every variant. Memory is bounded: one token per variant and direction.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    variants: [Variant; Proto::ALL.len()],
}

/// Points of one variant.
#[derive(Clone, Copy, Debug, Default)]
struct Variant {
    points: i32,
    /// Last token sent by the lower address, and last token sent by the higher address.
    tokens: [Option<Token>; 2],
    /// Number of messages that only clients send minus number of messages that only servers send, from the point of
    /// view of the lower address.
    low_is_client: i32,
}

/// The variant with the most points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Best {
    pub(super) proto: Proto,
    /// True if the lower address is the client; `None` if no message shows it.
    pub(super) low_is_client: Option<bool>,
    /// True if the variant is certain, false if it is only the most likely one.
    pub(super) is_clear: bool,
}

/// Points of one datagram for one variant.
struct Score {
    points: i32,
    token: Option<Token>,
    sender: Option<Side>,
}

impl Evidence {
    /// Adds the evidence of a datagram. `from_low` is true if the lower address sent it.
    pub(super) fn add(&mut self, from_low: bool, datagram: &[u8], scratch: &mut Scratch) {
        for (proto, variant) in Proto::ALL.into_iter().zip(&mut self.variants) {
            let worth = weigh(proto, datagram, scratch);
            variant.points += worth.points;
            if let Some(token) = worth.token {
                variant.points += variant.compare(proto, from_low, token);
            }
            match worth.sender {
                Some(Side::Client) if from_low => variant.low_is_client += 1,
                Some(Side::Server) if !from_low => variant.low_is_client += 1,
                Some(_) => variant.low_is_client -= 1,
                None => {}
            }
        }
    }

    /// Returns the variant with the most points; `None` if no variant fits, or if two fit equally well.
    pub(super) fn best(&self) -> Option<Best> {
        let mut ranked: Vec<(Proto, &Variant)> = Proto::ALL.into_iter().zip(&self.variants).collect();
        ranked.sort_by_key(|(_, variant)| std::cmp::Reverse(variant.points));
        let [(proto, first), (_, second), ..] = ranked.as_slice() else {
            return None;
        };
        let lead = first.points - second.points;
        let low_is_client = (first.low_is_client != 0).then_some(first.low_is_client > 0);
        (first.points >= KNOWN && lead > 0).then_some(Best {
            proto: *proto,
            low_is_client,
            is_clear: first.points >= ENOUGH && lead >= ENOUGH && low_is_client.is_some(),
        })
    }
}

impl Variant {
    /// Returns the points for a token and records it. In 0.7 each direction has its own token; in other variants both
    /// directions have the same token.
    fn compare(&mut self, proto: Proto, from_low: bool, token: Token) -> i32 {
        let [low, high] = &mut self.tokens;
        let known = if proto == Proto::V7 && !from_low {
            high
        } else {
            low
        };
        match known.replace(token) {
            None => 0,
            Some(before) if before == token => SAME_TOKEN,
            Some(_) => WRONG,
        }
    }
}

/// Returns true for a note that only a broken or hostile sender of the variant can cause.
fn is_wrong(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownFlags
            | Code::ControlCompressed
            | Code::ControlWithChunks
            | Code::ControlEmpty
            | Code::UnknownControl
            | Code::PayloadOversized
            | Code::HuffmanSurplus
            | Code::MissingToken
    )
}

fn weigh(proto: Proto, datagram: &[u8], scratch: &mut Scratch) -> Score {
    let mut worth = Score {
        points: WRONG,
        token: None,
        sender: None,
    };
    let Ok(packet) = Packet::parse(proto, datagram, scratch) else {
        return worth;
    };
    // Every packet of 0.6.5 except CONNECT has a token.
    let lacks_token = proto == Proto::V65 && packet.header.token.is_none();
    if lacks_token || packet.notes.iter().any(|note| is_wrong(note.code)) {
        return worth;
    }
    worth.points = if packet.header.flags.contains(Flags::CONTROL) {
        weigh_control(&packet)
    } else {
        weigh_chunks(&packet, &mut worth.sender)
    };
    worth.token = packet.header.token.filter(|_| worth.points > 0);
    worth
}

fn weigh_control(packet: &Packet<'_>) -> i32 {
    let len = match packet.payload.strip_suffix(&ACCEPT_AS_TOKEN) {
        Some(payload) if packet.proto == Proto::V6 => payload.len(),
        _ => packet.payload.len(),
    };
    let whole = match packet.control() {
        Some(Control::KeepAlive) => len == 1,
        Some(Control::Close { reason }) => reason.is_none_or(|reason| len == reason.len() + 2),
        // Handshakes give no points, because `hello` in `flow.rs` handles them.
        _ => return 0,
    };
    if whole { KNOWN } else { WRONG }
}

fn weigh_chunks(packet: &Packet<'_>, sender: &mut Option<Side>) -> i32 {
    let is_end = |rest: &[u8]| rest.is_empty() || packet.proto == Proto::V6 && rest == ACCEPT_AS_TOKEN;
    if packet.header.num_chunks == 0 {
        return match (
            is_end(packet.payload),
            packet.header.flags.contains(Flags::RESEND),
        ) {
            (true, true) => 1,
            (true, false) => 0,
            (false, _) => WRONG,
        };
    }
    let mut chunks = packet.chunks();
    for chunk in chunks.by_ref() {
        let Some((id, _)) = identify(chunk.data).filter(|(id, _)| (0..=HIGHEST_ID).contains(&id.id)) else {
            return WRONG;
        };
        *sender = sender.or(only_sender(packet.proto, id));
    }
    let requests = packet.proto == Proto::V7 && packet.header.flags.contains(Flags::RESEND);
    let is_exact = chunks.notes().is_empty() || chunks.missing() == 0 && is_end(chunks.rest());
    match (is_exact, requests) {
        (true, false) => EXACT,
        (true, true) => EXACT_RESEND,
        (false, _) => WRONG,
    }
}

/// Returns the side that sends this message; `None` if both sides or neither side sends it.
///
/// Sources: protocol.h of Teeworlds 0.6.5 and 0.7.5, and the generated protocol of both; DDNet has added no message of
/// its own in these ranges.
fn only_sender(proto: Proto, id: MessageId) -> Option<Side> {
    let (servers, clients) = match (proto, id.layer) {
        (Proto::V7, Layer::System) => (2..=17, 18..=25),
        (Proto::V7, Layer::Game) => (1..=23, 24..=32),
        (_, Layer::System) => (2..=13, 14..=21),
        (_, Layer::Game) => (1..=16, 17..=25),
    };
    let is_info = id.layer == Layer::System && id.id == 1;
    if servers.contains(&id.id) {
        Some(Side::Server)
    } else {
        (is_info || clients.contains(&id.id)).then_some(Side::Client)
    }
}

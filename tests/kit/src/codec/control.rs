//! Control messages and the packets of the handshakes, byte for byte as the reference programs send them.

use super::{Head, NO_TOKEN, Packing, TKEN, Token, Variant, seal};

/// Control message: keepalive.
pub const KEEPALIVE: u8 = 0;
/// Control message: a client requests a session.
pub const CONNECT: u8 = 1;
/// Control message: the server's answer to CONNECT (called ACCEPT in 0.7).
pub const CONNECT_ACCEPT: u8 = 2;
/// Control message: the client's answer to CONNECTACCEPT in 0.6.
pub const ACCEPT: u8 = 3;
/// Control message: end of the session, with an optional reason.
pub const CLOSE: u8 = 4;
/// Control message of 0.7: request for a token, or reply with one.
pub const TOKEN: u8 = 5;

/// Returns a control packet with any message.
pub fn control(variant: Variant, ack: u16, token: Option<Token>, message: u8, extra: &[&[u8]]) -> Vec<u8> {
    let mut head = Head::new(variant, ack, token);
    head.flags.control = true;
    let mut payload = vec![message];
    payload.extend(extra.iter().copied().flatten());
    seal(&head, &payload, Packing::Clear)
}

/// Returns the client's CONNECT. `own` is the token that the client chose (0.6.5, 0.7), `server` the server's token
/// (0.7).
pub fn connect(variant: Variant, own: Token, server: Token) -> Vec<u8> {
    match variant {
        Variant::V6 => control(variant, 0, None, CONNECT, &[]),
        Variant::V65 => control(variant, 0, None, CONNECT, &[&[0; 4], &own, &[0; 504]]),
        Variant::Ddnet => control(variant, 0, Some(NO_TOKEN), CONNECT, &[&TKEN]),
        Variant::V7 | Variant::D7 => control(variant, 0, Some(server), CONNECT, &[&own, &[0; 508]]),
    }
}

/// Returns the CONNECT that DDNet clients from 18.5 on repeat to a 0.7 server: no padding, and "TKEN" in place of the
/// client's token.
pub fn connect_repeated_by_ddnet(server: Token) -> Vec<u8> {
    control(Variant::D7, 0, Some(server), CONNECT, &[&TKEN])
}

/// Returns the server's answer to CONNECT.
pub fn connect_accept(variant: Variant, client: Token, server: Token) -> Vec<u8> {
    match variant {
        Variant::V6 => control(variant, 0, None, CONNECT_ACCEPT, &[]),
        Variant::V65 => control(variant, 0, Some(client), CONNECT_ACCEPT, &[&server]),
        Variant::Ddnet => control(variant, 0, Some(server), CONNECT_ACCEPT, &[&TKEN]),
        Variant::V7 => control(variant, 0, Some(client), CONNECT_ACCEPT, &[]),
        Variant::D7 => control(variant, 0, Some(client), CONNECT_ACCEPT, &[&server]),
    }
}

/// Returns the client's ACCEPT of 0.6.0 to 0.6.4 (`None`) and of DDNet.
pub fn accept(server: Option<Token>) -> Vec<u8> {
    let variant = if server.is_some() {
        Variant::Ddnet
    } else {
        Variant::V6
    };
    control(variant, 0, server, ACCEPT, &[])
}

/// Returns the client's first packet of 0.7.
pub fn token_request(own: Token) -> Vec<u8> {
    control(Variant::V7, 0, Some(NO_TOKEN), TOKEN, &[&own, &[0; 508]])
}

/// Returns the server's answer to a token request. DDNet pads it if the client gave no token of its own.
pub fn token_reply(variant: Variant, client: Token, server: Token) -> Vec<u8> {
    let padding: &[u8] = if variant == Variant::D7 && client == NO_TOKEN {
        &[0; 508]
    } else {
        &[]
    };
    control(variant, 0, Some(client), TOKEN, &[&server, padding])
}

/// Returns a CLOSE with a reason.
pub fn close(variant: Variant, ack: u16, token: Option<Token>, reason: &str) -> Vec<u8> {
    control(variant, ack, token, CLOSE, &[reason.as_bytes(), &[0]])
}

/// Returns the control message of an uncompressed datagram of any variant; `None` if it carries none. The compressed
/// data packets of 0.7 look like control packets of 0.6.
pub fn message(bytes: &[u8]) -> Option<u8> {
    let at = match bytes.first()? & 0xfc {
        0x04 => 7,
        0x10 => 3,
        0x18 => 7,
        _ => return None,
    };
    bytes.get(at).copied()
}

/// Returns the variant that a CONNECT or a token request offers; `None` for any other packet.
pub fn offered(bytes: &[u8]) -> Option<Variant> {
    let first = *bytes.first()?;
    if first & 0xfc == 0x04 {
        return matches!(bytes.get(7), Some(&(TOKEN | CONNECT))).then_some(Variant::V7);
    }
    if first & 0xf0 != 0x10 || bytes.get(3) != Some(&CONNECT) {
        return None;
    }
    if bytes.len() >= 12 && bytes.get(4..8) == Some(&TKEN) {
        return Some(Variant::Ddnet);
    }
    Some(if bytes.len() >= 516 {
        Variant::V65
    } else {
        Variant::V6
    })
}

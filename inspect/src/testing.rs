//! Packets and events shared by the tests of several modules.

use teetap_proxy::session::{Connless, Ends, SessionChange, State};
use teetap_wire::{Dir, Flags, Header, Proto, Seq, Token, packet, write_chunk};

/// Returns a 0.7 packet.
pub(crate) fn packet(flags: Flags, ack: u16, num_chunks: u8, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        flags,
        ack: Seq::new(ack),
        num_chunks,
        token: Some(Token(*b"tokn")),
    };
    let mut out = Vec::new();
    packet::write(Proto::V7, &header, payload, None, &mut out);
    out
}

/// Returns a 0.7 packet with these chunks: sequence number (`None` if not vital) and bytes.
pub(crate) fn chunks(ack: u16, resend: bool, chunks: &[(Option<u16>, &[u8])]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (seq, data) in chunks {
        write_chunk(Proto::V7, seq.map(Seq::new), resend, data, &mut payload).unwrap();
    }
    let count = u8::try_from(chunks.len()).unwrap();
    packet(Flags::empty(), ack, count, &payload)
}

/// Returns a datagram outside a connection.
pub(crate) fn connless(dir: Dir, bytes: &[u8], sent: Option<&[u8]>) -> Connless {
    Connless {
        dir,
        client: "127.0.0.1:4".parse().unwrap(),
        bytes: bytes.into(),
        cut: 0,
        forwarded: sent.is_some(),
        sent: sent.map(Into::into),
        link: Box::default(),
        ends: Ends::default(),
        placed: None,
        made: None,
    }
}

/// Returns a session that enters a state.
pub(crate) fn session(state: State, proto: Proto) -> SessionChange {
    SessionChange {
        server: None,
        state,
        proto,
        client: "127.0.0.1:4".parse().unwrap(),
        upstream: None,
        by: None,
        reason: None,
    }
}

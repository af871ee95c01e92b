//! DDNet's token after a control message, in every form that could be mistaken for text.
//!
//! Tokens are random, so that live games show the oracle's reading of a rare token only once in a hundred games.

use anyhow::Result;
use teetap_kit::real::turn;
use teetap_wire::{Dir, Proto};

use super::captures::{self, hex};
use super::compare::Tally;
use super::known;

/// Keepalive, the server's answer with its magic, the client's answer to it, CLOSE with and without a reason.
const CONTROLS: [&[u8]; 5] = [b"\x00", b"\x02TKEN", b"\x03", b"\x04bye\x00", b"\x04"];

/// A NUL, which ends a text; an ordinary letter; the start of a UTF-8 sequence; a byte that never occurs in UTF-8.
const BYTES: [u8; 4] = [0, b'a', 0xc3, 0xff];

/// Returns all tokens made of these four bytes.
fn tokens() -> impl Iterator<Item = [u8; 4]> {
    let each = || BYTES.into_iter();
    each().flat_map(move |a| {
        each().flat_map(move |b| each().flat_map(move |c| each().map(move |d| [a, b, c, d])))
    })
}

#[test]
fn every_token_after_a_control_message() -> Result<()> {
    let _turn = turn::shared()?;
    let mut all = Vec::new();
    for control in CONTROLS {
        for token in tokens() {
            // The header has only the control flag.
            let bytes = [&[0x10, 0, 0], control, &token].concat();
            let mut datagram = captures::packet(Proto::Ddnet, Dir::C2s, &bytes)?;
            datagram.c2s = true;
            datagram.hex = hex(&bytes);
            datagram.at = format!("a control message and the token {token:02x?}");
            all.push(datagram);
        }
    }
    let mut tally = Tally::default();
    tally.compare(&all)?;
    tally.report("tokens")?;
    tally.verdict()?;
    let Some(close) = known::failure("close", "0.6", "ParserError: Got control message with 2") else {
        anyhow::bail!("the close is not known");
    };
    // Of 256 tokens, those with a zero before their last byte: 256 - 3 * 3 * 3 * 4.
    assert_eq!(
        tally.exceptions.get(&close.key()),
        Some(&148),
        "what it cannot read"
    );
    assert_eq!(tally.messages, all.len() - 148, "what was compared");
    Ok(())
}

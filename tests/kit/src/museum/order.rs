//! Pieces about numbers, acks and pace.

use super::{
    message::{Message, game, system},
    talk::{Talk, map_change},
};
use crate::{codec::Variant, peer::Role};

/// A line of chat.
fn chat(text: &str) -> Message {
    game(3).ints(&[0, 0]).text(text)
}

/// After a rejoin the retransmission buffer points to the messages of another player.
pub(super) fn foreign_resend(fault: bool) -> Vec<u8> {
    let mut talk = Talk::join(Variant::Ddnet);
    let (tick, _) = talk.play(100, 3);
    let ours = ["welcome back", "your team is locked"].map(chat);
    let others = ["you have 3 kills", "stop spamming, nameless tee"].map(chat);
    if !fault {
        talk.send(Role::Server, &ours);
        talk.input(tick);
        return talk.file();
    }
    // The datagram is lost; after a second without an ack the server sends it again.
    let seq = talk.post(Role::Server, &ours).unwrap_or_default();
    talk.wait(1000);
    talk.resend(Role::Server, seq - 1, &others);
    talk.input(tick);
    talk.file()
}

/// Needless requests for a resend of a message that is next in order; each is answered.
pub(super) fn resend_flood(fault: bool) -> Vec<u8> {
    let mut talk = Talk::join(Variant::Ddnet);
    let (tick, _) = talk.play(100, 3);
    // A part of a map, filled with zeros.
    let crc = 0xf215_9e6e_u32.cast_signed();
    let part = [system(3).ints(&[0, crc, 0, 890]).raw(&[0; 890])];
    if !fault {
        talk.send(Role::Server, &part);
        talk.input(tick);
        return talk.file();
    }
    let seq = talk.post(Role::Server, &part).unwrap_or_default();
    for _ in 0..20 {
        talk.request(Role::Client);
        talk.repeat(Role::Server, seq, &part);
    }
    talk.resend(Role::Server, seq, &part);
    talk.input(tick);
    talk.file()
}

/// The client queues its name but does not flush.
pub(super) fn late_start_info(fault: bool) -> Vec<u8> {
    let mut talk = Talk::open(Variant::Ddnet);
    talk.info();
    talk.send(Role::Server, &[map_change(Variant::Ddnet)]);
    talk.ready();
    if fault {
        talk.wait(480);
    }
    talk.start_info();
    talk.begin();
    talk.play(100, 3);
    talk.file()
}

/// A client that treats every number as the next one.
pub(super) fn numbers_ignored(fault: bool) -> Vec<u8> {
    let mut talk = Talk::join(Variant::Ddnet);
    let (tick, _) = talk.play(100, 3);
    if fault {
        talk.lose(Role::Server);
    } else {
        talk.send(Role::Server, &[chat("the vote has begun")]);
    }
    talk.send(Role::Server, &[chat("the vote has passed")]);
    talk.input(tick);
    talk.send(Role::Server, &[chat("the map changes soon")]);
    talk.input(tick);
    talk.file()
}

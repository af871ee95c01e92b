//! Pieces about joins.

use super::{
    message::{Message, system},
    talk::{SERVER, Talk, map_change},
};
use crate::{codec::Variant, peer::Role};

/// Number of bytes of a part of a map in 0.6.
const PART: i32 = 896;
/// Number of parts of the map, fewer than a server sends at once.
const PARTS: i32 = 4;
/// The crc32 of the map.
const CRC: i32 = 0x3b82_887c;
/// Number of parts that a server of DDNet sends ahead.
const WINDOW: i32 = 15;

/// A map change that is sent twice, as two messages.
pub(super) fn map_twice(fault: bool) -> Vec<u8> {
    let mut talk = Talk::open(Variant::Ddnet);
    talk.info();
    let change = map_change(Variant::Ddnet);
    talk.send(Role::Server, std::slice::from_ref(&change));
    if fault {
        talk.send(Role::Server, &[change]);
    }
    talk.ready();
    if fault {
        // The client has loaded the map a second time.
        talk.send(Role::Client, &[system(14)]);
    }
    talk.start_info();
    talk.begin();
    talk.play(100, 3);
    talk.file()
}

/// A client restarts its download, but the server does not restart its count.
pub(super) fn map_stuck(fault: bool) -> Vec<u8> {
    let mut talk = Talk::open(Variant::Ddnet);
    talk.info();
    let change = system(2).text("museum").ints(&[CRC, PART * PARTS]);
    talk.send(Role::Server, &[change]);
    let mut server = Server::default();
    for number in 0..2 {
        talk.send(Role::Client, &[request(number)]);
        server.answer(number, &mut talk);
    }
    if !fault {
        // The repaired server restarts its count on a request for the first part.
        server = Server::default();
    }
    for number in 0..PARTS {
        talk.send(Role::Client, &[request(number)]);
        if server.answer(number, &mut talk) == 0 && server.is_ahead {
            break;
        }
    }
    if fault {
        for _ in 0..4 {
            talk.wait(900);
            talk.keepalive();
        }
        return talk.file();
    }
    talk.enter();
    talk.play(100, 3);
    talk.file()
}

/// A server of DDNet that repeats its token in another byte order.
pub(super) fn reversed_token(fault: bool) -> Vec<u8> {
    let variant = Variant::D7;
    let [a, b, c, d] = SERVER;
    let token = if fault { [d, c, b, a] } else { SERVER };
    let mut talk = Talk::accepted_with(variant, token);
    talk.info();
    talk.send(Role::Server, &[map_change(variant)]);
    talk.enter();
    talk.play(100, 3);
    talk.file()
}

/// The progress of a map download at the server.
#[derive(Default)]
struct Server {
    /// The part that the server expects to be requested next.
    next: i32,
    /// True once the server has sent the last part.
    is_ahead: bool,
}

impl Server {
    /// Answers a request with the part that is one window ahead; a request for the first part also with the parts before
    /// that. Answers an unexpected request with the requested part only. Returns the number of parts that are sent.
    fn answer(&mut self, number: i32, talk: &mut Talk) -> usize {
        let wanted: Vec<i32> = if number != self.next {
            vec![number]
        } else {
            self.next += 1;
            let window = if number == 0 { 0..WINDOW } else { 0..0 };
            window.chain([number + WINDOW]).collect()
        };
        let parts: Vec<i32> = wanted.into_iter().filter(|number| *number < PARTS).collect();
        for number in &parts {
            talk.send(Role::Server, &[part(*number)]);
        }
        self.is_ahead |= parts.contains(&(PARTS - 1));
        parts.len()
    }
}

fn request(number: i32) -> Message {
    system(19).int(number)
}

/// Returns a part of the map, filled with zeros.
fn part(number: i32) -> Message {
    let is_last = i32::from(number == PARTS - 1);
    let bytes = usize::try_from(PART).unwrap_or_default();
    system(3).ints(&[is_last, CRC, number, PART]).raw(&vec![0; bytes])
}

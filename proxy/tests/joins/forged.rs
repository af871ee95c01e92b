//! Packets of all kinds in the name of a client that joins: the effect is no worse than without the proxy.
//!
//! CONNECT and CLOSE are in `spoofs`. The stranger knows the address of the client but no token.

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Token, Variant, control},
    link::Random,
};

use crate::spoofs::{STARTS, assert_no_weaker, pairs, starts};

/// The kinds of forged packets.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Keepalive,
    Accept,
    ConnectAccept,
    Token,
    Message,
    Input,
    ResendRequest,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Keepalive,
        Self::Accept,
        Self::ConnectAccept,
        Self::Token,
        Self::Message,
        Self::Input,
        Self::ResendRequest,
    ];

    /// Returns the packet as a client sends it that has not received anything yet.
    fn packet(self, variant: Variant, token: Option<Token>) -> Vec<u8> {
        let control = |message, extra: &[u8]| control::control(variant, 0, token, message, &[extra]);
        let data = |chunks| Datagram::of_chunks(variant, 0, token, chunks);
        match self {
            Self::Keepalive => control(control::KEEPALIVE, &[]),
            Self::Accept => control(control::ACCEPT, &[]),
            Self::ConnectAccept => control(control::CONNECT_ACCEPT, &[]),
            Self::Token => control(control::TOKEN, &[1, 2, 3, 4]),
            Self::Message => data(vec![Chunk::new(Some(1), b"forged".to_vec())]).build(),
            Self::Input => data(vec![Chunk::new(None, b"forged".to_vec())]).build(),
            Self::ResendRequest => {
                let mut datagram = data(Vec::new());
                datagram.head.flags.resend = true;
                datagram.build()
            }
        }
    }
}

/// Sends every kind of packet in the form of every variant in the name of a client that joins. The times
/// count from its start.
fn forged(from: u64, to: u64, every: u64, least: usize) {
    let mut spared = 0;
    for (pair, challenges) in pairs() {
        for variant in [Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7] {
            for kind in Kind::ALL {
                let what = format!("{kind:?} of {variant:?}");
                let mut random = Random::new(7);
                spared += usize::from(assert_no_weaker(pair, challenges, &what, |stage, tick| {
                    starts(stage, tick);
                    if (STARTS + from..STARTS + to).contains(&(tick + 20)) && tick % every == 0 {
                        let token = match (variant, random.below(2)) {
                            (Variant::V6, _) => None,
                            (_, 0) => Some(NO_TOKEN),
                            _ => Some(random.token()),
                        };
                        stage.world.client_sends(0, &kind.packet(variant, token));
                    }
                }));
            }
        }
    }
    assert!(spared > least, "{spared}");
}

#[test]
fn packets_in_the_name_of_a_client_before_it_dials() {
    forged(0, 20, 4, 300);
}

#[test]
fn packets_in_the_name_of_a_client_while_it_dials() {
    forged(20, 140, 3, 200);
}

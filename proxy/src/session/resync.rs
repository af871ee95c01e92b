//! Requests a complete snapshot from the server.
//!
//! A server sends a snapshot as the difference to the snapshot that the client acks in its inputs. A watcher
//! that lacks the acked snapshot cannot decode any later one. A resync replaces the acks of some inputs with
//! -1, "none", until the server has sent a snapshot that differs from nothing (Teeworlds 0.7 and DDNet 20
//! `server.cpp`, `DoSnapshot`). One input is not enough, because the next input may reach the server before
//! it creates a snapshot.
//!
//! Law: a resync is requested by a user, reported, and over after [`INPUTS`] inputs. The client handles a
//! complete snapshot like any other.

use teetap_wire::{
    Dir, Packet, Proto,
    def::{Class, Datum, Decoded, Def, Registry},
};

/// Maximum number of inputs that are rewritten: a client sends 10 to 50 a second, and a server answers the
/// request within 10 ticks.
const INPUTS: u8 = 50;

/// Returns the input with a snapshot ack of -1; `None` if the message is not an input or already has such an
/// ack.
pub(crate) fn without_ack(registry: &Registry, proto: Proto, data: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Decoded::new();
    let def = system(registry, &mut decoded, (proto, Dir::C2s), data)?;
    if &*def.name != "input" {
        return None;
    }
    let path = def.path("ack_snapshot").ok()?;
    if decoded.find(&path)?.int()? < 0 {
        return None;
    }
    let mut edited = Vec::new();
    decoded
        .splice(def, data, &path, &Datum::Int(-1), &mut edited)
        .ok()?;
    Some(edited)
}

/// The request of one session, with the number of inputs that may still be rewritten.
#[derive(Debug, Default)]
pub(crate) struct Resync {
    inputs_left: u8,
}

/// The effect of a resync on a client's datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acks {
    /// None: the datagram is forwarded as it is.
    Stay,
    /// The acks are removed.
    Go,
    /// The acks are removed for the last time: the server sent no complete snapshot.
    GoLast,
}

impl Resync {
    /// Starts the request with the next input.
    pub(crate) fn start(&mut self) {
        self.inputs_left = INPUTS;
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.inputs_left > 0
    }

    /// Handles a datagram of the client.
    pub(crate) fn on_client(&mut self, registry: &Registry, packet: &Packet<'_>) -> Acks {
        let has_ack = |data: &[u8]| without_ack(registry, packet.proto, data).is_some();
        if self.inputs_left == 0 || !packet.chunks().any(|chunk| has_ack(chunk.data)) {
            return Acks::Stay;
        }
        self.inputs_left -= 1;
        if self.inputs_left == 0 {
            Acks::GoLast
        } else {
            Acks::Go
        }
    }

    /// Handles a datagram of the server. Returns true if it contains the requested snapshot.
    pub(crate) fn on_server(&mut self, registry: &Registry, packet: &Packet<'_>) -> bool {
        // A snapshot does not count before the first input was rewritten.
        let is_requested = self.inputs_left > 0 && self.inputs_left < INPUTS;
        let mut chunks = packet.chunks();
        let found = is_requested && chunks.any(|chunk| is_complete(registry, packet.proto, chunk.data));
        if found {
            self.inputs_left = 0;
        }
        found
    }
}

/// Returns true if a message of the server is a whole snapshot, or a part of one, that has no base.
fn is_complete(registry: &Registry, proto: Proto, data: &[u8]) -> bool {
    let mut decoded = Decoded::new();
    let Some(def) = system(registry, &mut decoded, (proto, Dir::S2c), data) else {
        return false;
    };
    let int = |name: &str| decoded.find(&def.path(name).ok()?)?.int();
    let is_snapshot = ["snap", "snap_single", "snap_empty"].contains(&&*def.name);
    is_snapshot
        && int("tick")
            .zip(int("delta_tick"))
            .is_some_and(|(tick, delta)| delta > tick)
}

fn system<'r>(
    registry: &'r Registry,
    decoded: &mut Decoded,
    (proto, dir): (Proto, Dir),
    data: &[u8],
) -> Option<&'r Def> {
    let found = registry.message(proto, dir, data)?;
    if found.unknown || found.def.class != Class::System {
        return None;
    }
    decoded.read(found.def, data, found.body);
    Some(found.def)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
mod tests {
    use super::*;

    fn message(proto: Proto, name: &str, fields: &[(&str, i64)]) -> Vec<u8> {
        let fields = fields.iter().map(|(name, value)| (*name, Datum::Int(*value)));
        let mut named = Registry::builtin().named(proto, Some(Class::System), name);
        let mut message = Vec::new();
        named
            .next()
            .unwrap()
            .encode(&Datum::group(fields), &mut message)
            .unwrap();
        message
    }

    #[test]
    fn only_the_ack_of_an_input_changes() {
        for proto in Proto::ALL {
            let input = |ack| message(proto, "input", &[("ack_snapshot", ack), ("intended_tick", 70)]);
            let mut long = input(123_456);
            long.extend(b"surplus");
            let mut wanted = input(-1);
            wanted.extend(b"surplus");
            assert_eq!(
                without_ack(Registry::builtin(), proto, &long),
                Some(wanted),
                "{proto}"
            );
            assert_eq!(without_ack(Registry::builtin(), proto, &input(-1)), None);
            assert_eq!(
                without_ack(Registry::builtin(), proto, &message(proto, "enter_game", &[])),
                None
            );
        }
        assert_eq!(without_ack(Registry::builtin(), Proto::V7, b""), None);
    }

    #[test]
    fn a_complete_snapshot_differs_from_nothing() {
        for proto in Proto::ALL {
            for name in ["snap", "snap_single", "snap_empty"] {
                let snap = |delta| message(proto, name, &[("tick", 500), ("delta_tick", delta)]);
                assert!(
                    is_complete(Registry::builtin(), proto, &snap(501))
                        && !is_complete(Registry::builtin(), proto, &snap(20)),
                    "{proto} {name}"
                );
            }
            assert!(!is_complete(
                Registry::builtin(),
                proto,
                &message(proto, "con_ready", &[])
            ));
        }
    }
}

//! The messages whose ints each release checks.
//!
//! The unpackers that `datasrc/compile.py` generates (`CNetObjHandler::SecureUnpackMsg`) refuse a game message with an
//! int outside its range, in Teeworlds 0.6.4, 0.6.5 and 0.7.5 and in DDNet 16.4 and 20.1 (`emit_unpack_check` of
//! `NetIntRange` in `datasrc/datatypes.py`), and the receiver ignores the message. System messages, and game messages
//! with handwritten unpackers, are not checked. Snapshot items with such ints are kept by 0.6, clamped by DDNet and
//! invalidated by 0.7.5 (`emit_validate`).

use crate::Proto;

/// Messages of 0.6 with the same ranges in Teeworlds and DDNet.
const SIX: &[&str] = &[
    "cl_change_info",
    "cl_emoticon",
    "cl_say",
    "cl_set_team",
    "cl_start_info",
    "cl_vote",
    "sv_sound_global",
    "sv_vote_option_list_add",
    "sv_weapon_pickup",
];

/// Messages of DDNet. The ranges of client ids and client counts are the ranges of the releases with more clients;
/// other releases refuse values outside these ranges as well.
const DDNET: &[&str] = &[
    "cl_set_spectator_mode",
    "sv_chat",
    "sv_emoticon",
    "sv_kill_msg",
    "sv_vote_set",
    "sv_vote_status",
];

const SEVEN: &[&str] = &[
    "cl_call_vote",
    "cl_emoticon",
    "cl_say",
    "cl_set_spectator_mode",
    "cl_set_team",
    "cl_start_info",
    "cl_vote",
    "sv_chat",
    "sv_client_drop",
    "sv_client_info",
    "sv_emoticon",
    "sv_game_info",
    "sv_kill_msg",
    "sv_server_settings",
    "sv_team",
    "sv_vote_set",
    "sv_vote_status",
    "sv_weapon_pickup",
];

/// Returns true if every release with this protocol drops the game message `name` if an int in it is outside its range.
#[must_use]
pub fn checks_ranges(proto: Proto, name: &str) -> bool {
    match proto {
        Proto::V6 | Proto::V65 => SIX.contains(&name),
        Proto::Ddnet => SIX.contains(&name) || DDNET.contains(&name),
        Proto::V7 => SEVEN.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::{Class, Registry};

    #[test]
    fn each_name_is_a_game_message_of_its_protocol() {
        for (protos, names) in [
            (&[Proto::V6, Proto::V65, Proto::Ddnet][..], SIX),
            (&[Proto::Ddnet], DDNET),
            (&[Proto::V7], SEVEN),
        ] {
            for proto in protos {
                for name in names {
                    assert!(checks_ranges(*proto, name), "{proto} {name}");
                    let mut found = Registry::builtin().named(*proto, Some(Class::Game), name);
                    let is_there = found.any(|def| *def.name == **name);
                    assert!(is_there, "{proto} {name}");
                }
            }
        }
    }
}

//! Tests that all documented examples are correct.

use teetap_rules::{Filter, Severity};
use teetap_wire::def::Registry;

/// Filters, and conditions of rules, from the documentation.
const EXAMPLES: [&str; 44] = [
    "c2s and not input",
    "\"gg\" or \"ChillerDragon\"",
    "vital and resend and pkt.seq in {1010..1023 0..5}",
    "/capital\\w+/",
    "snap.character[3].x > 320 * 32",
    ".team == 1",
    "sess.id == 2 and since(enter_game) > 30s",
    "sv_chat",
    "s2c and any_snap",
    "c2s and cl_emoticon",
    "s2c and con_ready",
    "c2s and input",
    "seen(enter_game)",
    "s2c and sv_motd",
    "s2c and sv_chat",
    "c2s and vital",
    "s2c and pkt.size > 600",
    "sv_chat and sv_chat.client_id >= 0",
    "cl_say",
    "enter_game",
    "cl_say.message == \"/pingtap\"",
    "count(snap_single) > 500",
    "rcon_cmd",
    "resend",
    "sv_vote_set",
    "s2c",
    "count(input) > 200",
    "ctrl.connect",
    "input_timing and since(enter_game) > 5s",
    "any_snap and not snap.crc_ok",
    "sv_kill_msg.killer == sv_kill_msg.victim or sv_kill_msg.weapon in {hammer gun}",
    "last(sv_chat).message == sv_chat.message",
    "any(cl_start_info.skin_part_names contains \"x\") and len(cl_start_info.name) > 3",
    "all(snap.character.health > 0) and has(snap.character[3])",
    "sys.3 and sys.3.chunk > 0 or game.3",
    "unknown or malformed or compressed or lint or lint.overlong-int or lint.not_vital",
    "sess.proto in {\"0.6.5\" ddnet} and sess.state != closed and sess.rtt > 1.5ms * 2",
    "sv_tune_params.gravity == 0.5",
    "input.player_flags contains chatting",
    "sess.name contains \"tee\" and n <= 10 and t < 5min",
    "connless.info or info",
    "has(.ping_correction) and .ping_correction > 20",
    "has(sv_chat.team) or len(sv_chat.message) % 2 == 0",
    "NETMSG_CON_READY or netmsgtype_sv_chat or CNetMsg_Sv_KillMsg and ctrl.close.reason contains \"ban\"",
];

#[test]
fn examples_are_right() {
    let registry = Registry::builtin();
    for text in EXAMPLES {
        let (filter, diagnostics) = Filter::parse(text, registry).unwrap_or_else(|errors| {
            let shown: Vec<_> = errors.iter().map(|error| &error.message).collect();
            panic!("{text}: {shown:?}")
        });
        let warning = diagnostics
            .iter()
            .find(|diagnostic| diagnostic.severity() == Severity::Warning);
        assert!(warning.is_none(), "{text}: {warning:?}");
        let printed = filter.to_string();
        let (again, _) = Filter::parse(&printed, registry).unwrap();
        assert_eq!(again.expr(), filter.expr(), "{text}");
    }
}

#[test]
fn words_of_the_games_are_the_same_messages() {
    let registry = Registry::builtin();
    for (one, other) in [
        ("NETMSG_CON_READY", "con_ready"),
        ("netmsgtype_sv_chat", "SV_CHAT"),
        ("CNetMsg_Sv_KillMsg.killer == 1", "sv_kill_msg.killer == 1"),
        ("ctrl.close", "close"),
        ("sys.info", "info"),
    ] {
        let reach = |text: &str| format!("{:?}", Filter::parse(text, registry).unwrap().0.reach());
        assert_eq!(reach(one), reach(other), "{one}");
    }
}

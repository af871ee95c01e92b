//! The known odd messages of real peers and their causes: every other note is a finding.

/// Protocol, direction and name of a message; the code of the note; its cause.
const ODD: [(&str, &str, &str); 12] = [
    (
        "0.7 s2c sv_vote_option_list_add",
        "surplus-bytes",
        "DDNet sends 15 texts whatever their number is",
    ),
    (
        "0.7 s2c rcon_cmd_add",
        "text-too-long",
        "DDNet's texts are longer than clients of 0.7 keep",
    ),
    (
        "ddnet c2s",
        "empty-without-resend",
        "the npm client acks with data packets without anything in them",
    ),
    (
        "ddnet c2s",
        "unknown-message",
        "the npm client sends the UUID of the game message sv_kill_msg_team as one of the engine, with its web address",
    ),
    (
        "ddnet c2s input",
        "input-late",
        "the npm client does not predict: its inputs are for ticks behind the snapshots that it acks",
    ),
    ("ddnet c2s cl_start_info", "late-reply", UNFLUSHED),
    ("0.6 c2s cl_start_info", "late-reply", UNFLUSHED),
    ("0.6.5 c2s cl_start_info", "late-reply", UNFLUSHED),
    ("ddnet s2c snap_single", UNDECLARED, LATER),
    ("ddnet s2c snap", UNDECLARED, LATER),
    ("0.7 s2c snap_single", UNDECLARED, LATER),
    ("0.7 s2c snap", UNDECLARED, LATER),
];

/// The note about an item whose type is not declared.
pub const UNDECLARED: &str = "snap-undeclared";

const LATER: &str = "DDNet's server says from the second snapshot on which UUID a type has";

const UNFLUSHED: &str = "DDNet's client 16.4 does not flush its start info";

/// Notes caused by the network or a busy program: losses, copies, silences.
const BY_NETWORK: [&str; 5] = [
    "seq-ahead",
    "seq-again",
    "resend-request",
    "overtaken",
    "keepalive-late",
];

/// Returns true if a note of this code about a message, named by protocol, direction and name, has an explanation.
pub fn is_odd_as_known(message: &str, code: &str) -> bool {
    let message = message.trim_end();
    let mut odd = ODD.iter();
    BY_NETWORK.contains(&code) || odd.any(|(known, odd, _)| *known == message && *odd == code)
}

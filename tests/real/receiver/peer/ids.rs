//! The numbers of messages, which differ between 0.6 and 0.7.

use teetap_kit::codec::Variant;
use teetap_kit::peer::game::put_int;

/// The ids of system messages that differ between 0.6 and 0.7.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    pub(crate) info: i32,
    pub(crate) map_change: i32,
    pub(crate) con_ready: i32,
    pub(crate) snaps: [i32; 3],
    pub(crate) input_timing: i32,
    pub(crate) ready: i32,
    pub(crate) enter_game: i32,
    pub(crate) input: i32,
    pub(crate) rcon_auth: i32,
    pub(crate) ping: i32,
    pub(crate) start_info: i32,
}

const SIX: Ids = Ids {
    info: 1,
    map_change: 2,
    con_ready: 4,
    snaps: [5, 6, 7],
    input_timing: 9,
    ready: 14,
    enter_game: 15,
    input: 16,
    rcon_auth: 18,
    ping: 22,
    start_info: 20,
};

const SEVEN: Ids = Ids {
    info: 1,
    map_change: 2,
    con_ready: 5,
    snaps: [6, 7, 8],
    input_timing: 10,
    ready: 18,
    enter_game: 19,
    input: 20,
    rcon_auth: 22,
    ping: 26,
    start_info: 27,
};

/// Returns the ids of the protocol.
pub(crate) fn ids(variant: Variant) -> Ids {
    if variant.is_seven() { SEVEN } else { SIX }
}

/// Returns a system message without fields.
pub(crate) fn system(id: i32) -> Vec<u8> {
    let mut message = Vec::new();
    put_int(&mut message, id << 1 | 1);
    message
}

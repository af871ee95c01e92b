//! A session for tests of programs: its messages, and the decisions about them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_rules::{Decide, Diagnostic, Effect, Message, Opening, Program, Shared, Style, Verdict};
use teetap_wire::def::{Datum, Registry};
use teetap_wire::{Dir, Proto, Seq};

/// Address of the client in [`OPENING`].
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 52000);

pub(crate) const OPENING: Opening = Opening {
    seed: 1,
    session: 3,
    at: 2_000_000,
    is_new: true,
    client: Some(CLIENT),
};

pub(crate) fn program(source: &str) -> Program {
    match Program::compile(source, Registry::builtin()) {
        Ok((program, _)) => program,
        Err(errors) => panic!("{source}: {errors:?}"),
    }
}

pub(crate) fn wrong(source: &str) -> Vec<String> {
    let errors = Program::compile(source, Registry::builtin()).unwrap_err();
    let line = |error: &Diagnostic| {
        let text = error.render("rules.tap", source, Style::Plain);
        let place = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("--> rules.tap:"));
        format!("{} {} {}", place.unwrap_or("?"), error.code.name(), error.message)
    };
    errors.iter().map(line).collect()
}

/// Returns a chat message from a player to the server, in DDNet.
pub(crate) fn say(text: &str) -> (Dir, Vec<u8>) {
    (
        Dir::C2s,
        message("cl_say", &[("message", Datum::Bytes(text.into()))]),
    )
}

pub(crate) fn message(name: &str, fields: &[(&str, Datum)]) -> Vec<u8> {
    let mut named = Registry::builtin().named(Proto::Ddnet, None, name);
    let fields = Datum::group(fields.iter().map(|(name, value)| (*name, value.clone())));
    let mut data = Vec::new();
    named.next().unwrap().encode(&fields, &mut data).unwrap();
    data
}

pub(crate) fn decide(state: &mut dyn Decide, message: &(Dir, Vec<u8>), at: u64) -> Verdict {
    state.decide(&first_copy(message, at), &mut Shared::default())
}

pub(crate) fn first_copy<'a>((dir, data): &'a (Dir, Vec<u8>), at: u64) -> Message<'a> {
    Message::alone((OPENING.session, *dir, Proto::Ddnet), Some(Seq::new(7)), data, at)
}

/// Returns the verdict on one message of a new session.
pub(crate) fn verdict(source: &str, message: &(Dir, Vec<u8>)) -> Verdict {
    decide(&mut *program(source).open(OPENING, None), message, OPENING.at)
}

/// Returns the verdict on one message of a new session, and the effects.
pub(crate) fn outcome(source: &str, message: &(Dir, Vec<u8>)) -> (Verdict, Vec<Effect>) {
    let mut state = program(source).open(OPENING, None);
    (decide(&mut *state, message, OPENING.at), state.effects())
}

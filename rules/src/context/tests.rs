//! Tests of the limits of contexts.

use teetap_wire::{
    Dir, Proto,
    def::{Class, Decoded, Registry},
};

use super::*;
use crate::eval::Identity;

/// A client calls itself "me".
fn start_info(session: u32) -> MessageView<'static> {
    let data = b"\x36me\0";
    let found = Registry::builtin().message(Proto::V7, Dir::C2s, data);
    MessageView {
        at: 5,
        session: Some(session),
        proto: Proto::V7,
        dir: Dir::C2s,
        class: Class::Game,
        id: Identity::Number(27),
        def: found.map(|found| found.def),
        body: found.map_or(0, |found| found.body),
        data,
        seq: None,
        seq_out: None,
        resend: false,
        delivered: true,
        packet: PacketView::default(),
    }
}

fn take(contexts: &mut Contexts, view: &MessageView<'_>) {
    let fields = Lazy::new(view.def, view.data, view.body, Decoded::new());
    contexts.observe(view, &fields);
    contexts.learn(view, &fields);
}

fn name(contexts: &Contexts, session: u32) -> Option<&[u8]> {
    contexts.get(session)?.known().players.own_name()
}

#[test]
fn the_session_that_was_silent_longest_gives_way() {
    let mut contexts = Contexts::new(Registry::builtin());
    for session in 0..5_000 {
        take(&mut contexts, &start_info(session));
        // Session 7 never stops talking.
        take(&mut contexts, &start_info(7));
    }
    assert_eq!(contexts.len(), SESSIONS);
    assert_eq!(
        [0, 7, 4_999].map(|id| name(&contexts, id).is_some()),
        [false, true, true]
    );
}

#[test]
fn a_session_that_ends_or_opens_is_forgotten() {
    let mut contexts = Contexts::new(Registry::builtin());
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), Some(&b"me"[..]));
    contexts.on_session(6, 1, SessionState::Online);
    assert_eq!(contexts.of(Some(1)).known().state, SessionState::Online);
    assert!(name(&contexts, 1).is_some());
    contexts.on_session(7, 1, SessionState::Closed);
    assert!(contexts.is_empty());
    take(&mut contexts, &start_info(1));
    contexts.on_session(8, 1, SessionState::Opening);
    assert_eq!(name(&contexts, 1), None);
    assert_eq!(contexts.of(Some(1)).known().since, 8);
}

#[test]
fn names_that_nobody_needs_are_not_learned() {
    let mut contexts = Contexts::new(Registry::builtin());
    contexts.set_needs(Needs::NOTHING);
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), None);
    contexts.set_needs(Needs {
        names: Names::Own,
        ..Needs::NOTHING
    });
    let refused = MessageView {
        delivered: false,
        ..start_info(1)
    };
    take(&mut contexts, &refused);
    assert_eq!(name(&contexts, 1), None);
    take(&mut contexts, &start_info(1));
    assert_eq!(name(&contexts, 1), Some(&b"me"[..]));
}

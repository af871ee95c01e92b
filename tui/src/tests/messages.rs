//! The message view: detail, filter, search, marks, sessions, times.

use std::sync::Arc;

use teetap_inspect::{DecodedEvent, Decoder};
use teetap_proxy::session::{Action, Datagram, Event, EventKind, Origin, Placed, SentAt, SessionId, Time};
use teetap_wire::{Dir, Proto, Seq, def::Registry};

use super::feed::{SIZES, blank, draw, press, recorded, replayed, type_text};
use crate::{
    App,
    app::{Overlay, Pane, contents::LineKind, cursor::Moves as _},
};

/// Selects the first row that contains this text.
fn find(app: &mut App, text: &str) {
    press(app, "G g ctrl-f");
    type_text(app, text);
    press(app, "enter");
    assert!(app.dialog.status.is_none(), "{:?}", app.dialog.status);
}

fn filter(app: &mut App, text: &str) {
    press(app, "/ ctrl-u");
    type_text(app, text);
    press(app, "enter");
}

#[test]
fn a_message_in_detail_at_each_size() {
    for size in SIZES {
        let mut app = recorded();
        draw(&mut app, size);
        find(&mut app, "sv_client_info");
        press(&mut app, "enter j j j j");
        insta::assert_snapshot!(format!("detail-{}x{}", size.0, size.1), draw(&mut app, size));
    }
}

#[test]
fn fields_and_bytes_are_linked_both_ways() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    find(&mut app, "sv_motd");
    press(&mut app, "enter");
    draw(&mut app, (80, 24));
    press(&mut app, "G");
    assert_eq!(app.panes.focus, Pane::Tree);
    let range = app.detail.range().unwrap();
    assert_eq!(
        app.detail.contents.bytes.get(range.clone()).unwrap(),
        b"rig motd\0"
    );
    assert_eq!(app.detail.hex.at(), range.start);

    press(&mut app, "tab right");
    draw(&mut app, (80, 24));
    assert_eq!(
        (app.panes.focus, app.detail.hex.at()),
        (Pane::Hex, range.start + 1)
    );
    assert_eq!(app.detail.range(), Some(range));
    // The id belongs to no field, so that the selected line stays.
    press(&mut app, "g esc");
    assert_eq!((app.panes.focus, app.panes.shape.is_open), (Pane::List, false));
}

#[test]
fn a_filter_is_checked_while_it_is_typed_and_completed() {
    let mut app = recorded();
    press(&mut app, "/");
    type_text(&mut app, "sv_mot");
    insta::assert_snapshot!("filter", draw(&mut app, (80, 24)));
    press(&mut app, "tab");
    type_text(&mut app, ".mesage == \"x\"");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("message `sv_motd` has no field `mesage`; did you mean `message`?"),
        "{screen}"
    );
    press(&mut app, "esc");
    assert!(app.messages.filter().is_none());
}

#[test]
fn a_filter_shows_what_matches_before_and_after_it_was_set() {
    let mut app = recorded();
    let all = app.messages.len();
    filter(&mut app, "vital and c2s");
    let shown = app.messages.len();
    assert!(shown > 10 && shown < all, "{shown} of {all}");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("filter vital and c2s") && !screen.contains(" s→c"),
        "{screen}"
    );

    press(&mut app, "f");
    assert!(draw(&mut app, (80, 24)).contains("filter (off) vital and c2s"));
    assert_eq!(app.messages.len(), all);
    press(&mut app, "f");
    assert_eq!(app.messages.len(), shown);
    for decoded in super::feed::events("tw07-session") {
        app.push(&decoded);
    }
    assert_eq!(app.messages.len(), 2 * shown);

    filter(&mut app, "cl_kill and sv_chat");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("no row is shown"), "{screen}");
    filter(&mut app, "");
    assert!(app.messages.filter().is_none() && app.messages.len() > all);
}

#[test]
fn a_filter_of_a_frozen_list_shows_the_rows_before_the_freeze() {
    let mut app = recorded();
    filter(&mut app, "vital and c2s");
    let shown = app.messages.len();
    filter(&mut app, "");
    press(&mut app, "space");
    for decoded in super::feed::events("tw07-session") {
        app.push(&decoded);
    }
    filter(&mut app, "vital and c2s");
    let saved = app.messages.wanted_events().len();
    assert_eq!(app.messages.len(), shown);
    press(&mut app, "space");
    assert_eq!(app.messages.len(), 2 * shown);
    assert_eq!(
        app.messages.wanted_events().len(),
        2 * saved,
        "rows that wait are not saved"
    );
}

#[test]
fn a_filter_has_the_memory_of_the_language() {
    let mut app = recorded();
    filter(&mut app, "rcon_line and count(rcon_line) == 3");
    let screen = draw(&mut app, (80, 24));
    let rows: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains(" rcon_line  "))
        .collect();
    assert_eq!(rows.len(), 1, "the third one: {screen}");
}

#[test]
fn a_type_that_the_filter_names_is_not_folded() {
    let mut app = recorded();
    filter(&mut app, "input");
    let screen = draw(&mut app, (80, 24));
    assert!(!screen.contains('×') && app.messages.len() > 100, "{screen}");
}

#[test]
fn a_search_goes_around_in_both_directions() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    find(&mut app, "MOTD");
    let first = app.messages.selected();
    press(&mut app, "n");
    let second = app.messages.selected();
    assert!(second > first);
    press(&mut app, "N");
    assert_eq!(app.messages.selected(), first);
    press(&mut app, "ctrl-f");
    type_text(&mut app, "not in here");
    press(&mut app, "enter");
    assert!(draw(&mut app, (80, 24)).contains("no unfolded row has 'not in here'"));
}

#[test]
fn marked_rows_are_shown_and_found() {
    let mut app = recorded();
    press(&mut app, "g j j m G '");
    assert_eq!(app.messages.selected(), Some(2));
    assert_eq!(draw(&mut app, (80, 24)).matches('◆').count(), 1);
    press(&mut app, "m G '");
    assert!(app.dialog.status.as_ref().unwrap().1.contains("no row is marked"));
}

#[test]
fn one_session_is_picked_from_a_menu() {
    let mut app = replayed("rich-dd16");
    press(&mut app, "g s");
    insta::assert_snapshot!("sessions-menu", draw(&mut app, (80, 24)));
    let all = app.messages.len();
    press(&mut app, "1");
    let one = app.messages.len();
    assert!(one > 0 && one < all && app.messages.session().is_some());
    press(&mut app, "s 0");
    assert_eq!(app.messages.len(), all);
}

#[test]
fn times_have_four_forms() {
    let mut app = recorded();
    let mut first = Vec::new();
    for keys in ["g", "t", "t", "t"] {
        press(&mut app, keys);
        let screen = draw(&mut app, (80, 24));
        let row = screen.lines().find(|line| line.contains("sv_motd")).unwrap();
        let row = row.trim_start_matches('"').trim_start();
        first.push(row.split_whitespace().next().unwrap().to_owned());
    }
    assert_eq!(first, ["0.295", "0.282", "0.000", "14:13:20.295"]);
}

/// Returns a datagram of 0.7 with one vital chunk.
fn datagram(data: &[u8]) -> Vec<u8> {
    let len = data.len();
    let header = [
        u8::try_from(0x40 | len >> 6).unwrap(),
        u8::try_from(len & 0x3f).unwrap(),
        7,
    ];
    [&[0, 0, 1, 1, 2, 3, 4][..], &header, data].concat()
}

/// Returns a cl_say of 0.7 with this text.
fn cl_say(text: &[u8]) -> Vec<u8> {
    [b"\x30\x01\x40", text, b"\0"].concat()
}

/// Returns a datagram that was forwarded unchanged.
fn forwarded(dir: Dir, origin: Origin, bytes: &[u8]) -> Arc<DecodedEvent> {
    let datagram = Datagram::new(dir, Proto::V7, origin, bytes, [bytes].into_iter());
    let event = Event {
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        what: EventKind::Datagram(datagram),
    };
    Arc::new(Decoder::new(Registry::builtin()).decode(event))
}

/// Returns a cl_say whose text a rule has changed.
fn rewritten() -> Arc<DecodedEvent> {
    let (original, edited) = (cl_say(b"hello"), cl_say(b"goodbye"));
    let (received, sent) = (datagram(&original), datagram(&edited));
    let mut datagram = Datagram::new(
        Dir::C2s,
        Proto::V7,
        Origin::Peer,
        &received,
        [&sent[..]].into_iter(),
    );
    let mut placed = Placed::new(Some(Seq::new(7)), Action::Edit);
    placed.sent = Some(SentAt {
        datagram: 0,
        at: 3,
        len: edited.len().try_into().unwrap(),
    });
    datagram.placed = [placed].into();
    datagram.ordinal = 1;
    let event = Event {
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        what: EventKind::Datagram(datagram),
    };
    Arc::new(Decoder::new(Registry::builtin()).decode(event))
}

#[test]
fn a_changed_message_shows_its_fields_and_bytes_before_and_after() {
    let mut app = blank();
    app.push(&rewritten());
    press(&mut app, "enter");
    insta::assert_snapshot!("changed", draw(&mut app, (80, 24)));
    // The new value is first.
    let lines = app.detail.contents.lines.iter();
    let mut lines = lines.skip_while(|line| line.weight != LineKind::Changed);
    let mut next = || lines.next().map(|line| (&*line.name, &*line.value));
    assert_eq!(next(), Some(("message", "\"goodbye\"")));
    assert_eq!(next(), Some(("came as", "\"hello\"")));
    let screen = draw(&mut app, (200, 24));
    let row = screen
        .lines()
        .find(|line| line.contains("V     7 cl_say "))
        .unwrap();
    assert!(row.contains(" all: hello → goodbye  edit"), "{row}");
}

/// Returns a cl_say with this text.
fn said(text: &str) -> Arc<DecodedEvent> {
    let received = datagram(&cl_say(text.as_bytes()));
    let mut datagram = Datagram::new(
        Dir::C2s,
        Proto::V7,
        Origin::Peer,
        &received,
        [&received[..]].into_iter(),
    );
    datagram.placed = [Placed::new(Some(Seq::new(7)), Action::Pass)].into();
    let event = Event {
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        what: EventKind::Datagram(datagram),
    };
    Arc::new(Decoder::new(Registry::builtin()).decode(event))
}

#[test]
fn a_long_value_is_read_to_its_end_and_stays_safe() {
    let words: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let plain = words.join(" ");
    let hostile = format!(
        "{}\u{202e}evil\u{1b}[2J{}",
        "名".repeat(40),
        "e\u{301}".repeat(90)
    );
    for (text, size) in [
        (&plain, (80, 24)),
        (&plain, (60, 16)),
        (&plain, (120, 40)),
        (&hostile, (80, 24)),
    ] {
        let mut app = blank();
        app.push(&said(text));
        draw(&mut app, size);
        press(&mut app, "enter");
        let first = draw(&mut app, size);
        let mut seen = String::new();
        for _ in 0..60 {
            let screen = draw(&mut app, size);
            assert!(!screen.contains(['\u{1b}', '\u{202e}']), "{screen}");
            seen.push_str(&screen);
            press(&mut app, "down");
        }
        if text == &plain {
            assert!(first.contains("below ▾") || size == (120, 40), "{first}");
            assert!(words.iter().all(|word| seen.contains(word.as_str())), "{seen}");
        }
        // The whole value is in the lines, also if it is wide or combines.
        let lines = app.detail.contents.lines.iter();
        let value: String = lines
            .filter(|line| line.name == "message")
            .map(|line| &*line.value)
            .collect();
        assert_eq!(value, format!("\"{}\"", teetap_wire::printable(text.as_bytes())));
    }
}

#[test]
fn an_odd_value_shows_what_was_expected() {
    let mut app = blank();
    // A cl_say of 0.7 with an invalid mode.
    let bytes = datagram(b"\x30\x09\x40x\0");
    app.push(&forwarded(Dir::C2s, Origin::Peer, &bytes));
    press(&mut app, "enter");
    let screen = draw(&mut app, (120, 30));
    insta::assert_snapshot!("odd", screen);
    assert!(!app.detail.contents.odd.is_empty());
}

#[test]
fn secrets_are_hidden_in_the_bytes_too() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    find(&mut app, "rcon_auth");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("•••") && !app.detail.contents.secret.is_empty(),
        "{screen}"
    );
    let hidden: usize = app
        .detail
        .contents
        .secret
        .iter()
        .map(ExactSizeIterator::len)
        .sum();
    assert!(screen.matches("•• ").count() >= hidden, "{screen}");
}

#[test]
fn the_last_row_can_be_left_and_the_detail_follows_the_newest() {
    let mut app = recorded();
    press(&mut app, "enter esc");
    app.messages.last();
    app.push(&rewritten());
    draw(&mut app, (160, 40));
    assert_eq!(app.detail.contents.title, "cl_say");
}

/// Returns a datagram of 0.7 with one input_timing.
fn input_timing() -> [u8; 12] {
    [0, 0, 1, 1, 2, 3, 4, 0, 3, 0x15, 1, 1]
}

#[test]
fn a_message_sent_by_hand_is_not_folded() {
    let folded = |origin| {
        let mut app = blank();
        app.push(&forwarded(Dir::S2c, origin, &input_timing()));
        app.messages.is_empty() && app.messages.folds().len() == 1
    };
    assert!(folded(Origin::Peer) && folded(Origin::Proxy));
    assert!(!folded(Origin::User) && !folded(Origin::Rule));
}

/// Returns the entries of the menu of texts to copy for a cl_say with this text.
fn copy_entries(text: &[u8]) -> Vec<String> {
    let mut app = blank();
    app.push(&forwarded(Dir::C2s, Origin::Peer, &datagram(&cl_say(text))));
    press(&mut app, "y");
    let menu = app.dialog.overlay.as_ref().and_then(|overlay| match overlay {
        Overlay::Menu(menu) => Some(menu),
        _ => None,
    });
    menu.unwrap()
        .entries
        .iter()
        .map(|entry| entry.text.clone())
        .collect()
}

#[test]
fn the_dots_of_a_secret_in_a_chat_line_hide_nothing() {
    let entries = copy_entries("\u{2022}\u{2022}\u{2022}".as_bytes());
    assert!(
        entries.iter().any(|entry| entry.starts_with("hex ")),
        "{entries:?}"
    );
    let entries = copy_entries(b"/login hunter2");
    let has_bytes = |entry: &String| entry.starts_with("hex ") || entry.starts_with("twnet link ");
    assert!(!entries.iter().any(has_bytes), "{entries:?}");
}

#[test]
fn text_that_is_not_utf8_is_copied_as_bytes() {
    let entries = copy_entries(b"caf\xe9");
    let inject = entries.iter().find(|entry| entry.starts_with("inject command"));
    assert!(inject.unwrap().contains("inject c2s vital 0x3001"), "{entries:?}");
}

#[test]
fn a_row_about_a_session_has_no_bytes() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    press(&mut app, "g j j enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("── bytes ─") && screen.contains("this row has no bytes"),
        "{screen}"
    );
}

#[test]
fn a_list_without_rows_names_the_keys_that_show_some() {
    let mut app = blank();
    app.push(&rewritten());
    app.messages.pick(Some(SessionId(7)));
    let screen = draw(&mut app, (100, 10));
    let keys = "no row is shown: f switches the filter off, L shows all rows, s all sessions";
    assert!(screen.contains(keys), "{screen}");
}

//! The message list over a recorded session, drawn on a terminal in memory.

#![expect(clippy::unwrap_used, reason = "a test may panic: that is how it fails")]

use std::{fs::File, io::BufReader, sync::Arc};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};
use teetap_capture::{Item, Playback};
use teetap_inspect::{Decoder, Style};
use teetap_proxy::session::{Level, Time};
use teetap_tui::{App, Theme, Title, keymap, update::update, view};
use teetap_wire::def::Registry;

fn title() -> Title {
    Title {
        target: "example.org".to_owned(),
        connect: "127.0.0.1:8303".to_owned(),
        filter: None,
        recording: true,
        seed: 42,
    }
}

/// A screen with a recorded session of 0.7.
fn recorded() -> App {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/tw07-session.pcap");
    let file = BufReader::new(File::open(path).unwrap());
    let mut playback = Playback::pcap(file).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut app = App::new(title(), Style::default());
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            app.push(&Arc::new(decoder.decode(event)));
        }
    }
    app
}

fn draw(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| view::draw(frame, app, Theme::default()))
        .unwrap();
    terminal.backend().to_string()
}

fn press(app: &mut App, code: KeyCode) {
    let key = KeyEvent::new(code, KeyModifiers::NONE);
    update(app, keymap::action(&key).unwrap());
}

#[test]
fn the_first_screen_of_a_recording_at_each_size() {
    for (width, height) in [(60, 16), (80, 24), (120, 40), (200, 60)] {
        let mut app = recorded();
        press(&mut app, KeyCode::Char('g'));
        insta::assert_snapshot!(format!("list-{width}x{height}"), draw(&mut app, width, height));
    }
}

#[test]
fn a_list_without_traffic_names_the_command_to_connect() {
    let mut app = App::new(title(), Style::default());
    app.log(Time(3_000), Level::Info, "the server answers 0.7");
    insta::assert_snapshot!("empty", draw(&mut app, 80, 8));
}

#[test]
fn the_newest_row_is_followed_until_another_one_is_selected() {
    let mut app = recorded();
    let rows = app.list.len();
    assert!(rows > 100 && app.list.follows());
    draw(&mut app, 80, 24);
    let places = |app: &App| app.list.visible().map(|(place, _)| place).collect::<Vec<_>>();
    assert_eq!(places(&app), (rows - 22..rows).collect::<Vec<_>>());

    press(&mut app, KeyCode::Char('k'));
    app.log(Time(1), Level::Warning, "one more row");
    draw(&mut app, 80, 24);
    assert_eq!(app.list.selected(), Some(rows - 2));
    assert_eq!(
        places(&app).last(),
        Some(&(rows - 1)),
        "the rows stay where they were"
    );

    press(&mut app, KeyCode::Char('g'));
    draw(&mut app, 80, 24);
    assert_eq!(places(&app), (0..22).collect::<Vec<_>>());
    press(&mut app, KeyCode::PageDown);
    assert_eq!(app.list.selected(), Some(21));
    press(&mut app, KeyCode::Char('G'));
    assert!(app.list.follows());
}

#[test]
fn a_gap_and_a_log_line_are_rows() {
    let mut app = App::new(title(), Style::default());
    app.gap(17);
    app.log(Time(2_500_000), Level::Warning, "port 8303 is taken");
    let screen = draw(&mut app, 80, 6);
    assert!(screen.contains("17 events missed"), "{screen}");
    assert!(
        screen.contains("2.500 -   teetap: port 8303 is taken"),
        "{screen}"
    );
}

#[test]
fn every_key_works_on_an_empty_list_and_on_terminals_too_small_for_a_row() {
    for mut app in [App::new(title(), Style::default()), recorded()] {
        for (_, action) in keymap::KEYS {
            update(&mut app, action);
            for (width, height) in [(20, 5), (20, 2), (1, 1), (200, 3)] {
                draw(&mut app, width, height);
            }
        }
        assert!(app.leaving);
    }
}

#[test]
fn the_history_is_bounded() {
    let mut app = App::new(title(), Style::default());
    let text = "x".repeat(1 << 20);
    for _ in 0..200 {
        app.log(Time(0), Level::Info, &text);
    }
    assert!((50..=64).contains(&app.list.len()), "{}", app.list.len());
}

//! A recorded session on a screen in memory, for the tests of all views.

use std::{
    fs::File,
    io::BufReader,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};
use teetap_capture::{Item, Playback};
use teetap_inspect::{DecodedEvent, Decoder, Style};
use teetap_wire::def::Registry;

use crate::{App, Title, keymap::KeyPress, update, view};

/// The sizes at which every view is drawn.
pub(super) const SIZES: [(u16, u16); 5] = [(20, 5), (60, 16), (80, 24), (120, 40), (200, 60)];

pub(super) fn title() -> Title {
    Title {
        target: "example.org".to_owned(),
        connect: "127.0.0.1:8303".to_owned(),
        start: UNIX_EPOCH + Duration::from_secs(1_790_000_000),
        recording: true,
        seed: Some(42),
    }
}

/// Returns the decoded events of a recording in `tests/captures`.
pub(super) fn events(name: &str) -> Vec<Arc<DecodedEvent>> {
    let path = format!("{}/../tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let file = BufReader::new(File::open(path).unwrap());
    let mut playback = Playback::pcap(file).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut events = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            events.push(Arc::new(decoder.decode(event)));
        }
    }
    events
}

/// Returns a screen with a recorded session of 0.7.
pub(crate) fn recorded() -> App {
    replayed("tw07-session")
}

/// Returns a screen without traffic.
pub(super) fn blank() -> App {
    App::new(title(), Style::default(), Registry::builtin())
}

/// Returns a screen with a recording.
pub(super) fn replayed(name: &str) -> App {
    let mut app = blank();
    for decoded in events(name) {
        app.push(&decoded);
        app.tick(decoded.event.at);
    }
    app
}

/// Returns the screen as text.
pub(super) fn draw(app: &mut App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, app)).unwrap();
    terminal.backend().to_string()
}

/// Presses keys by their names, separated by spaces.
pub(super) fn press(app: &mut App, keys: &str) {
    for name in keys.split_whitespace() {
        let key: KeyPress = name.parse().unwrap();
        let modifiers = if key.control().is_some() {
            KeyModifiers::CONTROL
        } else {
            KeyModifiers::NONE
        };
        update::key(app, &KeyEvent::new(key.code(), modifiers));
    }
}

/// Types text.
pub(super) fn type_text(app: &mut App, text: &str) {
    for char in text.chars() {
        update::key(app, &KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE));
    }
}

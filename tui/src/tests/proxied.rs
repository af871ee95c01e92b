//! A recording of the proxy itself, with rules and link lines: two sessions, resends, drops, an injected message.

use std::{fs::File, io::BufReader, sync::Arc};

use teetap_capture::{Item, Playback};
use teetap_inspect::{DecodedEvent, Decoder, Snapshots, Style};
use teetap_wire::def::Registry;

use super::feed::title;
use crate::App;

/// Returns the decoded events of the recording, and the newest snapshots after them.
pub(super) fn recording() -> (Vec<Arc<DecodedEvent>>, Snapshots) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/proxied.pcapng");
    let mut playback = Playback::pcapng(BufReader::new(File::open(path).unwrap()));
    let mut decoder = Decoder::new(Registry::builtin());
    let snapshots = Snapshots::default();
    decoder.measure_items();
    decoder.ignore_items();
    decoder.share_snapshots(snapshots.clone());
    let mut events = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            events.push(Arc::new(decoder.decode(event)));
        }
    }
    (events, snapshots)
}

/// Returns the decoded events of the recording.
pub(super) fn events() -> Vec<Arc<DecodedEvent>> {
    recording().0
}

/// Returns a screen with the first `count` events of the recording.
pub(super) fn with_events(count: usize) -> App {
    let mut app = App::new(title(), Style::default(), Registry::builtin());
    let (events, snapshots) = recording();
    if count > 0 {
        app.sessions.snapshot.shared = snapshots;
    }
    for decoded in events.into_iter().take(count) {
        app.push(&decoded);
        app.tick(decoded.event.at);
    }
    app
}

/// Returns a screen with the whole recording.
pub(super) fn app() -> App {
    with_events(usize::MAX)
}

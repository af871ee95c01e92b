//! A run as text.

use teetap_proxy::session::{Event, EventKind};

/// Formats an event as one line, to explain a failed run.
pub fn transcript(event: &Event) -> String {
    let session = event.session.map_or_else(String::new, |id| format!("#{}", id.0));
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .take(32)
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let what = match &event.what {
        EventKind::Datagram(datagram) => {
            let leg = datagram
                .leg
                .map_or_else(String::new, |leg| format!(" ({leg} leg)"));
            let received = datagram
                .received()
                .map_or_else(|| datagram.origin.to_string(), hex);
            let sent: Vec<String> = datagram.sent().map(hex).collect();
            let placed: Vec<String> = datagram
                .placed
                .iter()
                .map(|placed| placed.action.to_string())
                .collect();
            let notes: Vec<&str> = datagram.notes.iter().map(|note| note.code.name()).collect();
            format!(
                "{}{leg} {received} -> {sent:?} {placed:?} {notes:?}",
                datagram.dir
            )
        }
        other => format!("{other:?}"),
    };
    format!("{} {session} {what}", event.at)
}

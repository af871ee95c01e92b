//! One-line summaries of events, which are the comments of packets.

use teetap_inspect::{Decoder, row};
use teetap_proxy::io::Seen;
use teetap_wire::def::Registry;

use crate::Gist;

/// Returns a summary of each event through these definitions, with secrets hidden.
pub(crate) fn gist(registry: &'static Registry) -> Gist {
    let mut decoder = Decoder::new(registry);
    Box::new(move |seen| {
        match seen {
            Seen::Event(event) => return row::comment(event, &mut decoder),
            Seen::Gap(_) => decoder.gap(),
            Seen::Snapshots(snapshots) => decoder.on_snapshots(snapshots),
        }
        String::new()
    })
}

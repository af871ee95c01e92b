//! Arbitrary bytes as a capture file, which may be damaged or crafted to break its reader.

use std::io::Cursor;

use teetap_capture::{
    Format, Item, Playback, ReadError,
    scrub::{Capture, Keep, Scrubber},
};
use teetap_wire::def::Registry;

/// Summary of a file that was read to its end.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    /// Numbers of starts, events, logs and gaps.
    counts: [usize; 4],
    damaged: bool,
}

/// Reads and scrubs a file. The scrubbed file must be readable to its end.
pub fn recording(data: &[u8]) {
    let Some(played) = play(data) else { return };
    let Some(scrubbed) = scrub(data) else { return };
    let again = play(&scrubbed);
    let sound = again.as_ref().is_some_and(|again| !again.damaged);
    assert!(sound, "{played:?} became {again:?}");
    // A second scrubbing may classify damaged traffic differently, since part of it is now `*`; its output must be
    // readable as well.
    let twice = scrub(&scrubbed).and_then(|twice| play(&twice));
    assert!(
        twice.is_none_or(|twice| !twice.damaged),
        "damaged the second time"
    );
}

/// Reads all items of a file; `None` if it is not a capture.
fn play(data: &[u8]) -> Option<Played> {
    let mut input = Cursor::new(data);
    let mut playback = match Format::detect(&mut input).ok()? {
        Format::Pcap => Playback::pcap(input).ok()?,
        Format::PcapNg => Playback::pcapng(input),
        // The teetap program reads this format, since that takes message definitions.
        Format::JsonLines => return None,
    };
    let mut counts = [0; 4];
    let damaged = loop {
        match playback.read() {
            Ok(Some(item)) => {
                let kind = match item {
                    Item::Start { .. } => 0,
                    Item::Event(_) => 1,
                    Item::Log { .. } => 2,
                    Item::Gap { .. } => 3,
                };
                counts[kind] += 1;
            }
            Ok(None) => break false,
            Err(ReadError::Unknown(_)) if counts == [0; 4] => return None,
            Err(_) => break true,
        }
        // A packet has a header of 16 bytes and yields at most an event, a session state and a notice; the end of the file
        // yields one item per session.
        let items: usize = counts.iter().sum();
        assert!(
            items <= 16 + data.len() / 2,
            "{items} items of {} bytes",
            data.len()
        );
    };
    Some(Played { counts, damaged })
}

/// Scrubs a file; `None` if it is not a capture, or damaged before its first packet.
fn scrub(data: &[u8]) -> Option<Vec<u8>> {
    let mut input = Cursor::new(data);
    let capture = match Format::detect(&mut input).ok()? {
        Format::Pcap => Capture::pcap(input).ok()?,
        Format::PcapNg => Capture::pcapng(input),
        Format::JsonLines => return None,
    };
    let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
    let mut out = Vec::new();
    let done = capture.scrub(&mut scrubber, &mut out);
    let tally = scrubber.tally();
    assert!(tally.packets <= data.len() as u64, "{tally:?}");
    // The readable beginning of a damaged file is kept.
    (done.is_ok() || tally.packets > 0).then_some(out)
}

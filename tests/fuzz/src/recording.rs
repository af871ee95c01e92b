//! Any bytes as a recording of datagrams: a file that may be broken, or made to break its reader.

use std::io::Cursor;

use teetap_capture::{
    Format, Item, Playback, ReadError,
    scrub::{Capture, Keep, Scrubber},
};
use teetap_wire::def::Registry;

/// The contents of a file: items in their order, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    /// Of each kind: starts, events, logs, gaps.
    counts: [usize; 4],
    damaged: bool,
}

/// Reading of a file, and scrubbing it: what comes of that is a sound file without damage.
pub fn recording(data: &[u8]) {
    let Some(played) = play(data) else { return };
    let Some(scrubbed) = scrub(data) else { return };
    let again = play(&scrubbed);
    let sound = again.as_ref().is_some_and(|again| !again.damaged);
    assert!(sound, "{played:?} became {again:?}");
    // Of broken traffic something else may be guessed once half of it is `*`; what comes of that is sound too.
    let twice = scrub(&scrubbed).and_then(|twice| play(&twice));
    assert!(
        twice.is_none_or(|twice| !twice.damaged),
        "damaged the second time"
    );
}

/// `None`: not a capture.
fn play(data: &[u8]) -> Option<Played> {
    let mut input = Cursor::new(data);
    let mut playback = match Format::of(&mut input).ok()? {
        Format::Pcap => Playback::pcap(input).ok()?,
        Format::PcapNg => Playback::pcapng(input),
        // The program's, which reads it with the definitions.
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
        // A packet has 16 bytes before its own, and makes an event, a state of its session and a notice at most; an end makes
        // one for each session.
        let items: usize = counts.iter().sum();
        assert!(
            items <= 16 + data.len() / 2,
            "{items} items of {} bytes",
            data.len()
        );
    };
    Some(Played { counts, damaged })
}

/// `None`: nothing of it is of use.
fn scrub(data: &[u8]) -> Option<Vec<u8>> {
    let mut input = Cursor::new(data);
    let capture = match Format::of(&mut input).ok()? {
        Format::Pcap => Capture::pcap(input).ok()?,
        Format::PcapNg => Capture::pcapng(input),
        Format::JsonLines => return None,
    };
    let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
    let mut out = Vec::new();
    let done = capture.scrub(&mut scrubber, &mut out);
    let tally = scrubber.tally();
    assert!(tally.packets <= data.len() as u64, "{tally:?}");
    // A damaged file's good part is kept, if there is any.
    (done.is_ok() || tally.packets > 0).then_some(out)
}

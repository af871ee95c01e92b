//! Scrubs captures by teetap: reads their events and records them again.
//!
//! Law: the options of an event's first packet describe the event, as in the reader of such captures. Packets without
//! an event are omitted.

use std::sync::Arc;

use super::Scrubber;
use crate::{
    Encode as _, Encoder, Run,
    own::{MAX_PARTS, Own, OwnItem, OwnPacket},
};
use teetap_inspect::{Decoder, row};
use teetap_proxy::{io::Seen, session::EventKind};

/// A run that is recorded again.
pub(super) struct Again {
    encoder: Encoder,
    decoder: Decoder,
    /// Event that waits for the rest of its packets.
    open: Option<(Own<'static>, Vec<OwnPacket>)>,
}

impl Again {
    /// Appends the start of the run to `out`.
    pub(super) fn start(mut run: Run, scrubber: &mut Scrubber, out: &mut Vec<u8>) -> Self {
        scrubber.run(&mut run);
        let mut encoder = Encoder::new(run, row::comment);
        encoder.start(out);
        Self {
            encoder,
            decoder: scrubber.decoder(),
            open: None,
        }
    }

    /// Adds a packet. `own` begins an event.
    pub(super) fn packet(
        &mut self,
        own: Option<Own<'static>>,
        part: OwnPacket,
        scrubber: &mut Scrubber,
        out: &mut Vec<u8>,
    ) {
        if let Some(own) = own {
            self.begin(own, scrubber, out);
        }
        match &mut self.open {
            Some((_, parts)) if parts.len() < MAX_PARTS => parts.push(part),
            _ => scrubber.tally.unreadable += 1,
        }
        self.complete(scrubber, out);
    }

    /// Begins an event. If the previous event lacks packets, its run ended in the middle of it.
    pub(super) fn begin(&mut self, own: Own<'static>, scrubber: &mut Scrubber, out: &mut Vec<u8>) {
        self.finish(scrubber);
        self.open = Some((own, Vec::new()));
        self.complete(scrubber, out);
    }

    /// Ends the run.
    pub(super) fn finish(&mut self, scrubber: &mut Scrubber) {
        if let Some((_, parts)) = self.open.take() {
            scrubber.tally.unreadable += parts.len() as u64;
        }
    }

    fn complete(&mut self, scrubber: &mut Scrubber, out: &mut Vec<u8>) {
        let Some((own, parts)) = self.open.take_if(|(own, parts)| parts.len() >= own.packets()) else {
            return;
        };
        let at = own.at();
        let packets = parts.len() as u64;
        match own.join(parts) {
            Some(OwnItem::Event(event)) => {
                if matches!(event.what, EventKind::Notice(_)) {
                    // The notice is about an unknown sender, and has no address.
                    scrubber.tally.unreadable += packets;
                }
                let decoded = self.decoder.decode(scrubber.event(event));
                self.encoder.seen(&Seen::Event(Arc::new(decoded)), at, out);
            }
            Some(OwnItem::Log(level, text)) => {
                let text = scrubber.text(&text);
                self.encoder.log(at, level, &text, out);
            }
            Some(OwnItem::Gap(lost)) => {
                self.decoder.gap();
                self.encoder.seen(&Seen::Gap(lost), at, out);
            }
            None => scrubber.tally.unreadable += packets,
        }
    }
}

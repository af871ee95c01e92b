//! Removes secrets and addresses from events of recordings written by teetap.
//!
//! Law: every event is kept. The bytes of an unreadable datagram are replaced with `*`, because the event also contains
//! the actions on the datagram.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_wire::{Dir, Proto, Side};

use super::{PLACEHOLDER, Scrubber, sentence};
use crate::Run;
use teetap_proxy::session::{Connless, Datagram, Ends, Event, EventKind, MadeAt, Placed, SessionChange};

impl Scrubber {
    /// Replaces the addresses of a run.
    pub fn run(&mut self, run: &mut Run) {
        run.listen = self.socket(run.listen);
        run.server = self.socket(run.server);
        run.target = self.target(&run.target);
    }

    /// Returns the event with placeholders.
    #[must_use]
    pub fn event(&mut self, event: Event) -> Event {
        let what = match event.what {
            EventKind::Session(change) => EventKind::Session(self.change(change)),
            EventKind::Datagram(datagram) => EventKind::Datagram(self.whole(datagram)),
            EventKind::Connless(connless) => EventKind::Connless(self.browser(connless)),
            EventKind::Notice(mut notice) => {
                self.notice(&mut notice);
                EventKind::Notice(notice)
            }
            EventKind::Answer(mut answer) => {
                // The reason may name a rule, or contain a part of the command.
                answer.result = answer.result.map_err(|why| self.of_others(&why).into());
                // Held messages contain texts of peers.
                answer.held = None;
                EventKind::Answer(answer)
            }
        };
        Event { what, ..event }
    }

    fn change(&mut self, change: SessionChange) -> SessionChange {
        let SessionChange {
            state,
            proto,
            client,
            server,
            upstream,
            by,
            reason,
        } = change;
        SessionChange {
            state,
            proto,
            client: self.socket(client),
            upstream: upstream.map(|address| self.socket(address)),
            server: server.map(|address| self.socket(address)),
            by,
            reason: reason.map(|reason| self.reason(by, reason)),
        }
    }

    /// Returns the reason for the end of a session with placeholders. Without a side, the reason is from the proxy, a
    /// rule or the user.
    fn reason(&mut self, by: Option<Side>, mut reason: Box<[u8]>) -> Box<[u8]> {
        let text = String::from_utf8_lossy(&reason);
        if self.keep.text {
            let kept = self.of_others(&text);
            // Keeps bytes that are not text, too.
            return if kept == text {
                reason
            } else {
                kept.into_bytes().into()
            };
        }
        let is_own = by.is_none() && sentence::is_reason(self, &text);
        if !is_own {
            self.text_bytes(&mut reason);
        }
        reason
    }

    fn whole(&mut self, datagram: Datagram) -> Datagram {
        let Datagram {
            dir,
            proto,
            origin,
            ends,
            ..
        } = datagram;
        let ends = self.ends(ends);
        let received = datagram.received().map(|bytes| self.part(proto, dir, bytes));
        let sent: Vec<Vec<u8>> = datagram
            .sent()
            .map(|bytes| self.part(proto, dir, bytes))
            .collect();
        let mut new = Datagram::new(
            dir,
            proto,
            origin,
            received.as_deref().unwrap_or_default(),
            sent.iter().map(Vec::as_slice),
        );
        new.leg = datagram.leg;
        new.ordinal = datagram.ordinal;
        new.ends = ends;
        new.placed = datagram.placed.iter().map(|placed| self.placed(placed)).collect();
        new.made = datagram.made.iter().map(|made| self.made(made)).collect();
        new.notes = datagram.notes;
        new.link = datagram.link;
        new
    }

    /// Returns the fate of a chunk with placeholders for its marks, which are texts of rules.
    fn placed(&mut self, placed: &Placed) -> Placed {
        let marks = placed.marks.iter().map(|mark| self.of_rule(mark).into());
        Placed {
            marks: marks.collect(),
            ..placed.clone()
        }
    }

    /// Returns the record of a message of the proxy with a placeholder for the rule, whose name may be its text.
    fn made(&mut self, made: &MadeAt) -> MadeAt {
        MadeAt {
            rule: made.rule.as_ref().map(|rule| self.of_rule(rule).into()),
            ..made.clone()
        }
    }

    fn part(&mut self, proto: Proto, dir: Dir, bytes: &[u8]) -> Vec<u8> {
        self.tally.packets += 1;
        let mut out = Vec::with_capacity(bytes.len());
        if self.datagram(proto, dir, bytes, &mut out).is_err() {
            self.tally.blanked += 1;
            out.clear();
            out.resize(bytes.len(), PLACEHOLDER);
        }
        out
    }

    fn browser(&mut self, connless: Connless) -> Connless {
        let mut part = |bytes: &[u8]| -> Box<[u8]> {
            self.tally.packets += 1;
            let mut out = Vec::with_capacity(bytes.len());
            if self.connless(bytes, &mut out).is_err() {
                self.tally.blanked += 1;
                out.clear();
                out.resize(bytes.len(), PLACEHOLDER);
            }
            out.into()
        };
        let (bytes, sent) = (part(&connless.bytes), connless.sent.as_deref().map(&mut part));
        let placed = connless
            .placed
            .as_deref()
            .map(|placed| self.placed(placed).into());
        let made = connless.made.as_deref().map(|made| self.made(made).into());
        Connless {
            placed,
            made,
            client: self.socket(connless.client),
            ends: self.ends(connless.ends),
            bytes,
            sent,
            ..connless
        }
    }

    fn ends(&mut self, ends: Ends) -> Ends {
        Ends {
            client: ends.client.map(|address| self.socket(address)),
            local: ends.local.map(|address| self.socket(address)),
            ..ends
        }
    }

    /// Returns the placeholder of an address; the unspecified address if there are too many addresses.
    pub(super) fn socket(&mut self, address: SocketAddr) -> SocketAddr {
        self.addresses.socket(address).unwrap_or_else(|| {
            self.tally.crowded += 1;
            SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port())
        })
    }
}

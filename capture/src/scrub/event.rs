//! Events of recordings written by teetap, without secrets and addresses.
//!
//! Law: an event stays an event: a datagram that cannot be read becomes one of `*`, because the actions on it belong
//! to the event.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_wire::{Dir, Proto};

use super::{PLACEHOLDER, Scrubber};
use crate::Run;
use teetap_proxy::session::{Connless, Datagram, Ends, Event, Notice, SessionChange, What};

impl Scrubber {
    /// Replaces the addresses of a run.
    pub fn run(&mut self, run: &mut Run) {
        run.listen = self.socket(run.listen);
        run.server = self.socket(run.server);
        run.target = self.target(&run.target);
    }

    /// Returns the same event with placeholders.
    #[must_use]
    pub fn event(&mut self, event: Event) -> Event {
        let what = match event.what {
            What::Session(change) => What::Session(self.change(change)),
            What::Datagram(datagram) => What::Datagram(self.whole(datagram)),
            What::Connless(connless) => What::Connless(self.browser(connless)),
            What::Notice(notice) => What::Notice(self.notice(notice)),
            What::Answer(mut answer) => {
                answer.result = answer.result.map_err(|why| self.text(&why).into());
                // Held messages have the texts of peers.
                answer.held = None;
                What::Answer(answer)
            }
        };
        Event { what, ..event }
    }

    /// The same kind with placeholders for its addresses and texts, and without a datagram of unknown meaning.
    fn notice(&mut self, mut notice: Notice) -> Notice {
        match &mut notice {
            Notice::UnknownSender {
                client, start, bytes, ..
            } => {
                *client = self.socket(*client);
                *start = Box::default();
                *bytes = Box::default();
            }
            Notice::ProtocolRefused { client, .. } | Notice::OtherProtocol { client, .. } => {
                *client = self.socket(*client)
            }
            Notice::Guessed {
                client: one,
                server: other,
                ..
            }
            | Notice::Foreign {
                from: one, to: other, ..
            }
            | Notice::ListenerOpened {
                server: one,
                listen: other,
            } => {
                *one = self.socket(*one);
                *other = self.socket(*other);
            }
            Notice::UpstreamUnreachable { error: text }
            | Notice::UpstreamFailed { error: text }
            | Notice::RedirectPasses { why: text, .. }
            | Notice::Other { text, .. } => *text = self.text(text).into(),
            Notice::RulesSet { rules } => {
                for rule in rules {
                    *rule = self.text(rule).into();
                }
            }
            Notice::RuleFailed { rule, why }
            | Notice::RuleLog { rule, logged: why }
            | Notice::AssertionFailed { rule, why, .. } => {
                *rule = self.text(rule).into();
                *why = self.text(why).into();
            }
            Notice::Held { rule, .. } | Notice::ExitRequested { rule, .. } => *rule = self.text(rule).into(),
            Notice::InjectRefused { why } | Notice::ResyncRefused { why } => *why = self.text(why).into(),
            // The names of rules may stand in it.
            Notice::LoginStalled { why, .. } => *why = why.take().map(|why| self.text(&why).into()),
            Notice::UpstreamSilent { .. }
            | Notice::PeerSilent { .. }
            | Notice::Candidate
            | Notice::Restart
            | Notice::LegacyJoin
            | Notice::AcceptRepeated
            | Notice::Renumbered { .. }
            | Notice::Released { .. }
            | Notice::HoldFull { .. }
            | Notice::LinkFull { .. }
            | Notice::Hole
            | Notice::Resync
            | Notice::Resynced
            | Notice::EarlyClose
            | Notice::HalfOpenLimit
            | Notice::Suppressed { .. }
            | Notice::NewToken { .. }
            | Notice::Redirected { .. } => {}
        }
        notice
    }

    fn change(&mut self, change: SessionChange) -> SessionChange {
        let mut reason = change.reason;
        // Without a side it is the proxy's own.
        if let Some(reason) = reason.as_mut().filter(|_| change.by.is_some()) {
            self.reason(reason);
        }
        SessionChange {
            client: self.socket(change.client),
            upstream: change.upstream.map(|address| self.socket(address)),
            server: change.server.map(|address| self.socket(address)),
            reason,
            ..change
        }
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
        new.placed = datagram.placed;
        new.notes = datagram.notes;
        new
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
        Connless {
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

    /// Returns the placeholder of an address; of one too many, the unspecified address.
    fn socket(&mut self, address: SocketAddr) -> SocketAddr {
        self.addresses.socket(address).unwrap_or_else(|| {
            self.tally.crowded += 1;
            SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port())
        })
    }
}

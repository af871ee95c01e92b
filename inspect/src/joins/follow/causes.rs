//! The reasons why a join makes no progress.

use std::{collections::BTreeMap, time::Duration};

use teetap_proxy::session::{Datagram, Notice, Time};
use teetap_wire::{Seq, Side};

use super::{CONNECT_ACCEPT, DOWNLOAD, losses::Losses};
use crate::joins::{
    Delayed,
    fate::{self, Why},
};

/// Facts about messages that had no effect, were delayed or were lost.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// Steps whose message is held: the names of the rules, and the time at which they held it.
    held: BTreeMap<(&'static str, Side), (String, Time)>,
    /// Delay of the current datagram by link lines.
    link_delay: Option<Duration>,
    /// A message without effect, and the reason: the last one, or the last one about the awaited message.
    pub(super) misstep: Option<(&'static str, Why)>,
    /// The datagrams lost by link lines.
    pub(super) lost: Option<Losses>,
    /// The cause named by a notice.
    pub(super) known: Option<String>,
    /// The ack of the last CONNECT, unless it is 0.
    connect_ack: Option<Seq>,
}

impl Causes {
    /// Records the cause that a notice of the session names, if any.
    pub(super) fn notice(&mut self, notice: &Notice) {
        self.known = match notice {
            Notice::OtherProtocol {
                client_speaks,
                server_speaks,
                ..
            } => Some(format!(
                "the client speaks {client_speaks}, and the server only {server_speaks}"
            )),
            Notice::UpstreamUnreachable { .. } | Notice::UpstreamFailed { .. } => Some(notice.to_string()),
            _ => return,
        };
    }

    /// Records the delay or the loss of a datagram by link lines.
    pub(super) fn link(&mut self, at: Time, datagram: &Datagram) {
        self.link_delay = fate::delay(datagram);
        if fate::lost(datagram).is_some() {
            let first = Losses::begin(datagram.dir, datagram.ordinal, at);
            let lost = self.lost.get_or_insert(first);
            lost.count = lost.count.saturating_add(1);
        }
    }

    /// Records the ack of a CONNECT.
    pub(super) fn connect(&mut self, ack: Option<Seq>) {
        self.connect_ack = ack.filter(|ack| *ack != Seq::ZERO);
    }

    /// Records that a rule holds a message of the join, or that the message was dropped or had no effect.
    pub(super) fn held(&mut self, at: Time, name: &'static str, sender: Side, why: &Why) {
        match why {
            Why::Held(rules) => {
                self.held
                    .entry((name, sender))
                    .or_insert_with(|| (rules.clone(), at));
            }
            _ => _ = self.held.remove(&(name, sender)),
        }
    }

    /// Records why a message had no effect. A reason about the awaited message is not replaced by a reason about another
    /// message.
    pub(super) fn missed(&mut self, awaited: Option<&str>, name: &'static str, why: Why) {
        let is_kept = self
            .misstep
            .as_ref()
            .is_some_and(|(known, _)| Some(*known) == awaited);
        if !is_kept || Some(name) == awaited {
            self.misstep = Some((name, why));
        }
    }

    /// Forgets why a message with this name had no effect, since another one had.
    pub(super) fn counted(&mut self, name: &str) {
        self.misstep = self.misstep.take().filter(|(of, _)| *of != name);
    }

    /// Returns the delay of a step by rules or by link lines, whichever is longer.
    pub(super) fn delay(&mut self, at: Time, name: &'static str, from: Side) -> Option<Delayed> {
        let held = self.held.remove(&(name, from));
        let held = held.map(|(rules, since)| Delayed {
            rules: Some(rules),
            time: at.since(since),
        });
        let link = self.link_delay.filter(|_| name != DOWNLOAD);
        let link = link.map(|time| Delayed { rules: None, time });
        held.into_iter().chain(link).max_by_key(|delayed| delayed.time)
    }

    /// Returns the reason why a message with this name had no effect.
    pub(super) fn misstep_of(&self, name: &str) -> Option<&Why> {
        let (of, why) = self.misstep.as_ref()?;
        (*of == name).then_some(why)
    }

    /// Returns the reason why a server did not answer a CONNECT with an ack other than 0.
    pub(super) fn ack_of_connect(&self, name: &str) -> Option<String> {
        let ack = self.connect_ack.filter(|_| name == CONNECT_ACCEPT)?;
        Some(format!(
            "the ack of connect is {ack}: Teeworlds 0.6.4 and 0.7.5 drop one that is not 0"
        ))
    }
}

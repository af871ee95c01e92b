//! The reasons why a join makes no progress.

use std::{collections::BTreeMap, time::Duration};

use teetap_proxy::session::{Datagram, Notice, Time};
use teetap_wire::{Seq, Side};

use super::{CONNECT_ACCEPT, DOWNLOAD, losses::Losses};
use crate::joins::{
    Delayed,
    fate::{self, LossReason},
};

/// Facts about messages that had no effect, were delayed or were lost.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// Steps whose message is held, with the names of the rules and the time at which the rules held it.
    held: BTreeMap<(&'static str, Side), (String, Time)>,
    /// Delay of the current datagram by link lines.
    link_delay: Option<Duration>,
    /// The last message that had no effect, and the reason. The awaited message takes precedence over later other
    /// messages.
    pub(super) misstep: Option<(&'static str, LossReason)>,
    /// The datagrams lost by link lines.
    pub(super) lost: Option<Losses>,
    /// The last message of the join that its receiver got changed, and the names of the rules that changed it; empty if
    /// the link did.
    pub(super) changed: Option<(&'static str, String)>,
    /// The cause stated by a notice of the proxy, such as an unreachable server.
    pub(super) known: Option<String>,
    /// The ack in the last CONNECT; `None` if the ack is 0, as required.
    connect_ack: Option<Seq>,
}

impl Causes {
    /// Records a notice of the session if it states a cause.
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

    /// Records that a rule holds a message of the join. For any other reason, records that the message is no longer
    /// held.
    pub(super) fn held(&mut self, at: Time, name: &'static str, sender: Side, why: &LossReason) {
        match why {
            LossReason::Held(rules) => {
                self.held
                    .entry((name, sender))
                    .or_insert_with(|| (rules.clone(), at));
            }
            _ => _ = self.held.remove(&(name, sender)),
        }
    }

    /// Records that the receiver got a message of the join. `rules` are the names of the rules that changed it, empty if
    /// the link did; `None` if it was not changed.
    pub(super) fn arrived(&mut self, name: &'static str, rules: Option<String>) {
        match rules {
            Some(rules) => self.changed = Some((name, rules)),
            // The parts of a map are one message to the client.
            None if name == DOWNLOAD => {}
            None => self.changed = None,
        }
    }

    /// Describes the change of the last message of the join; `None` if it was not changed.
    pub(super) fn change(&self) -> Option<String> {
        let (name, rules) = self.changed.as_ref()?;
        let by = if rules.is_empty() { "the link" } else { rules };
        Some(format!("{name} was changed on the way ({by})"))
    }

    /// Records why a message had no effect. The reason for the awaited message is never replaced by the reason for
    /// another message.
    pub(super) fn missed(&mut self, awaited: Option<&str>, name: &'static str, why: LossReason) {
        let is_kept = self
            .misstep
            .as_ref()
            .is_some_and(|(known, _)| Some(*known) == awaited);
        if !is_kept || Some(name) == awaited {
            self.misstep = Some((name, why));
        }
    }

    /// Forgets why the message `name` had no effect, because a later copy was accepted.
    pub(super) fn counted(&mut self, name: &str) {
        self.misstep = self.misstep.take().filter(|(of, _)| *of != name);
    }

    /// Returns the longer of the delays of a step by rules and by link lines; `None` if the step was not delayed.
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

    /// Returns the reason why the message `name` had no effect; `None` if no such reason is recorded.
    pub(super) fn misstep_of(&self, name: &str) -> Option<&LossReason> {
        let (of, why) = self.misstep.as_ref()?;
        (*of == name).then_some(why)
    }

    /// Describes the nonzero ack of the last CONNECT, because some servers drop such a CONNECT. `None` unless `name` is
    /// CONNECT_ACCEPT.
    pub(super) fn ack_of_connect(&self, name: &str) -> Option<String> {
        let ack = self.connect_ack.filter(|_| name == CONNECT_ACCEPT)?;
        Some(format!(
            "the ack of connect is {ack}: Teeworlds 0.6.4 and 0.7.5 drop a connect whose ack is not 0"
        ))
    }
}

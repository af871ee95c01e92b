//! The message that a join waits for, and the reasons why the message is missing.

use teetap_proxy::session::Time;
use teetap_wire::{Side, counted, receiver::JoinStep};

use super::{CONNECT, CONNECT_ACCEPT, DOWNLOAD, JoinProgress, REQUEST, download::Download};

impl JoinProgress {
    pub(super) fn awaited_step(&self) -> Option<&JoinStep> {
        let mut due = self.steps.iter().skip(self.next);
        due.find(|step| step.is_needed)
    }

    /// Returns the next required message if `from` is its sender; `None` otherwise.
    pub(in crate::joins) fn awaits(&self, from: Side) -> Option<&'static str> {
        let step = self.awaited_step().filter(|step| step.from == from);
        step.map(|step| step.name)
    }

    /// Returns the awaited message and its sender; `None` after the last message of the join.
    pub(super) fn awaited(&self) -> Option<(&'static str, Side)> {
        if let Some(step) = self.skipped() {
            return Some((step.name, step.from));
        }
        if let Some(last) = &self.delivery.last
            && last.name == REQUEST
            && self.map.download.is_none()
        {
            return Some((DOWNLOAD, Side::Server));
        }
        let of_map = self.map.download.as_ref().filter(|_| self.awaits_ready());
        of_map
            .and_then(Download::awaits)
            .or_else(|| self.awaited_step().map(|step| (step.name, step.from)))
    }

    /// Returns true if the server has accepted the client's CONNECT. A session may be online without a recorded
    /// CONNECT_ACCEPT.
    pub(super) fn is_accepted(&self) -> bool {
        self.is_online || self.passed.iter().any(|passed| passed.name == CONNECT_ACCEPT)
    }

    /// Returns the step CONNECT_ACCEPT if the client has continued although the server did not send it.
    fn skipped(&self) -> Option<&JoinStep> {
        let mut steps = self.steps.iter().take(self.next).filter(|_| !self.is_accepted());
        steps.find(|step| step.name == CONNECT_ACCEPT)
    }

    /// Returns the last message of the join, and whether it was acked (`None` for a message that is not vital).
    pub(super) fn after(&self) -> (Option<&'static str>, Option<bool>) {
        if self.skipped().is_some() {
            let has_come = self.passed.iter().any(|passed| passed.name == CONNECT);
            return (has_come.then_some(CONNECT), None);
        }
        let Some(last) = &self.delivery.last else {
            return (None, None);
        };
        (Some(last.name), last.seq.map(|_| last.acked.is_some()))
    }

    /// Returns true if the proxy is the reason why the message `name` is missing: a rule or a link line dropped, held,
    /// delayed or changed it or an earlier message.
    pub(super) fn is_kept(&self, at: Time, name: &str) -> bool {
        let causes = &self.causes;
        match causes.misstep_of(name) {
            Some(why) => why.is_of_proxy(),
            None => {
                causes.known.is_none()
                    && !self.is_anew()
                    && (causes.lost.is_some() || causes.changed.is_some() || self.late(at).is_some())
            }
        }
    }

    /// Returns true if the next required message is `ready`, which the client sends after it has loaded the map.
    pub(super) fn awaits_ready(&self) -> bool {
        self.awaited_step().is_some_and(|step| step.name == "ready")
    }

    /// Returns true if `name` is a message of the map download and the join waits for the end of the download.
    pub(super) fn is_of_download(&self, name: &str) -> bool {
        [DOWNLOAD, REQUEST].contains(&name) && self.awaits_ready()
    }

    /// Returns true if the client has restarted the map download.
    fn is_anew(&self) -> bool {
        self.map.download.as_ref().is_some_and(Download::is_anew)
    }

    /// Returns the reason why the message `name` was not sent; `None` if unknown. A message that was sent without
    /// effect is a misstep instead.
    pub(super) fn cause_of(&self, at: Time, name: &str) -> Option<String> {
        let anew = "the client has restarted the map download with part 0";
        let anew = (self.is_anew() && [DOWNLOAD, REQUEST].contains(&name)).then(|| anew.to_owned());
        let fault = self.map.fault.filter(|_| name == "ready");
        let fault = fault.map(|fault| fault.text().to_owned());
        let lost = self
            .causes
            .lost
            .filter(|_| self.causes.misstep_of(name).is_none());
        let lost = lost.map(|lost| lost.to_string());
        let changed = self
            .causes
            .change()
            .filter(|_| self.causes.misstep_of(name).is_none());
        self.causes
            .known
            .clone()
            .or(fault)
            .or(anew)
            .or(changed)
            .or(lost)
            .or_else(|| self.late(at))
            .or_else(|| self.causes.ack_of_connect(name))
    }

    /// Describes the delay of the last step by link lines; `None` if the delay is less than half of the time since
    /// then.
    fn late(&self, at: Time) -> Option<String> {
        let step = self.passed.last()?;
        let delayed = step.delayed.as_ref().filter(|delayed| delayed.rules.is_none())?;
        (delayed.time * 2 >= at.since(step.at)).then(|| format!("{} was {delayed}", step.name))
    }

    /// Describes the progress of the map download; `None` if `name` is not a message of a download in progress.
    pub(super) fn parts(&self, name: &str) -> Option<String> {
        let map = self.map.download.as_ref().filter(|_| self.is_of_download(name))?;
        let (come, all) = map.progress();
        Some(format!(
            "the client has {come} of {} of the map",
            counted(all, "part")
        ))
    }
}

//! Requests to the proxy, and the effects of their answers.

use teetap_inspect::control::{Command, RuleCommand};
use teetap_proxy::session::Time;

use super::{App, Overlay, Pane, View, form::Target, repeat::Repeat};
use crate::request::{NoProxy, Reply, Request, RequestError};

/// Requests to the proxy.
#[derive(Debug, Default)]
pub(crate) struct ProxyRequests {
    /// True if a proxy carries out requests.
    pub(crate) is_live: bool,
    /// Message that is sent repeatedly.
    pub(crate) repeat: Option<Repeat>,
    /// Requests that were not carried out yet.
    requests: Vec<Request>,
    /// Second of the run in which the rules were last requested; `None` if they may have changed since.
    asked_rules: Option<u64>,
}

impl ProxyRequests {
    /// Requests the rules if they may have changed, and every second while they are shown.
    fn ask_rules(&mut self, second: u64, are_shown: bool) {
        let is_due = match self.asked_rules {
            None => true,
            Some(last) => are_shown && last != second,
        };
        if is_due {
            self.asked_rules = Some(second);
            self.requests.push(Command::Rules { change: None }.into());
        }
    }

    /// Queues the message that is sent repeatedly if it is due.
    pub(super) fn tick(&mut self, now: Time) {
        let due = self.repeat.as_mut().and_then(|repeat| repeat.due(now));
        self.requests.extend(due);
    }
}

impl App {
    /// Records that a proxy carries out requests.
    pub fn set_live(&mut self) {
        self.orders.is_live = true;
    }

    /// Returns the queued requests and removes them from the queue.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.orders.requests)
    }

    /// Requests state that may have changed: the held messages after a notice, and the rules every second while they
    /// are shown.
    pub(super) fn refresh(&mut self) {
        if !self.orders.is_live {
            return;
        }
        if std::mem::take(&mut self.queue.is_stale) {
            self.orders.requests.push(Command::Held { session: None }.into());
        }
        // The countdown of held messages changes.
        self.terminal.changed |= !self.queue.list.is_empty();
        self.orders
            .ask_rules(self.run.second(), self.panes.view == View::Rules);
    }

    /// Queues a request to the proxy.
    ///
    /// # Errors
    /// There is no proxy: the screen shows a recording.
    pub(crate) fn ask(&mut self, request: impl Into<Request>) -> Result<(), NoProxy> {
        let request = request.into();
        if !self.orders.is_live {
            let is_file = request.commands().is_empty();
            if self.timeline.is_none() || !is_file {
                return Err(NoProxy);
            }
        }
        self.orders.requests.push(request);
        Ok(())
    }

    /// Checks whether the message of the form is still held. Keeps the user's input in any case.
    fn look_at_form(&mut self) {
        let Some(Overlay::Form(form)) = &mut self.dialog.overlay else {
            return;
        };
        if let Target::Edit(held) = &form.target
            && !form.is_late
            && self.queue.now(held).is_none()
        {
            form.is_late = true;
        }
    }

    /// Handles the answer to a request, or the reason why it was refused.
    pub fn answer(&mut self, request: &Request, result: Result<Reply, RequestError>) {
        self.terminal.changed = true;
        let is_repeated = self
            .orders
            .repeat
            .as_ref()
            .is_some_and(|repeat| repeat.is_of(request));
        let is_of_form = matches!(request, Request::Run(Command::Edit(_) | Command::Inject(_)));
        let form = self.dialog.sent.take_if(|_| is_of_form);
        let switches_off = request.commands().iter().any(|command| {
            matches!(
                command,
                Command::Rules {
                    change: Some(RuleCommand::Off { .. })
                }
            )
        });
        if result.is_err() && switches_off {
            self.rules.silenced.clear();
        }
        match result {
            Err(why) if is_repeated => {
                self.orders.repeat = None;
                self.dialog
                    .refuse(&format!("{why}; the message is not sent again"));
            }
            Err(why) => {
                self.dialog.refuse(&why);
                if let Some(form) = form {
                    self.dialog.reopen(form);
                }
            }
            // The first line of the screen shows their number.
            Ok(Reply::Done(_)) if is_repeated => {}
            Ok(Reply::Done(text)) if text.is_empty() => {}
            Ok(Reply::Done(text)) => self.dialog.say(text),
            Ok(Reply::Rules(list)) => self.rules.set(list, self.registry),
            Ok(Reply::Held(list)) => {
                self.queue.set(list, self.registry, self.look.style.secrets);
                self.look_at_form();
                if self.queue.list.is_empty() && self.panes.focus == Pane::Queue {
                    self.panes.focus = Pane::List;
                }
            }
        }
        for command in request.commands() {
            match command {
                Command::Rules { change: Some(_) } => self.orders.asked_rules = None,
                Command::Release(_) | Command::Drop(_) | Command::Edit(_) => self.queue.is_stale = true,
                _ => {}
            }
        }
    }
}

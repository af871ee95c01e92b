//! The answers of a proxy to the requests of a walk.

use teetap_inspect::jsonl::RuleBody;
use teetap_proxy::session::{HeldMessage, Time};

use super::{Walk, texts};
use crate::{
    request::{Reply, Request, RequestError},
    tests::live::{held_message, rule},
};

impl Walk {
    /// Answers the requests as a proxy may: at random.
    pub(super) fn answer(&mut self) {
        for request in self.app.take_requests() {
            self.requests += 1;
            let text = match &request {
                Request::Save { path, events } => {
                    let times: Vec<u64> = events.iter().map(|event| event.event.at.0).collect();
                    format!("Save {path} {times:?}")
                }
                other => format!("{other:?}"),
            };
            self.note("request", &text);
            let is_rules = text.contains("Rules { change: None }");
            let result = match self.below(8) {
                0 => Err(RequestError::Refused("no session is online".into())),
                1 => Ok(Reply::Done("done by the proxy".to_owned())),
                _ if is_rules => Ok(Reply::Rules(self.rules())),
                _ if text.contains("Held {") => Ok(Reply::Held(self.held())),
                _ => Ok(Reply::Done(String::new())),
            };
            self.app.answer(&request, result);
        }
    }

    /// Returns a random list of rules, some of which are switched off.
    fn rules(&mut self) -> Vec<RuleBody> {
        let mut list = Vec::new();
        for (at, text) in texts::RULES.iter().enumerate() {
            if self.random.chance(0.4) {
                let name = format!("rule {at}");
                let is_on = self.random.chance(0.8);
                list.push(rule(&name, text, is_on));
            }
        }
        if self.random.chance(0.5) {
            list.push(rule("intercept", "pause when cl_say", true));
        }
        list
    }

    fn held(&mut self) -> Vec<HeldMessage> {
        let mut list = Vec::new();
        for id in 1..5 {
            if self.random.chance(0.5) {
                let mut held = held_message(id, &format!("cl_say{{mode: all, message: \"{id}\"}}"));
                held.vital = id != 2;
                held.edited = id == 3;
                held.until = (id != 4).then_some(Time(self.app.now().0 + u64::from(id) * 1_500_000));
                list.push(held);
            }
        }
        list
    }
}

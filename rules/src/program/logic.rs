//! A program as seen by the session core.

use std::any::Any;
use std::sync::Arc;

use teetap_wire::Proto;

use super::Logic;
use super::compile::Rules;
use super::interest::Interest;
use super::shared::{Hits, RuleReport, Shared, Test};
use super::state::State;
use crate::impair::Links;
use crate::opening::Opening;
use crate::program::Decide;
use crate::span::Span;
use crate::syntax::Action;
use crate::verdict::RuleId;

impl Logic for Rules {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn open(self: Arc<Self>, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        let before: Option<Box<dyn Any>> = before.map(|before| before as Box<dyn Any>);
        let before = before.and_then(|before| before.downcast::<State>().ok());
        Box::new(State::open(self, session, before))
    }

    fn needs_session(&self, requested: Proto, answered: Proto, shared: &Shared) -> Option<RuleId> {
        let rules = (0..).map(RuleId).zip(&self.rules);
        let mut rules = rules.filter(|(id, rule)| {
            let greeting = &rule.greeting;
            let is_simple = greeting.is_simple && !self.expects;
            !is_simple && greeting.may_change(requested, answered) && shared.is_enabled(*id)
        });
        rules.next().map(|(id, _)| id)
    }

    fn share(&self, before: Shared) -> Shared {
        let rules = self.rules.iter().map(|rule| &*rule.label.identity);
        Shared::new(rules, self.links.identities(), before)
    }

    fn links(&self) -> Option<&Links> {
        Some(&self.links).filter(|links| !links.is_empty())
    }

    fn seed(&self) -> Option<u64> {
        self.seed
    }

    fn place_of_line(&self, line: u16) -> Span {
        let place = self.line_places.get(usize::from(line));
        place.copied().unwrap_or_default()
    }

    fn rules(&self) -> Vec<RuleReport> {
        let reports = (0..).zip(&self.rules).map(|(id, rule)| RuleReport {
            id: RuleId(id),
            place: rule.label.span,
            name: rule.label.name.clone(),
            text: rule.label.text.clone(),
            is_enabled: true,
            hits: Hits::default(),
            test: test(&rule.actions.written),
        });
        reports.collect()
    }

    fn rule(&self, id: RuleId) -> Option<&str> {
        self.rules
            .get(usize::from(id.0))
            .map(|rule| &*rule.label.identity)
    }
}

/// Returns the test of the run for a rule with these actions; `None` without `fail` and `expect`.
fn test(actions: &[Action]) -> Option<Test> {
    let fails = actions.iter().any(|action| matches!(action, Action::Fail(_)));
    let expects = actions
        .iter()
        .any(|action| matches!(action, Action::Expect { .. }));
    (fails || expects).then_some(Test {
        waits: !fails,
        failure: None,
    })
}

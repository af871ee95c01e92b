//! Which message or rule ends the run.
//!
//! Law: the first cause counts, except that a rule overrides a message that `--until` waited for.

use std::{borrow::Cow, sync::Arc};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_rules::context::MessageView;

use super::Decoder;
use crate::{Ending, EndingBy};

/// The first message or rule that ends the run, once known.
#[derive(Default)]
pub(super) struct FirstEnding {
    /// True if rules may end the run.
    by_rules: bool,
    ending: Option<Arc<Ending>>,
}

impl FirstEnding {
    /// Records the first message that matches a filter which ends the run. `by` is that filter; `None` if no filter
    /// matches.
    pub(super) fn on_match<'a>(
        &mut self,
        by: Option<&EndingBy>,
        view: &MessageView<'_>,
        label: impl FnOnce() -> Cow<'a, str>,
    ) {
        if let (Some(by), None) = (by, &self.ending) {
            self.ending = Some(Arc::new(Ending {
                by: by.clone(),
                at: Time(view.at),
                session: view.session.map(SessionId),
                message: Some((view.dir, label().into_owned())),
            }));
        }
    }

    fn on_notice(&mut self, event: &Event) {
        let may_end = match &self.ending {
            None => true,
            Some(ending) => ending.by == EndingBy::Until,
        };
        if self.by_rules
            && may_end
            && let Some(ending) = Ending::of_rule(event)
        {
            self.ending = Some(Arc::new(ending));
        }
    }
}

impl Decoder {
    /// Lets notices of rules end the run. By default, and for recordings, such notices have no effect.
    pub fn end_by_rules(&mut self) {
        self.end.by_rules = true;
    }

    /// Records a notice that may end the run.
    pub(crate) fn on_notice(&mut self, event: &Event) {
        self.end.on_notice(event);
    }

    /// Returns the message or rule that ends the run; `None` if the run continues.
    #[must_use]
    pub(crate) const fn ending(&self) -> Option<&Arc<Ending>> {
        self.end.ending.as_ref()
    }
}

//! The message or rule that ends the run.
//!
//! Law: the first one counts, except that a rule overrides a message that `--until` waited for.

use std::{borrow::Cow, sync::Arc};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_rules::context::MessageView;

use super::Decoder;
use crate::{Ending, EndingBy};

/// The cause of the end of the run, once known.
#[derive(Default)]
pub(super) struct FirstEnding {
    /// True if rules may end the run.
    by_rules: bool,
    ending: Option<Arc<Ending>>,
}

impl FirstEnding {
    /// Records the message that matched a filter first. `by` is `None` if none has matched.
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
    /// Lets rules end the run. By default, as in recordings, their notices have no effect.
    pub fn end_by_rules(&mut self) {
        self.end.by_rules = true;
    }

    /// Records the notice of a rule that ends the run. A rule overrides a message that was waited for.
    pub(crate) fn on_notice(&mut self, event: &Event) {
        self.end.on_notice(event);
    }

    /// Returns the cause of the end of the run; `None` while it goes on.
    #[must_use]
    pub const fn ending(&self) -> Option<&Arc<Ending>> {
        self.end.ending.as_ref()
    }
}

//! The message or the rule that ends the run.
//!
//! Law: the first one counts, but a rule more than a message that was waited for.

use std::{borrow::Cow, sync::Arc};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_rules::context::MessageView;

use super::Decoder;
use crate::{Ending, EndingBy};

/// The cause of the end of the run, once there is one.
#[derive(Default)]
pub(super) struct FirstEnding {
    /// Rules end the run.
    by_rules: bool,
    ending: Option<Arc<Ending>>,
}

impl FirstEnding {
    /// Takes the expression that has matched first, with the message that may be the one, and the name of that.
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
    /// Lets rules end the run. Without it, as in recordings, their notices are as any other.
    pub fn end_by_rules(&mut self) {
        self.end.by_rules = true;
    }

    /// Takes a notice of a rule that ends the run. It counts more than a message that was waited for.
    pub(crate) fn on_notice(&mut self, event: &Event) {
        self.end.on_notice(event);
    }

    /// Returns the cause of the end of the run, once there is one.
    #[must_use]
    pub const fn ending(&self) -> Option<&Arc<Ending>> {
        self.end.ending.as_ref()
    }
}

//! The guided tour of the demo: several steps, each with a screen and sentences, which cause a fault and show its
//! effect.

use super::View;
use crate::{action::ACTIONS, keymap::Keymap};

/// Name of the tour's rule.
pub(crate) const RULE: &str = "tour";

/// Rule that causes the fault.
pub(crate) const FAULT: &str = "tour: lose when s2c and sv_chat";

/// A step: the state of the screen, and sentences about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TourStep {
    /// Title of the step.
    pub(crate) title: &'static str,
    /// Sentences in short lines; `{NAME}` is replaced by the key of an action.
    pub(crate) text: &'static [&'static str],
    /// View that is shown.
    pub(crate) view: View,
    /// Filter of the message list.
    pub(crate) filter: &'static str,
    /// True if the selected message is open.
    pub(crate) is_open: bool,
    /// True if the tour's rule is set.
    pub(crate) has_rule: bool,
}

/// Steps in order.
pub(crate) const STEPS: &[TourStep] = &[
    TourStep {
        title: "messages",
        text: &[
            "Two bots play, and what they send passes this proxy.",
            "A row is a message: time, session, direction, V for",
            "vital, number, name and summary. Inputs and snapshots",
            "are folded into one line for each type.",
        ],
        view: View::Messages,
        filter: "",
        is_open: false,
        has_rule: false,
    },
    TourStep {
        title: "a filter",
        text: &[
            "The filter sv_chat lists the chat of the server only.",
            "{filter} changes it, {filter-on-off} switches it off. A filter can ask",
            "for fields, too: sv_chat.message contains \"line\"",
        ],
        view: View::Messages,
        filter: "sv_chat",
        is_open: false,
        has_rule: false,
    },
    TourStep {
        title: "a message",
        text: &[
            "The selected message is open: its fields, and its bytes.",
            "{next-pane} goes to the next pane; a field shows its bytes.",
            "{up} and {down} select another message.",
        ],
        view: View::Messages,
        filter: "sv_chat",
        is_open: true,
        has_rule: false,
    },
    TourStep {
        title: "a fault is made",
        text: &[
            "A rule now loses each chat message once:",
            "  lose when s2c and sv_chat",
            "Rows that it hits end with L. The server gets no ack,",
            "and sends the message again: its row has R.",
        ],
        view: View::Messages,
        filter: "sv_chat",
        is_open: false,
        has_rule: true,
    },
    TourStep {
        title: "the fault is seen",
        text: &[
            "The ladder: the client's leg, the proxy, the server's",
            "leg. The selected datagram brings a lost message again:",
            "R, its number, and the time of the first. {original} goes to that",
            "one, where the rule and its name are in the middle.",
        ],
        view: View::Ladder,
        filter: "sv_chat",
        is_open: false,
        has_rule: true,
    },
    TourStep {
        title: "the rule",
        text: &[
            "The rules, with the messages that each has hit.",
            "{toggle-rule} switches one on or off, {add-rule} adds one. The sliders",
            "below give the link delay and loss.",
        ],
        view: View::Rules,
        filter: "sv_chat",
        is_open: false,
        has_rule: true,
    },
    TourStep {
        title: "your turn",
        text: &[
            "The rule is removed. {rule-from-row} makes one from a row, {intercept}",
            "pauses messages, {inject} sends one more, {edit} edits a held one.",
            "{help} lists the keys of each pane. Your own server:",
            "teetap --tui HOST",
        ],
        view: View::Messages,
        filter: "",
        is_open: false,
        has_rule: false,
    },
];

/// State of the tour.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tour {
    /// Index of the step.
    pub(crate) step: usize,
    /// True if the rule was added.
    pub(crate) has_rule: bool,
    /// True if the sentences were drawn, so that the user knows their keys.
    pub(crate) is_shown: bool,
}

impl Tour {
    /// Returns the current step.
    #[must_use]
    pub(crate) fn now(&self) -> Option<&'static TourStep> {
        STEPS.get(self.step)
    }
}

/// Replaces the names of actions in a line by their keys.
#[must_use]
pub(crate) fn with_keys(line: &str, keymap: &Keymap) -> String {
    ACTIONS.iter().fold(line.to_owned(), |line, entry| {
        let name = format!("{{{}}}", entry.name);
        line.replace(&name, &keymap.hint(entry.action))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_fit_a_small_screen_and_name_keys_that_exist() {
        let keymap = Keymap::default();
        for step in STEPS {
            assert!((1..=4).contains(&step.text.len()), "{}", step.title);
            for line in step.text {
                let line = with_keys(line, &keymap);
                assert!(line.chars().count() <= 57 && !line.contains(['{', '}']), "{line}");
            }
        }
        let faults = STEPS.iter().filter(|step| step.has_rule);
        assert!(faults.count() >= 2 && STEPS.last().is_some_and(|step| !step.has_rule));
    }
}

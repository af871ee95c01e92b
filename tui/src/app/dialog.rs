//! The dialog with the user: key bindings, prompts, menus and forms, and the reply to the last key.

use std::fmt;

use teetap_inspect::control::HeldPlace;
use teetap_proxy::session::Level;

use super::{
    form::MessageForm,
    help::Help,
    menu::Menu,
    prompt::{Histories, Prompt},
};
use crate::keymap::Keymap;

/// A part of the screen that is drawn over the view and receives all keys.
#[derive(Clone, Debug)]
pub(crate) enum Overlay {
    /// The help.
    Help(Help),
    /// A prompt.
    Prompt(Prompt),
    /// A menu.
    Menu(Menu),
    /// A form.
    Form(MessageForm),
}

/// The dialog with the user.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    /// Key bindings.
    pub(crate) keymap: Keymap,
    /// Part that is drawn over the view.
    pub(crate) overlay: Option<Overlay>,
    /// Lines that were entered.
    pub(crate) histories: Histories,
    /// Form of a message that was sent and not answered yet. It is reopened if the message is refused.
    pub(crate) sent: Option<MessageForm>,
    /// Reply to the last key, shown until the next key.
    pub(crate) status: Option<(Level, String)>,
    /// Question that the next key answers: yes if it is the same key.
    pub(crate) asked: Option<Asked>,
}

/// What is lost if the user presses a key again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A held message.
    Drop(HeldPlace),
    /// The run with its players.
    Quit,
}

impl Dialog {
    /// Shows a message until the next key.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.status = Some((Level::Info, text.into()));
    }

    /// Shows the reason of a refusal until the next key.
    pub(crate) fn refuse(&mut self, why: &impl fmt::Display) {
        self.status = Some((Level::Warning, why.to_string()));
    }

    /// Reopens the form of a message that was refused, so that the user's input is not lost.
    pub(crate) fn reopen(&mut self, form: MessageForm) {
        self.overlay.get_or_insert(Overlay::Form(form));
    }
}

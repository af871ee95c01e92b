//! The state of the screen.

pub(crate) mod clock;
pub(crate) mod contents;
pub(crate) mod cursor;
pub(crate) mod detail;
pub(crate) mod dialog;
pub(crate) mod editor;
mod feed;
pub(crate) mod filter;
pub(crate) mod form;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod ladder;
pub(crate) mod log;
pub(crate) mod look;
pub(crate) mod menu;
pub(crate) mod messages;
pub(crate) mod meter;
pub(crate) mod orders;
pub(crate) mod panes;
pub(crate) mod prompt;
pub(crate) mod queue;
mod recording;
pub(crate) mod repeat;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod tail;
pub(crate) mod terminal;
pub(crate) mod timeline;
mod title;
pub(crate) mod tour;
pub(crate) mod view;

use teetap_inspect::{Snapshots, Style};
use teetap_proxy::session::{Level, Time};
use teetap_wire::def::Registry;

use crate::{Action, Theme, keymap::KeyPress};

use contents::Contents;
use cursor::Moves;
use detail::{Detail, Source};
use dialog::Dialog;
use filter::{Filtering, SyntaxError};
use log::Log;
use look::Look;
use messages::Messages;
use orders::ProxyRequests;
use panes::Panes;
use queue::Queue;
use rules::Rules;
use run::Run;
use sessions::Sessions;
use terminal::Terminal;
use timeline::{Seek, Timeline};
use tour::Tour;

pub(crate) use dialog::Overlay;
pub use title::Title;
pub(crate) use view::{Pane, View};

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// Run, or recording of a run.
    pub(crate) run: Run,
    /// Look of the screen.
    pub(crate) look: Look,
    /// View that is shown, and its panes.
    pub(crate) panes: Panes,
    /// Dialog with the user.
    pub(crate) dialog: Dialog,
    /// Message list.
    pub(crate) messages: Messages,
    /// Detail panes.
    pub(crate) detail: Detail,
    /// Sessions, and the state of their views.
    pub(crate) sessions: Sessions,
    /// Lines of the log.
    pub(crate) log: Log,
    /// Intercept queue.
    pub(crate) queue: Queue,
    /// Rules of the run.
    pub(crate) rules: Rules,
    /// Requests to the proxy.
    pub(crate) orders: ProxyRequests,
    /// Time line; `None` for a run.
    pub(crate) timeline: Option<Timeline>,
    /// Guided tour, while it is running.
    pub(crate) tour: Option<Tour>,
    /// Message definitions.
    pub(crate) registry: &'static Registry,
    /// Effects on the terminal that are due.
    pub(crate) terminal: Terminal,
}

impl App {
    /// Returns a screen without rows.
    #[must_use]
    pub fn new(title: Title, style: Style, registry: &'static Registry) -> Self {
        Self {
            run: Run::new(title),
            look: Look::new(style),
            panes: Panes::default(),
            dialog: Dialog::default(),
            messages: Messages::default(),
            detail: Detail::default(),
            sessions: Sessions::default(),
            log: Log::default(),
            queue: Queue::default(),
            rules: Rules::default(),
            orders: ProxyRequests::default(),
            timeline: None,
            tour: None,
            registry,
            terminal: Terminal::default(),
        }
    }

    /// Sets the colours, and whether only ASCII characters are drawn.
    pub fn set_look(&mut self, theme: Theme, ascii: bool) {
        (self.look.theme, self.look.ascii) = (theme, ascii);
    }

    /// Sets the limit of the history, in bytes.
    pub const fn set_history(&mut self, bytes: usize) {
        self.messages.history.limit = bytes;
    }

    /// Binds a key to an action.
    pub fn bind(&mut self, key: KeyPress, action: Action) {
        self.dialog.keymap.bind(key, action);
    }

    /// Shows the newest snapshots of a decoder.
    pub fn share_snapshots(&mut self, snapshots: Snapshots) {
        self.sessions.snapshot.shared = snapshots;
    }

    /// Shows a message until the next key.
    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.dialog.status = Some((level, text.into()));
        self.terminal.changed = true;
    }

    /// Returns the time of the run.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.run.now
    }

    /// Updates the time of the run.
    pub fn tick(&mut self, now: Time) {
        let second = self.run.second();
        self.terminal.changed |= self.run.tick(now);
        // Redraws for the ages of sessions, and for peers that have become silent.
        self.terminal.changed |= self.run.second() != second && self.sessions.is_open();
        self.sessions.tick(now);
        self.refresh();
        self.orders.tick(now);
        if self.messages.progress().is_some() {
            self.messages.admit();
            self.terminal.changed = true;
        }
    }

    /// Sets the filter; an empty text removes it.
    ///
    /// # Errors
    /// The text is not a filter.
    pub fn set_filter(&mut self, text: &str) -> Result<(), SyntaxError> {
        let filter = match text.trim() {
            "" => None,
            text => {
                let filter = Filtering::parse(text, self.registry)?;
                Some(match self.timeline {
                    Some(_) => filter.by_reader(),
                    None => filter,
                })
            }
        };
        self.messages.set_filter(filter);
        self.reread();
        Ok(())
    }

    /// Sets the filter of the ladder; an empty text removes it.
    ///
    /// # Errors
    /// The text is not a filter.
    pub(crate) fn set_ladder_filter(&mut self, text: &str) -> Result<(), SyntaxError> {
        let filter = match text.trim() {
            "" => None,
            text => Some(Filtering::parse(text, self.registry)?),
        };
        let session = self.sessions.shown();
        self.sessions.ladder.set_filter(filter, session);
        Ok(())
    }

    /// Reads a recording again because the filter has changed.
    pub(crate) fn reread(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            timeline.seek(Seek::Filter);
        }
    }

    /// Updates the detail panes for the selected row.
    pub(crate) fn sync(&mut self) {
        let (row, number) = (self.messages.row(), self.messages.number());
        let source = Source::new(number, row, self.detail.width, self.look.style.secrets);
        if !self.detail.is_from(source.as_ref()) {
            let contents = row.map_or_else(Contents::default, |row| {
                Contents::from_row(row, self.look.style).wrapped(self.detail.width)
            });
            self.detail.show(number, source, contents);
        }
        match self.panes.focus {
            Pane::Hex => self.detail.follow_hex(),
            _ => self.detail.follow_tree(),
        }
    }

    /// Returns the focused pane, for movements.
    pub(crate) fn focused(&mut self) -> &mut dyn Moves {
        match self.panes.focus {
            Pane::List => &mut self.messages,
            Pane::Tree => &mut self.detail.tree,
            Pane::Hex => &mut self.detail.hex,
            Pane::Queue => &mut self.queue.cursor,
            Pane::Rules => &mut self.rules.cursor,
            Pane::Sessions => &mut self.sessions.cursor,
            Pane::Ladder => &mut self.sessions.ladder.tail,
            Pane::Snapshot => &mut self.sessions.snapshot.cursor,
            Pane::Stats => &mut self.sessions.stats.cursor,
            Pane::Log => &mut self.log.tail,
        }
    }
}

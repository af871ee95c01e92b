//! The state of the screen.

pub mod clock;
pub mod contents;
pub mod cursor;
pub mod detail;
pub mod editor;
mod feed;
pub mod filter;
pub mod form;
pub mod help;
pub mod history;
pub mod ladder;
pub mod log;
pub mod menu;
pub mod messages;
pub mod meter;
mod orders;
pub mod prompt;
pub mod queue;
pub mod repeat;
pub mod rules;
pub mod snapshot;
pub mod stats;
pub mod tail;
pub mod timeline;
mod title;
pub mod tour;
pub(crate) mod view;

use ratatui::layout::Rect;
use teetap_inspect::{Follow, Style, Viewer};
use teetap_proxy::session::{Level, SessionId, State, Time};
use teetap_wire::def::Registry;

use crate::{Theme, keymap::Keymap, request::Request};
use clock::TimeForm;
use contents::Contents;
use cursor::{Cursor, Moves};
use detail::Detail;
use filter::Filtering;
use form::Form;
use help::Help;
use ladder::Ladder;
use log::Log;
use menu::Menu;
use messages::Messages;
use meter::Meter;
use prompt::{Lines, Prompt};
use queue::Queue;
use repeat::Repeat;
use rules::Rules;
use snapshot::CurrentSnapshot;
use stats::Stats;
use timeline::{Seek, Timeline};
use tour::Tour;

pub use title::Title;
pub use view::{Pane, View};

/// Microseconds.
const SECOND: u64 = 1_000_000;

/// The shape of the message view.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// The detail panes are open where they are not always.
    pub is_open: bool,
    /// Only the pane with the keys is shown.
    pub is_zoomed: bool,
    /// Cells by which the list is larger than usual.
    pub more: i16,
    /// The panes are always open: the screen is wide.
    pub is_wide: bool,
}

/// A part of the screen that lies over the view and has all keys.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// The help.
    Help(Help),
    /// A prompt.
    Prompt(Prompt),
    /// A menu.
    Menu(Menu),
    /// A form.
    Form(Form),
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The facts of the run.
    pub title: Title,
    /// The lines that are shown, and how.
    pub style: Style,
    /// The colours.
    pub theme: Theme,
    /// Only characters of ASCII are drawn.
    pub ascii: bool,
    /// The keys.
    pub keymap: Keymap,
    /// The view that is shown.
    pub view: View,
    /// The pane that has the keys.
    pub focus: Pane,
    /// The part over the view.
    pub overlay: Option<Overlay>,
    /// The list of messages.
    pub messages: Messages,
    /// The detail panes.
    pub detail: Detail,
    /// The contents of the detail panes.
    pub contents: Contents,
    /// The shape of the message view.
    pub shape: Shape,
    /// The form of times.
    pub time: TimeForm,
    /// The facts about the sessions.
    pub follow: Follow,
    /// The cursor in the table of sessions.
    pub sessions: Cursor,
    /// The datagrams of each session.
    pub ladder: Ladder,
    /// The current snapshot.
    pub snapshot: CurrentSnapshot,
    /// The statistics.
    pub stats: Stats,
    /// The log.
    pub log: Log,
    /// The session that views of one session show, and true if the user has picked it.
    shown: Option<(SessionId, bool)>,
    /// The counts of the run.
    pub meter: Meter,
    /// The commands that were entered.
    pub commands: Lines,
    /// The filters that were entered.
    pub filters: Lines,
    /// The texts that were searched for; the last one is searched for again.
    pub searches: Lines,
    /// The rules that were entered.
    pub typed_rules: Lines,
    /// The values of sliders that were typed.
    pub values: Lines,
    /// The messages that were sent.
    pub injected: Lines,
    /// The form whose message was sent, until the answer: if it is refused, the form is opened again.
    pub sent: Option<Form>,
    /// The intercept queue.
    pub queue: Queue,
    /// The rules.
    pub rules: Rules,
    /// The requests to the proxy that wait to be taken.
    requests: Vec<Request>,
    /// There is a proxy that takes requests.
    pub is_live: bool,
    /// The time line, of a recording.
    pub timeline: Option<Timeline>,
    /// The message that is sent again and again.
    pub repeat: Option<Repeat>,
    /// The guided tour, while it lasts.
    pub tour: Option<Tour>,
    /// The second of the run in which the rules were requested last.
    asked_rules: Option<u64>,
    /// The text for the clipboard of the terminal.
    pub clipboard: Option<String>,
    /// The message definitions.
    pub registry: &'static Registry,
    /// The panes on the screen, for clicks.
    pub areas: Vec<(Pane, Rect)>,
    /// The answer to the last key, until the next one.
    pub status: Option<(Level, String)>,
    /// The time of the run.
    pub now: Time,
    /// The user wants to leave.
    pub leaving: bool,
    /// The user wants to suspend the program.
    pub suspending: bool,
    /// The screen is older than the state.
    pub changed: bool,
}

impl App {
    /// A screen without rows.
    #[must_use]
    pub fn new(title: Title, style: Style, registry: &'static Registry) -> Self {
        Self {
            title,
            style: Style {
                viewer: Viewer::Everything,
                ..style
            },
            theme: Theme::default(),
            ascii: false,
            keymap: Keymap::default(),
            view: View::default(),
            focus: Pane::List,
            overlay: None,
            messages: Messages::default(),
            detail: Detail::default(),
            contents: Contents::default(),
            shape: Shape::default(),
            time: TimeForm::default(),
            follow: Follow::default(),
            sessions: Cursor::default(),
            ladder: Ladder::default(),
            snapshot: CurrentSnapshot::default(),
            stats: Stats::default(),
            log: Log::default(),
            shown: None,
            meter: Meter::default(),
            commands: Lines::default(),
            filters: Lines::default(),
            searches: Lines::default(),
            typed_rules: Lines::default(),
            values: Lines::default(),
            injected: Lines::default(),
            sent: None,
            queue: Queue::default(),
            rules: Rules::default(),
            requests: Vec::new(),
            is_live: false,
            timeline: None,
            repeat: None,
            tour: None,
            asked_rules: None,
            clipboard: None,
            registry,
            areas: Vec::new(),
            status: None,
            now: Time::ZERO,
            leaving: false,
            suspending: false,
            changed: true,
        }
    }

    /// Returns the session that views of one session show.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.shown.map(|(session, _)| session)
    }

    /// Returns true if the statistics count all sessions: until a session is picked, or as the user has chosen.
    #[must_use]
    pub fn counts_all(&self) -> bool {
        let is_picked = self.shown.is_some_and(|(_, is_picked)| is_picked);
        self.stats
            .all
            .unwrap_or(!is_picked && self.follow.sessions().len() > 1)
    }

    /// Picks the session that views of one session show.
    pub fn pick(&mut self, session: SessionId) {
        self.shown = Some((session, true));
        self.stats.all = None;
        self.ladder.tail.last();
    }

    /// Notes the time of the run.
    pub fn tick(&mut self, now: Time) {
        // Ages, and peers that fall silent.
        let is_later = now.0 / SECOND != self.now.0 / SECOND;
        self.changed |= is_later
            && self
                .follow
                .sessions()
                .any(|(_, session)| session.state != State::Closed);
        self.now = now;
        self.changed |= self.meter.tick(now);
        self.follow.tick(now);
        self.refresh();
        if let Some(request) = self.repeat.as_mut().and_then(|repeat| repeat.due(now)) {
            self.requests.push(request);
        }
        if self.messages.progress().is_some() {
            self.messages.admit();
            self.changed = true;
        }
    }

    /// Sets the filter; an empty text removes it.
    ///
    /// # Errors
    /// Returns the place of the first error in the text, and the error.
    pub fn set_filter(&mut self, text: &str) -> Result<(), (usize, String)> {
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

    /// Has a recording read again, because the filter has changed.
    pub fn reread(&mut self) {
        if let Some(timeline) = &mut self.timeline {
            timeline.seek(Seek::Filter);
        }
    }

    /// Returns the bytes of the recording before the selected row.
    #[must_use]
    pub fn offset(&self) -> u64 {
        let row = self.messages.number();
        let timeline = self.timeline.as_ref();
        timeline.map_or(0, |timeline| {
            row.map_or(timeline.listed.start, |row| timeline.offset_of(row))
        })
    }

    /// Takes the selected row into the detail panes.
    pub fn sync(&mut self) {
        self.detail.show(self.messages.number());
        let row = self.messages.row();
        self.contents = row.map_or_else(Contents::default, |row| {
            Contents::of(row, self.style, self.registry).wrapped(self.detail.width)
        });
        self.detail.tree.set_len(self.contents.lines.len());
        match self.focus {
            Pane::Hex => self.detail.follow_hex(&self.contents),
            _ => self.detail.follow_tree(&self.contents),
        }
    }

    /// Returns true if the detail panes are shown.
    #[must_use]
    pub const fn has_detail(&self) -> bool {
        self.shape.is_open || self.shape.is_wide
    }

    /// Shows a view; its first pane gets the keys.
    pub fn show(&mut self, view: View) {
        self.view = view;
        if let Some(pane) = view.panes().first() {
            self.focus = *pane;
        }
    }

    /// Shows a sentence until the next key.
    pub fn say(&mut self, text: impl Into<String>) {
        self.status = Some((Level::Info, text.into()));
    }

    /// Shows the reason why something was refused until the next key.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.status = Some((Level::Warning, why.into()));
    }

    /// Returns the pane that has the keys, for movements.
    pub fn focused(&mut self) -> &mut dyn Moves {
        match self.focus {
            Pane::List => &mut self.messages,
            Pane::Tree => &mut self.detail.tree,
            Pane::Hex => &mut self.detail.hex,
            Pane::Queue => &mut self.queue.cursor,
            Pane::Rules => &mut self.rules.cursor,
            Pane::Sessions => &mut self.sessions,
            Pane::Ladder => &mut self.ladder.tail,
            Pane::Snapshot => &mut self.snapshot.cursor,
            Pane::Stats => &mut self.stats.cursor,
            Pane::Log => &mut self.log.tail,
        }
    }
}

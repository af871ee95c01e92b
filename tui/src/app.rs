//! The state of the screen.

use std::{collections::VecDeque, sync::Arc};

use teetap_inspect::{DecodedEvent, EventLines, Kind, Style, lines::Line};
use teetap_proxy::session::{Level, Time, What};

/// Bytes of history that are kept: older rows are dropped.
pub const HISTORY: usize = 64 << 20;

/// The facts of the run that the first line shows.
#[derive(Clone, Debug, Default)]
pub struct Title {
    /// The server, as the user wrote it.
    pub target: String,
    /// The address that clients of this machine connect to.
    pub connect: String,
    /// The filter, if one is set.
    pub filter: Option<String>,
    /// A recording is being written.
    pub recording: bool,
    /// The seed of the run.
    pub seed: u64,
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The facts of the run.
    pub title: Title,
    /// The lines that are shown, and how.
    pub style: Style,
    /// The rows.
    pub list: List,
    /// Messages listed so far, those dropped from the history included.
    pub messages: u64,
    /// An event was listed.
    pub has_traffic: bool,
    /// The user wants to leave.
    pub leaving: bool,
    /// The screen is older than the state.
    pub changed: bool,
}

/// A row of the list.
#[derive(Clone, Debug)]
pub enum Row {
    /// A line of an event.
    Line(Arc<DecodedEvent>, Line),
    /// Events are missing here: this many.
    Gap(u64),
    /// A line of the program itself.
    Log(Time, Level, Box<str>),
}

/// The rows, the selection and the part that is visible.
#[derive(Debug, Default)]
pub struct List {
    /// Each with the bytes that it keeps alive.
    rows: VecDeque<(Row, usize)>,
    /// The sum of those bytes.
    bytes: usize,
    /// The selected row; `None` follows the newest.
    selected: Option<usize>,
    /// The first visible row.
    top: usize,
    /// Rows that fit on the screen when it was drawn last.
    height: usize,
}

impl App {
    /// A screen without rows.
    #[must_use]
    pub fn new(title: Title, style: Style) -> Self {
        Self {
            title,
            style,
            list: List::default(),
            messages: 0,
            has_traffic: false,
            leaving: false,
            changed: true,
        }
    }

    /// Adds the lines of an event.
    pub fn push(&mut self, decoded: &Arc<DecodedEvent>) {
        let lines = EventLines::of(decoded, self.style).list;
        self.changed |= !lines.is_empty();
        self.has_traffic |= !lines.is_empty();
        for (index, line) in lines.into_iter().enumerate() {
            self.messages += u64::from(line.is_message());
            // The first row of an event stands for its memory.
            let shared = if index == 0 { cost(decoded) } else { 0 };
            self.list.push(Row::Line(Arc::clone(decoded), line), shared);
        }
    }

    /// Adds a row that says how many events were missed.
    pub fn gap(&mut self, lost: u64) {
        self.list.push(Row::Gap(lost), 0);
        self.changed = true;
    }

    /// Adds a line of the program itself.
    pub fn log(&mut self, at: Time, level: Level, text: &str) {
        self.list.push(Row::Log(at, level, text.into()), text.len());
        self.changed = true;
    }
}

/// Returns an estimate of the memory of an event, in bytes: its own, and about four times as much for the fields.
fn cost(decoded: &DecodedEvent) -> usize {
    let bytes = match &decoded.event.what {
        What::Datagram(datagram) => datagram.received().map_or(0, <[u8]>::len),
        What::Connless(connless) => connless.bytes.len(),
        _ => 0,
    };
    size_of::<DecodedEvent>() + 5 * bytes
}

impl Row {
    /// Returns the weight of the row.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Line(_, line) => line.kind,
            Self::Gap(_) | Self::Log(_, Level::Warning, _) => Kind::Warning,
            Self::Log(..) => Kind::Info,
        }
    }
}

impl List {
    /// Adds a row that keeps so many bytes alive.
    fn push(&mut self, row: Row, bytes: usize) {
        let bytes = bytes + size_of::<(Row, usize)>();
        self.bytes += bytes;
        self.rows.push_back((row, bytes));
        while self.bytes > HISTORY && self.rows.len() > 1 {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, bytes)) = self.rows.pop_front() {
            self.bytes = self.bytes.saturating_sub(bytes);
            self.selected = self.selected.map(|selected| selected.saturating_sub(1));
            self.top = self.top.saturating_sub(1);
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns true if the newest row is selected as it comes.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.selected.is_none()
    }

    /// Returns the place of the selected row; `None` when there is no row.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        let last = self.rows.len().checked_sub(1)?;
        Some(self.selected.map_or(last, |selected| selected.min(last)))
    }

    /// Moves the visible part so that the selected row is in it.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        let selected = self.selected().unwrap_or(0);
        let lowest = (selected + 1).saturating_sub(height.max(1));
        let highest = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp(lowest, selected).min(highest.max(lowest));
    }

    /// Returns the visible rows with their places.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &Row)> {
        let rows = self.rows.iter().map(|(row, _)| row).enumerate();
        rows.skip(self.top).take(self.height)
    }

    /// Returns the rows of a page: one less than are visible.
    #[must_use]
    pub fn page(&self) -> usize {
        self.height.saturating_sub(1).max(1)
    }

    /// Moves the selection down; on the last row it follows the newest again.
    pub fn down(&mut self, by: usize) {
        let Some(selected) = self.selected.map(|selected| selected.saturating_add(by)) else {
            return;
        };
        self.selected = Some(selected).filter(|selected| selected + 1 < self.rows.len());
    }

    /// Moves the selection up.
    pub fn up(&mut self, by: usize) {
        self.selected = self.selected().map(|selected| selected.saturating_sub(by));
    }

    /// Selects the oldest row.
    pub fn first(&mut self) {
        self.selected = self.selected().map(|_| 0);
    }

    /// Selects the newest row, and follows it.
    pub fn follow(&mut self) {
        self.selected = None;
    }
}

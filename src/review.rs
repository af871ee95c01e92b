//! A recording on the screen: the loop of the main thread, with a part of the recording in the history.
//!
//! Law: rows are read until the list is full; further rows are read if the last rows are selected or followed. To
//! move to another part, reading restarts at a position from the index, which a separate thread builds.

use std::{
    io::{self, BufReader},
    net::SocketAddr,
    path::Path,
    sync::{Arc, atomic::AtomicU64, mpsc},
    time::{Duration, Instant, UNIX_EPOCH},
};

use teetap_capture::{
    Format, IndexedPlace, ReadError, Run,
    reading::{
        from::{self, Batch, Found, Reader, Source},
        places::Places,
    },
};
use teetap_inspect::{Snapshots, Style};
use teetap_proxy::{
    io::files::{Unread, open_regular},
    session::{Level, Time},
};
use teetap_tui::{
    App, Screen, Title,
    app::{
        cursor::Moves as _,
        timeline::{Reading, Seek, Timeline},
    },
};
use teetap_wire::def::Registry;

use crate::{
    cli::ScreenOptions,
    console::Console,
    exit::{Exit, Failure},
    output,
    signals::Signals,
    wake::{SIGHUP, Wake},
};

/// Time between two polls of the reader.
const TICK: Duration = Duration::from_millis(10);

/// Maximum time for receiving batches before keys are handled again.
const PULL: Duration = Duration::from_millis(20);

/// Distance of the selection from the last row, in rows, at which further rows are read.
const NEAR: usize = 100;

/// Bytes before the end of a recording at which reading starts to show its end: about as much as the history keeps.
const TAIL: u64 = 4 << 20;

/// State of reading a recording for the screen.
struct Review {
    places: Places,
    reader: Option<Reader>,
    source: Source,
    /// Time of the row to select once it is read: the first row at this time or later.
    selects: Option<Time>,
    damage: Option<String>,
}

/// Shows a recording on the screen until the user closes it.
///
/// # Errors
/// The file is not a recording, or there is no terminal.
pub(crate) fn review(
    options: &ScreenOptions,
    style: Style,
    filter: Option<&str>,
    registry: &'static Registry,
    path: &Path,
) -> anyhow::Result<Exit> {
    options.check()?;
    let name = path.display();
    let refused = |error: ReadError| Failure::damaged(format!("{name}: {error}"));
    let cannot = |error: io::Error| Failure::usage(format!("cannot open {name}: {error}"));
    let file = open_regular(path).map_err(|error| match error {
        Unread::System(error) if error.kind() != io::ErrorKind::IsADirectory => cannot(error),
        _ => Failure::usage(format!(
            "cannot show {name} on the screen: it is not a file; leave out --tui"
        )),
    })?;
    let kind = file.metadata().map_err(cannot)?;
    let format = Format::detect(&mut BufReader::new(&file)).map_err(refused)?;
    let source = Source {
        path: path.to_owned(),
        registry,
        snapshots: Snapshots::default(),
        begin: Arc::new(AtomicU64::new(0)),
    };
    // Refuses a file that only begins like a recording before the screen opens.
    let (wall, run) = from::beginning(&source).map_err(refused)?;
    let (reports, wake) = mpsc::channel();
    let _signals = Signals::install(reports.clone()).map_err(Failure::network)?;
    let title = Title {
        target: name.to_string(),
        ..Title::default()
    };
    let mut app = App::new(title, style, registry);
    options.prepare(&mut app);
    app.sessions.snapshot.shared = source.snapshots.clone();
    app.timeline = Some(Timeline::new(kind.len()));
    // The filter was checked before.
    let _checked = app.set_filter(filter.unwrap_or_default());
    let mut review = Review {
        places: Places::start(source.clone(), format).map_err(Failure::network)?,
        reader: None,
        source,
        selects: None,
        damage: None,
    };
    let console = Console::of_recording(reports, run.unwrap_or_else(|| of_another_program(path, wall)));
    let screen = match Screen::open(app) {
        Ok(screen) => screen,
        Err(_) if output::is_lost() => return Ok(Exit::Signal(SIGHUP)),
        Err(error) => {
            let text = format!("cannot open the terminal UI: {error}; leave out --tui");
            return Err(Failure::network(text).into());
        }
    };
    let exit = review.run(screen, console, &wake)?;
    // The screen is closed now.
    Ok(match &review.damage {
        Some(damage) => {
            output::print_status(&format!("teetap: {name}: {damage}"));
            if exit == Exit::Ok { Exit::Damaged } else { exit }
        }
        None => exit,
    })
}

impl Review {
    /// Shows the recording until the user closes it or a signal is received.
    fn run(
        &mut self,
        mut screen: Screen,
        mut console: Console,
        wake: &mpsc::Receiver<Wake>,
    ) -> Result<Exit, Failure> {
        loop {
            match wake.recv_timeout(TICK) {
                Ok(Wake::Signal(number)) => return Ok(Exit::Signal(number)),
                Ok(Wake::Report(level, text)) => screen.app.log(screen.app.run.now, level, &text),
                Ok(Wake::Done(..)) | Err(_) => {}
            }
            self.look(&mut screen.app);
            console.carry_out(&mut screen.app);
            match screen.step() {
                Ok(true) => {}
                Ok(false) => return Ok(Exit::Ok),
                Err(error) => {
                    drop(screen);
                    output::screen_failed(&error)?;
                    return Ok(Exit::Signal(SIGHUP));
                }
            }
        }
    }

    /// Moves to the position that the user requested, and adds the rows that were read.
    fn look(&mut self, app: &mut App) {
        if let Some(timeline) = &mut app.timeline {
            let (indexed, until) = self.places.state();
            app.terminal.changed |= (timeline.indexed, timeline.until) != (indexed, until);
            (timeline.indexed, timeline.until) = (indexed, until);
            let percent = timeline.percent(indexed);
            match timeline.take_wanted() {
                // The index has not reached this position yet.
                Some(seek) if indexed < timeline.size && is_beyond(seek, indexed, timeline.size) => {
                    timeline.seek(seek);
                    app.dialog
                        .say(format!("the index is at {percent} %: waiting for it"));
                    app.terminal.changed = true;
                }
                Some(seek) => self.seek(app, seek),
                None => {}
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < PULL && is_wanted(app) {
            let Some(batch) = self.reader.as_ref().and_then(Reader::next) else {
                break;
            };
            self.add_batch(app, batch);
        }
        self.note_progress(app);
    }

    /// Moves to a position.
    fn seek(&mut self, app: &mut App, seek: Seek) {
        app.terminal.changed = true;
        let filter = app
            .messages
            .filter()
            .and_then(|filter| filter.for_reader())
            .cloned();
        let place = match seek {
            Seek::Stop => {
                self.reader = None;
                self.set(app, Reading::Stopped);
                return app.dialog.say("stopped; > continues from another place");
            }
            // A filter searches the whole recording.
            Seek::Filter if filter.is_some() => IndexedPlace::start(),
            Seek::Filter => self.places.before(app.offset()),
            Seek::To(offset) => self.places.before(offset),
            Seek::Time(time) => self.places.of_time(time),
            Seek::End => {
                let size = app.timeline.as_ref().map_or(0, |timeline| timeline.size);
                self.places.before(size.saturating_sub(TAIL))
            }
        };
        let is_long = filter.is_some() || seek == Seek::End;
        self.selects = match seek {
            Seek::End => None,
            Seek::Time(time) => Some(time),
            _ => Some(Time::ZERO),
        };
        // Other views keep their sessions while the list shows the matches of a filter.
        app.clear(filter.is_none());
        if let Some(timeline) = &mut app.timeline {
            timeline.begin(place.offset);
            timeline.is_long = is_long;
        }
        // Stops the previous reader.
        self.reader = None;
        match Reader::start(self.source.clone(), place, filter) {
            Ok(reader) => self.reader = Some(reader),
            Err(error) => {
                self.set(app, Reading::Stopped);
                app.dialog.refuse(&format!("cannot read: {error}"));
            }
        }
    }

    /// Adds the rows of a batch.
    fn add_batch(&mut self, app: &mut App, batch: Batch) {
        let is_filtered = app.messages.filter().is_some_and(|filter| filter.is_by_reader());
        let rows = app.messages.history.numbers();
        if let Some(timeline) = &mut app.timeline {
            timeline.mark(rows.end, batch.offset, rows.start);
        }
        for found in batch.items {
            match found {
                Found::Event(event) => {
                    app.run.now = app.run.now.max(event.event.at);
                    match is_filtered {
                        true => app.push_match(&event),
                        false => app.push(&event),
                    }
                }
                Found::Log(at, level, text) => app.log(at, level, &format!("recorded: {text}")),
                Found::Gap(lost) => app.gap(lost),
                Found::Start(wall, run) => start(app, wall, run.as_deref()),
            }
        }
        self.select(app);
        app.tick(app.run.now);
        app.terminal.changed = true;
        if let Some(end) = batch.end {
            self.reader = None;
            self.set(app, Reading::Ended);
            if let Err(why) = end {
                app.log(app.run.now, Level::Warning, &why);
                self.damage = Some(why);
            }
        }
    }

    /// Selects the requested row, or the first row until the requested one is read.
    fn select(&mut self, app: &mut App) {
        let Some(time) = self.selects else { return };
        if app.messages.is_empty() {
            return;
        }
        if app.messages.select_time(time) {
            self.selects = None;
        } else {
            app.messages.first();
        }
    }

    fn note_progress(&self, app: &mut App) {
        let Some(reader) = &self.reader else { return };
        let state = if is_wanted(app) {
            Reading::On
        } else {
            Reading::Waiting
        };
        let read = reader.read();
        if let Some(timeline) = &mut app.timeline {
            app.terminal.changed |= (timeline.reading, timeline.listed.end) != (state, read);
            timeline.listed.end = read;
        }
        self.set(app, state);
    }

    fn set(&self, app: &mut App, reading: Reading) {
        if let Some(timeline) = &mut app.timeline {
            timeline.reading = reading;
        }
        app.terminal.changed = true;
    }
}

/// Returns the run of saved rows whose recording is of another program.
fn of_another_program(path: &Path, wall: u64) -> Run {
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall,
        seed: 0,
        target: path.display().to_string(),
        server: nowhere,
        listen: nowhere,
    }
}

/// Shows the start of a recording, or of a run in it.
fn start(app: &mut App, wall: u64, run: Option<&Run>) {
    // Times of day refer to the first start, or to the start of the last run in the recording.
    if app.messages.is_empty() || run.is_some() {
        app.run.title.start = UNIX_EPOCH + Duration::from_nanos(wall);
    }
    if let Some(run) = run {
        app.run.title.seed = Some(run.seed);
    }
}

/// Returns true if further rows should be read: the list still keeps all rows, or its last rows are selected or
/// followed.
fn is_wanted(app: &App) -> bool {
    let list = &app.messages;
    let is_near = || {
        list.selected()
            .is_some_and(|selected| selected + NEAR >= list.len())
    };
    !list.history.is_full() || !list.is_frozen() && (list.follows() || is_near())
}

/// Returns true if the index, which covers the bytes before `indexed`, must grow before the screen can move to `seek`.
fn is_beyond(seek: Seek, indexed: u64, size: u64) -> bool {
    match seek {
        Seek::To(offset) => offset > indexed,
        Seek::End => size.saturating_sub(TAIL) > indexed,
        Seek::Time(_) => true,
        Seek::Filter | Seek::Stop => false,
    }
}

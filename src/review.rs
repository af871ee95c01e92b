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
use teetap_tui::{App, Reading, Screen, Seek, Title};
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

/// State of reading a recording for the screen.
struct Review {
    places: Places,
    reader: Option<Reader>,
    source: Source,
    /// Time of the row to select once it is read: the first row at this time or later.
    selects: Option<Time>,
    damage: Option<ReadError>,
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
    app.share_snapshots(source.snapshots.clone());
    app.show_recording(kind.len());
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
                Ok(Wake::Report(level, text)) => screen.app.log(screen.app.now(), level, &text),
                Ok(Wake::Done(..) | Wake::StdinClosed) | Err(_) => {}
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
        let (indexed, until) = self.places.state();
        app.set_index(indexed, until);
        if let Some(seek) = app.take_seek() {
            self.seek(app, seek);
        }
        let begun = Instant::now();
        while begun.elapsed() < PULL && app.wants_rows() {
            let Some(batch) = self.reader.as_ref().and_then(Reader::next) else {
                break;
            };
            self.add_batch(app, batch);
        }
        self.note_progress(app);
    }

    /// Moves to a position.
    fn seek(&mut self, app: &mut App, seek: Seek) {
        let filter = app.reader_filter().cloned();
        let place = match seek {
            Seek::Stop => {
                self.reader = None;
                app.set_reading(Reading::Stopped);
                return app.say(Level::Info, "stopped; > continues from another place");
            }
            // A filter searches the whole recording.
            Seek::Filter if filter.is_some() => IndexedPlace::start(),
            Seek::Filter => self.places.before(app.offset()),
            Seek::To(offset) => self.places.before(offset),
            Seek::Time(time) => self.places.of_time(time),
            Seek::End => self.places.before(app.tail()),
        };
        self.selects = match seek {
            Seek::End => None,
            Seek::Time(time) => Some(time),
            _ => Some(Time::ZERO),
        };
        app.begin_reading(seek, place.offset);
        // Stops the previous reader.
        self.reader = None;
        match Reader::start(self.source.clone(), place, filter) {
            Ok(reader) => self.reader = Some(reader),
            Err(error) => {
                app.set_reading(Reading::Stopped);
                app.say(Level::Warning, format!("cannot read: {error}"));
            }
        }
    }

    /// Adds the rows of a batch.
    fn add_batch(&mut self, app: &mut App, batch: Batch) {
        app.mark_offset(batch.offset);
        for found in batch.items {
            match found {
                Found::Event(event) => app.push_read(&event),
                Found::Log(at, level, text) => app.log(at, level, &format!("recorded: {text}")),
                Found::Gap(lost) => app.gap(lost),
                Found::Start(wall, run) => {
                    let wall = UNIX_EPOCH + Duration::from_nanos(wall);
                    app.set_start(wall, run.map(|run| run.seed));
                }
            }
        }
        self.selects.take_if(|time| app.select_time(*time));
        app.tick(app.now());
        if let Some(end) = batch.end {
            self.reader = None;
            app.set_reading(Reading::Ended);
            if let Err(why) = end {
                app.log(app.now(), Level::Warning, &why.to_string());
                self.damage = Some(why);
            }
        }
    }

    fn note_progress(&self, app: &mut App) {
        let Some(reader) = &self.reader else { return };
        app.set_read(reader.read());
        app.set_reading(match app.wants_rows() {
            true => Reading::On,
            false => Reading::Waiting,
        });
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

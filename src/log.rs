//! The program's own log: `--log FILE`, filtered by `TEETAP_LOG`.
//!
//! Law: without --log, no logging is set up. A separate thread writes the lines; if the disk is slower than the
//! program, lines are dropped and counted. The program never logs a line per datagram.

use std::{
    env,
    fs::File,
    io::{self, Write},
    panic,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use teetap_harness::outcome::Summary;
use teetap_proxy::{
    io::{
        files::{Access, PipeWriter, Private, PrivateError, open_private},
        is_moved,
    },
    session::{Level, Notice, SessionChange, SessionId},
};
use teetap_wire::{printable, printable_path};
use tracing::{error, info, warn};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::{
    exit::{Exit, Failure},
    run::Start,
};

/// Environment variable with the filter.
const FILTER: &str = "TEETAP_LOG";

/// Time between two checks of the path.
const FILE_EVERY: Duration = Duration::from_millis(500);

/// Log that is written until this value is dropped.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// File that is written.
    file: File,
    /// Time of the last check of the path.
    looked: Instant,
    /// True once the deletion or move of the file has been reported.
    is_move_reported: bool,
    dropped: ErrorCounter,
    trouble: Arc<OnceLock<String>>,
    /// True once the trouble has been reported.
    is_reported: bool,
    /// Writes the queued lines when it is dropped.
    _writer: WorkerGuard,
}

/// Maximum time for which the reader of a pipe does not read before lines are lost.
const PIPE_PATIENCE: Duration = Duration::from_secs(1);

/// Log file that remembers its first error, since the writing thread ignores errors.
struct Sink {
    file: Box<dyn Write + Send>,
    trouble: Arc<OnceLock<String>>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| {
            self.trouble.get_or_init(|| error.to_string());
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Log {
    /// Appends to the file at `path` from now on, panics included.
    pub(crate) fn start(path: &Path) -> Result<Self, Failure> {
        let filter = filter(env::var_os(FILTER).unwrap_or_default().to_str())?;
        let failed =
            |error: io::Error| Failure::network(format!("cannot write {}: {error}", printable_path(path)));
        let Private { file, is_regular, .. } =
            open_private(path, Access::Append).map_err(|error| match error {
                PrivateError::System(error) => failed(error),
                error => Failure::usage(format!("cannot write {}: {error}", printable_path(path))),
            })?;
        let trouble = Arc::new(OnceLock::new());
        let written = file.try_clone().map_err(failed)?;
        let sink = Sink {
            file: match is_regular {
                true => Box::new(written),
                false => Box::new(PipeWriter::new(written, PIPE_PATIENCE)),
            },
            trouble: Arc::clone(&trouble),
        };
        let (queue, writer) = NonBlockingBuilder::default().thread_name("log").finish(sink);
        let dropped = queue.error_counter();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(queue)
            .with_ansi(false)
            .finish();
        tracing::subscriber::set_global_default(subscriber).map_err(Failure::network)?;
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            error!(target: "teetap::panic", "{info}");
            before(info);
        }));
        Ok(Self {
            path: path.to_owned(),
            file,
            looked: Instant::now(),
            is_move_reported: false,
            dropped,
            trouble,
            is_reported: false,
            _writer: writer,
        })
    }

    /// Returns the reason why the log is incomplete, once.
    pub(crate) fn news(&mut self) -> Option<String> {
        let lines = self.dropped.dropped_lines();
        let why = match self.trouble.get() {
            Some(error) => error.clone(),
            None if lines > 0 => format!("the disk is too slow, {lines} lines are missing"),
            None => return None,
        };
        let is_reported = std::mem::replace(&mut self.is_reported, true);
        (!is_reported).then(|| format!("the log {} is not complete: {why}", printable_path(&self.path)))
    }

    /// Returns a warning once the file was moved or deleted. Checks the path at intervals, and always if `is_last`.
    pub(crate) fn moved(&mut self, is_last: bool) -> Option<String> {
        let is_due = is_last || self.looked.elapsed() >= FILE_EVERY;
        if self.is_move_reported || !is_due {
            return None;
        }
        self.looked = Instant::now();
        self.is_move_reported = is_moved(&self.file, &self.path);
        self.is_move_reported.then(|| {
            let path = printable_path(&self.path);
            format!(
                "the log {path} was deleted or moved; the run continues and writes to the file that was there"
            )
        })
    }
}

fn filter(text: Option<&str>) -> Result<EnvFilter, Failure> {
    let text = text.ok_or_else(|| Failure::usage(format!("in the environment, {FILTER}: not UTF-8")))?;
    let text = if text.is_empty() { "info" } else { text };
    EnvFilter::try_new(text).map_err(|error| {
        Failure::usage(format!(
            "in the environment, {FILTER}: {error}; see teetap --help"
        ))
    })
}

/// Logs an expression that messages are matched with.
pub(crate) fn expression(option: &str, text: Option<&str>) {
    if let Some(text) = text {
        let text = printable(text.as_bytes());
        info!(target: "teetap::run", option, text, "expression set");
    }
}

/// Logs the start of a run.
pub(crate) fn start(start: &Start) {
    info!(
        target: "teetap::run",
        version = env!("CARGO_PKG_VERSION"),
        target = printable(start.target.as_bytes()),
        server = %start.server,
        listen = %start.listen,
        seed = start.seed,
        "started"
    );
}

/// Logs the end of a run.
pub(crate) fn end(summary: &Summary) {
    let ended = summary.ended.as_ref();
    let stats = ended.map(|ended| ended.stats).unwrap_or_default();
    let counters = ended.map(|ended| ended.counters).unwrap_or_default();
    info!(
        target: "teetap::run",
        exit = summary.exit.code(),
        sessions = stats.sessions,
        c2s = stats.traffic.c2s.datagrams,
        s2c = stats.traffic.s2c.datagrams,
        refused = stats.refused,
        unsent = counters.unsent,
        errors = counters.errors,
        kernel_drops = summary.kernel_drops,
        missed_events = summary.lost,
        "ended"
    );
    if summary.exit == Exit::Internal {
        error!(target: "teetap::run", "ended by a bug");
    }
}

/// Logs a change of state of a session, with its sockets.
pub(crate) fn session(session: Option<SessionId>, change: &SessionChange) {
    info!(
        target: "teetap::session",
        session = session.map(|session| session.0),
        proto = %change.proto,
        client = %change.client,
        server = change.server.map(tracing::field::display),
        socket = change.upstream.map(tracing::field::display),
        by = change.by.map(tracing::field::display),
        reason = change.reason.as_deref().map(printable),
        "{}",
        change.state
    );
}

/// Logs a notice.
pub(crate) fn notice(session: Option<SessionId>, notice: &Notice) {
    let session = session.map(|session| session.0);
    match notice.level() {
        Level::Info => info!(target: "teetap::notice", session, "{notice}"),
        Level::Warning => warn!(target: "teetap::notice", session, "{notice}"),
    }
}

/// Logs a line that the program prints about itself.
pub(crate) fn line(level: Level, text: &str) {
    let text = printable(text.as_bytes());
    match level {
        Level::Info => info!(target: "teetap", "{text}"),
        Level::Warning => warn!(target: "teetap", "{text}"),
    }
}

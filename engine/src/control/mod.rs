//! The control socket, through which scripts send the commands that a person can use at the screen.
//!
//! | module | part |
//! |---|---|
//! | `socket` | the socket file: its creation, its mode and its removal |
//! | `carry_out` | carries out commands and returns their answers |
//! | `connection` | the thread of a connection: lines in, answers and events out |
//!
//! Law: each connection has a thread of its own and bounded buffers, and the data thread never waits for one. A peer
//! that does not read misses events, which are counted, and is disconnected after `PATIENCE`.

mod carry_out;
mod connection;
mod error;
mod socket;

use std::{
    io::Write as _,
    os::unix::net::{UnixListener, UnixStream},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use teetap_inspect::{DecodedEvent, Subscribers, jsonl};
use teetap_proxy::io::{Bus, Clock};
use teetap_wire::def::{Registry, Secrets};

use crate::commands::Handle;
use connection::Connection;
use error::TooManyConnections;

pub use socket::{Guard, Socket, connect};

/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 64;

/// Maximum bytes of a line.
const MAX_LINE: usize = 64 << 10;

/// Maximum bytes of pending output. Beyond it no command is read, and events stay in the ring.
const MAX_OUTPUT: usize = 256 << 10;

/// Time after which a peer that does not read is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause after a failed accept, so that a lasting error does not keep the thread busy.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// Maximum wait for peers to read the last lines of a run.
const LINGER: Duration = Duration::from_millis(300);

/// Reason why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The file cannot be created: another run listens on it, another file is there, or the system refuses it.
    #[error("cannot create the control socket {name}: {why}")]
    Create {
        /// Path, printable.
        name: String,
        /// Cause and remedy.
        why: String,
    },
    /// The system has no threads or descriptors left.
    #[error("cannot serve the control socket: {0}")]
    Serve(#[from] std::io::Error),
}

/// A control socket before it is served, and the parts of the run for subscribers.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) socket: Socket,
    pub(crate) bus: Bus<DecodedEvent>,
    /// Filters of subscribers, shared with the decoder.
    pub(crate) subscribers: Subscribers,
    /// Whether answers and events show secrets.
    pub(crate) secrets: Secrets,
    /// True if the run itself needs no events of ordinary traffic.
    pub(crate) is_quiet: bool,
}

/// Parts of a run that commands use.
#[derive(Debug)]
struct ServerParts {
    handle: Handle,
    bus: Bus<DecodedEvent>,
    subscribers: Subscribers,
    clock: Clock,
    secrets: Secrets,
    is_quiet: bool,
    /// The `start` line.
    start: Vec<u8>,
}

impl ServerParts {
    /// Returns the definitions for answers, and whether they show secrets.
    const fn definitions(&self) -> (&'static Registry, Secrets) {
        (self.handle.registry, self.secrets)
    }
}

/// State that all connections share.
#[derive(Debug)]
struct Shared {
    parts: ServerParts,
    connections: AtomicUsize,
    /// The number of subscribed connections.
    subscribed: Mutex<usize>,
    /// Last line of the run; set before the other end of `ended` is closed.
    last: OnceLock<Vec<u8>>,
    /// Readable once the run has ended.
    ended: UnixStream,
}

impl Shared {
    /// Returns the number of connections, and the number of subscribed ones.
    fn load(&self) -> (usize, usize) {
        let subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        (self.connections.load(Ordering::Relaxed), *subscribed)
    }
}

/// The control socket of a run. Dropping it removes the file.
#[derive(Debug)]
pub struct Control {
    shared: Arc<Shared>,
    guard: Arc<Guard>,
    /// Dropped at the end to wake the threads of connections.
    _running: UnixStream,
}

impl Control {
    /// Serves a socket. Each connection first receives the line `start`.
    ///
    /// # Errors
    /// The system has no threads or descriptors left.
    pub(crate) fn start(
        awaited: Awaited,
        handle: Handle,
        clock: Clock,
        start: Vec<u8>,
    ) -> Result<Self, ControlError> {
        let Awaited {
            socket,
            bus,
            subscribers,
            secrets,
            is_quiet,
        } = awaited;
        let parts = ServerParts {
            handle,
            bus,
            subscribers,
            clock,
            secrets,
            is_quiet,
            start,
        };
        let (running, ended) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            parts,
            connections: AtomicUsize::new(0),
            subscribed: Mutex::new(0),
            last: OnceLock::new(),
            ended,
        });
        let Socket { listener, guard } = socket;
        let accepting = Arc::clone(&shared);
        thread::Builder::new()
            .name("control".into())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Self {
            shared,
            guard,
            _running: running,
        })
    }

    /// Returns the guard of the file, for an exit without drops.
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// Ends the socket after the run. Subscribers receive the remaining events and `summary`, the last line.
    pub fn finish(self, summary: Vec<u8>) {
        let Self {
            shared,
            guard,
            _running: running,
        } = self;
        guard.remove();
        let _first = shared.last.set(summary);
        drop(running);
        let deadline = Instant::now() + LINGER;
        while shared.connections.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Accepts connections until the process ends.
fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(AFTER_ERROR);
            continue;
        };
        let number = shared.connections.fetch_add(1, Ordering::AcqRel);
        let counted = Counted(Arc::clone(shared));
        if number >= MAX_CONNECTIONS {
            refuse(stream, shared, TooManyConnections(MAX_CONNECTIONS));
            continue;
        }
        // If no thread can be started, the connection is closed.
        let _no_thread = thread::Builder::new()
            .name("connection".into())
            .spawn(move || Connection::new(stream, counted).map(Connection::serve));
    }
}

/// Refuses a connection with one line, which fits an empty socket buffer, so that the write does not block.
fn refuse(mut stream: UnixStream, shared: &Shared, why: TooManyConnections) {
    let mut line = Vec::new();
    let now = shared.parts.clock.now();
    jsonl::answer(now, None, None, Err(why), shared.parts.definitions(), &mut line);
    let _left = stream
        .set_nonblocking(true)
        .and_then(|()| stream.write_all(&line));
}

/// A connection, counted until this value is dropped.
#[derive(Debug)]
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

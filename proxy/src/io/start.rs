//! Starts and ends the data thread.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::sync_channel,
    },
    thread::{self, JoinHandle},
};

use teetap_rules::{Program, Report};
use tokio::{
    runtime,
    sync::{mpsc, watch},
    task::LocalSet,
};

use super::{
    bus::{Bus, Stage},
    client_addresses::ClientAddresses,
    clock::Clock,
    driver::{self, Descriptors, DriverParts, Ended, ProxyState, Reply, Request},
    input_log, journal,
    listen::{DEFAULT_PORT, Listen, StartError},
    log_file::{Faults, LogFile, Writing},
    priority::Nice,
};
use crate::session::{Answer, Command, CommandId, Config, Hub, Route};

/// Maximum number of requests that wait for the data thread.
const REQUESTS: usize = 1024;

/// The settings of a proxy.
#[derive(Clone, Debug)]
pub struct Settings<S: Stage> {
    /// Address of the server.
    pub target: SocketAddr,
    /// The listen address, to which clients connect.
    pub listen: Listen,
    /// True if each session gets a local address of its own, 127.x.y.z, towards a server on the loopback interface.
    pub client_addresses: bool,
    /// The configuration of the core.
    pub config: Config,
    /// The bus on which events are published. A watcher that subscribes before the start misses none.
    pub bus: Bus<S::Made>,
    /// The stage that converts events for the watchers.
    pub stage: S,
    /// The niceness of the stage's thread.
    pub nice: Nice,
    /// The clock of the run.
    pub clock: Clock,
    /// The file for the inputs of the core; `None` for no log.
    pub input_log: Option<LogFile>,
    /// The file for the decisions of rules and link lines; `None` for no journal.
    pub journal: Option<LogFile>,
    /// The rules at the start; `None` for no rules.
    pub program: Option<Arc<Program>>,
}

/// The proxy, as a namespace for its start.
#[derive(Debug)]
pub struct Proxy;

impl Proxy {
    /// Opens the listen socket and starts the data thread.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing keeps running then.
    pub fn start<S: Stage>(settings: Settings<S>) -> Result<Running, StartError> {
        let Settings {
            target,
            listen,
            client_addresses,
            config,
            bus,
            stage,
            nice,
            clock,
            input_log,
            journal,
            program,
        } = settings;
        let socket = listen.open(target)?;
        let addr = socket.local_addr()?;
        let addresses = client_addresses.then(|| ClientAddresses::new(addr.port(), target));
        let addresses = addresses.transpose()?;
        // After the socket, so that no file is created if the address is in use. Before the runtime, which
        // cannot be dropped in the context in which the demo calls this.
        let log = input_log.map(|log| {
            let header = input_log::Header::new(log.version, &config, [target, addr], clock.wall());
            input_log::start(&log.path, &header)
        });
        let (log, writing) = log.transpose()?.unzip();
        let journal = journal.map(|log| {
            let header = journal::Header {
                journal: journal::VERSION,
                version: log.version.to_owned(),
                seed: config.seed,
                rules: program.as_ref().map_or("", |program| program.source()).to_owned(),
            };
            journal::start(&log.path, &header)
        });
        let (journal, writing_journal) = journal.transpose()?.unzip();
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let lines = {
            let _inside = runtime.enter();
            Descriptors::new(socket, target, addresses)?
        };
        let (request_sender, requests) = mpsc::channel(REQUESTS);
        let (stop_sender, stop) = watch::channel(None);
        let (publisher, worker) = bus.open(stage);
        let aux = thread::Builder::new().name("aux".into()).spawn(move || {
            nice.apply();
            worker.run(clock);
        })?;
        let route = Route {
            listen: addr,
            server: target,
        };
        let thread = thread::Builder::new().name("data".into()).spawn(move || {
            let parts = DriverParts {
                hub: Hub::new(config, route),
                clock,
                lines,
                bus: publisher,
                log,
                journal,
                program,
                requests,
                stop,
            };
            LocalSet::new().block_on(&runtime, driver::run(parts))
        })?;
        Ok(Running {
            addr,
            moved: listen == Listen::Default && addr.port() != DEFAULT_PORT,
            commands: Commands {
                last_command: Arc::default(),
                requests: request_sender,
                stop: stop_sender,
            },
            thread,
            aux,
            writing: writing.into_iter().chain(writing_journal).collect(),
        })
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Running {
    /// The address on which the proxy listens.
    pub addr: SocketAddr,
    /// True if the default port was in use, or is the server's own, so that another port was chosen.
    pub moved: bool,
    commands: Commands,
    thread: JoinHandle<Option<Ended>>,
    /// The thread that decodes events and passes them to watchers.
    aux: JoinHandle<()>,
    /// The writers of the input log and the journal.
    writing: Vec<Writing>,
}

impl Running {
    /// Returns a handle that sends requests to the proxy. The proxy ends if all handles are dropped.
    #[must_use]
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Returns handles that report if the input log or the journal has ended before the run.
    #[must_use]
    pub fn log_faults(&self) -> Vec<Faults> {
        self.writing.iter().map(Writing::faults).collect()
    }

    /// Returns true if the data thread has ended, or if the thread that decodes events has panicked, since
    /// watchers would receive no more events without it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished() || self.aux.is_finished()
    }

    /// Waits for the end. Call [`Commands::stop`] first; after that, the end takes at most half a second plus
    /// the time to finish writing the input log and the journal.
    ///
    /// # Errors
    /// [`Crashed`] if the data thread or the thread that decodes events panicked.
    pub fn join(self) -> Result<Ended, Crashed> {
        let Self {
            commands,
            thread,
            aux,
            writing,
            ..
        } = self;
        drop(commands);
        let ended = thread.join().ok().flatten().ok_or(Crashed);
        // Afterwards watchers can read all events.
        let ended = aux.join().map_err(|_| Crashed).and(ended);
        for writing in writing {
            writing.finish();
        }
        ended
    }
}

/// A handle that sends requests to a running proxy; cheap to clone.
#[derive(Clone, Debug)]
pub struct Commands {
    /// Number of the last command. Numbers are never reused.
    last_command: Arc<AtomicU64>,
    requests: mpsc::Sender<Request>,
    stop: watch::Sender<Option<Box<[u8]>>>,
}

impl Commands {
    /// Sends a request.
    ///
    /// # Errors
    /// [`Busy`] if the proxy has ended or 1024 requests are waiting.
    pub fn send(&self, request: Request) -> Result<(), Busy> {
        self.requests.try_send(request).map_err(|_| Busy)
    }

    /// Sends a command. Returns the number that its [`Answer`](crate::session::Answer) will have.
    ///
    /// # Errors
    /// See [`Self::send`].
    pub fn command(&self, command: Command) -> Result<CommandId, Busy> {
        let id = self.next_command();
        self.send(Request::Command(id, command, None))?;
        Ok(id)
    }

    /// Returns the rules and link lines with their effects, after all requests that were sent before.
    ///
    /// # Errors
    /// See [`Self::send`].
    pub fn report(&self) -> Result<Report, Busy> {
        self.wait(Request::Report)
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// See [`Self::send`].
    pub fn ask(&self, command: Command) -> Result<Answer, Busy> {
        self.wait(|reply| Request::Command(self.next_command(), command, Some(reply)))
    }

    /// Returns the sessions and the counters, after all requests that were sent before.
    ///
    /// # Errors
    /// See [`Self::send`].
    pub fn look(&self) -> Result<ProxyState, Busy> {
        self.wait(Request::Look)
    }

    fn next_command(&self) -> CommandId {
        CommandId(self.last_command.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn wait<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, Busy> {
        let (reply, replied) = sync_channel(1);
        self.send(request(reply))?;
        // When the data thread ends, it drops the requests that it has not handled.
        replied.recv().map_err(|_| Busy)
    }

    /// Ends the run: both peers of each session get a CLOSE with `reason`. Only the reason of the first call
    /// is used.
    pub fn stop(&self, reason: &str) {
        self.stop.send_if_modified(|requested| {
            let first = requested.is_none();
            if first {
                *requested = Some(reason.as_bytes().into());
            }
            first
        });
    }
}

/// The proxy did not accept a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proxy has ended, or too many requests are pending")]
pub struct Busy;

/// The data thread panicked; the message is on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data thread crashed: this is a bug in teetap")]
pub struct Crashed;

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;

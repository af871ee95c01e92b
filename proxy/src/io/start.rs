//! Starting and ending the data thread.

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
    clock::Clock,
    driver::{self, Ended, Lines, Look, Parts, Reply, Request},
    input_log, journal,
    listen::{DEFAULT_PORT, Listen, StartError},
    log_file::{Faults, LogFile, Writing},
    priority::Nice,
};
use crate::session::{Answer, Command, CommandId, Config, Hub, Route};

/// Requests that may wait for the data thread.
const REQUESTS: usize = 1024;

/// The settings of a proxy.
#[derive(Clone, Debug)]
pub struct Settings<S: Stage> {
    /// The server.
    pub target: SocketAddr,
    /// The address that clients connect to.
    pub listen: Listen,
    /// The configuration of the core.
    pub config: Config,
    /// The bus that events go to. Watch it before the start and nothing is missed.
    pub bus: Bus<S::Made>,
    /// The stage that turns events into the values that watchers get.
    pub stage: S,
    /// How far the thread of the stage gives way to the data thread.
    pub nice: Nice,
    /// The clock of the run.
    pub clock: Clock,
    /// The log that every input of the core is written to; `None` for no log.
    pub input_log: Option<LogFile>,
    /// The journal that decisions of rules and link lines are written to; `None` for no journal.
    pub journal: Option<LogFile>,
    /// The rules from the start on; `None` = none.
    pub program: Option<Arc<Program>>,
}

/// The proxy: a namespace for its start.
#[derive(Debug)]
pub struct Proxy;

impl Proxy {
    /// Opens the listen socket and starts the data thread.
    ///
    /// # Errors
    /// See [`StartError`]; nothing runs then.
    pub fn start<S: Stage>(settings: Settings<S>) -> Result<Running, StartError> {
        let Settings {
            target,
            listen,
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
        // After the socket, so that an address that is taken leaves no file behind; before the runtime, which cannot be
        // dropped where the demo calls this.
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
            Lines::new(socket, target)?
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
            let parts = Parts {
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

/// A proxy that runs.
#[derive(Debug)]
pub struct Running {
    /// The address that it listens on.
    pub addr: SocketAddr,
    /// True if the default port was taken, or the server's own, so that the next free one was used.
    pub moved: bool,
    commands: Commands,
    thread: JoinHandle<Option<Ended>>,
    /// Decodes events and passes them on.
    aux: JoinHandle<()>,
    /// The writers of the input log and the journal.
    writing: Vec<Writing>,
}

impl Running {
    /// Returns a handle that sends requests to the proxy; the proxy ends when the last one is dropped.
    #[must_use]
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Returns handles that report when the input log or the journal has ended before the run.
    #[must_use]
    pub fn log_faults(&self) -> Vec<Faults> {
        self.writing.iter().map(Writing::faults).collect()
    }

    /// Returns true once the data thread has ended, or the thread that decodes events died of a bug: without it watchers
    /// see nothing more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished() || self.aux.is_finished()
    }

    /// Waits for the end; call [`Commands::stop`] first. From then on it takes at most half a second, plus the time to finish
    /// writing the input log and the journal.
    ///
    /// # Errors
    /// [`Crashed`] when the data thread died of a bug.
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
        // Watchers see everything that happened.
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
    /// Numbers of commands are never used twice.
    last_command: Arc<AtomicU64>,
    requests: mpsc::Sender<Request>,
    stop: watch::Sender<Option<Box<[u8]>>>,
}

impl Commands {
    /// Sends a request.
    ///
    /// # Errors
    /// [`Busy`] when the proxy has ended or a thousand requests already wait.
    pub fn send(&self, request: Request) -> Result<(), Busy> {
        self.requests.try_send(request).map_err(|_| Busy)
    }

    /// Sends a command. Returns the number that its [`Answer`](crate::session::Answer) will have.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn command(&self, command: Command) -> Result<CommandId, Busy> {
        let id = self.next_command();
        self.send(Request::Command(id, command, None))?;
        Ok(id)
    }

    /// Returns the rules and link lines with their effects so far, after everything that was sent before.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn report(&self) -> Result<Report, Busy> {
        self.wait(Request::Report)
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn ask(&self, command: Command) -> Result<Answer, Busy> {
        self.wait(|reply| Request::Command(self.next_command(), command, Some(reply)))
    }

    /// Returns the sessions and the counts, after everything that was sent before.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn look(&self) -> Result<Look, Busy> {
        self.wait(Request::Look)
    }

    fn next_command(&self) -> CommandId {
        CommandId(self.last_command.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn wait<T>(&self, request: impl FnOnce(Reply<T>) -> Request) -> Result<T, Busy> {
        let (reply, replied) = sync_channel(1);
        self.send(request(reply))?;
        // The data thread drops the requests that it did not handle when it ends.
        replied.recv().map_err(|_| Busy)
    }

    /// Ends the run: CLOSE with `reason` to both legs of every session. Only the first reason counts.
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

/// The request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the proxy takes no more requests")]
pub struct Busy;

/// The data thread died of a bug; its message is on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data thread crashed: this is a bug in teetap")]
pub struct Crashed;

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;

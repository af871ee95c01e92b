//! A run: the proxy, its events, its rules and its findings.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use teetap_inspect::{
    DecodedEvent, Decoder, Stated,
    judge::{self, Findings},
};
use teetap_proxy::{
    io::{
        Clock, Commands, Ended, Faults, KernelDrops, Proxy, Request, Running, Seen, Settings, StartError,
        Watcher, probe::Finding,
    },
    session::{Level, Time},
};
use teetap_wire::def::Registry;

use crate::{
    commands::{Handle, Origin, StatusLine},
    control::{Awaited, Control, ControlError},
    query::Query,
    recording,
    rules::SharedRules,
};

/// Interval at which [`Run::wait`] polls for events.
const POLL: Duration = Duration::from_millis(1);

/// Parts of a run that [`Run::start`] joins.
pub(crate) struct Plan {
    /// Settings of the proxy, with the decoder of its events.
    pub(crate) settings: Settings<Decoder>,
    /// Rules from which the program in `settings` was compiled.
    pub(crate) rules: SharedRules,
    /// Release that the server states, shared with the decoder.
    pub(crate) stated: Stated,
    /// Findings that the decoder collects; `None` if it does not decode every event.
    pub(crate) judge: Option<judge::SharedJudge>,
    /// Control socket.
    pub(crate) control: Option<Awaited>,
}

/// A run in process.
#[derive(Debug)]
pub struct Run {
    /// `None` once the proxy was joined.
    proxy: Option<Running>,
    addr: SocketAddr,
    commands: Commands,
    watcher: Watcher<DecodedEvent>,
    clock: Clock,
    seed: u64,
    rules: SharedRules,
    drops: KernelDrops,
    stated: Stated,
    judge: Option<judge::SharedJudge>,
    recording: Option<recording::Running>,
    registry: &'static Registry,
    /// Lines for the user, and the sender that handles clone.
    news: (mpsc::Sender<StatusLine>, mpsc::Receiver<StatusLine>),
    /// `None` once the socket is served.
    control: Option<Awaited>,
    query: Query,
    /// True once a command has ended the run; shared with the handles.
    is_stopped: Arc<AtomicBool>,
}

impl Run {
    /// Starts the proxy.
    ///
    /// # Errors
    /// See [`StartError`]. No part of the run has started then.
    pub(crate) fn start(plan: Plan) -> Result<Self, StartError> {
        let Plan {
            settings,
            rules,
            stated,
            judge,
            control,
        } = plan;
        // Watches before the start, so that no event is missed.
        let watcher = settings.bus.watch();
        let (clock, seed) = (settings.clock, settings.config.seed);
        let registry = settings.config.registry;
        let query = Query::new(settings.target, settings.config.proto);
        let proxy = Proxy::start(settings)?;
        Ok(Self {
            addr: proxy.addr,
            commands: proxy.commands(),
            proxy: Some(proxy),
            watcher,
            clock,
            seed,
            rules,
            drops: KernelDrops::default(),
            stated,
            judge,
            recording: None,
            registry,
            news: mpsc::channel(),
            control,
            query,
            is_stopped: Arc::default(),
        })
    }

    /// Returns the address on which the proxy listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the address for clients on this machine: the loopback address if the proxy listens on all addresses.
    #[must_use]
    pub fn reachable(&self) -> SocketAddr {
        let ip = match self.addr.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.addr.port())
    }

    /// Returns true if the default port, or the server's own port, was in use, so that the next free one is used.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| proxy.moved)
    }

    /// Returns the clock of the events.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the seed of all random decisions.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns a handle that carries out commands of this origin. The proxy ends when the run and all handles are
    /// dropped.
    #[must_use]
    pub fn handle(&self, from: Origin) -> Handle {
        Handle {
            commands: self.commands(),
            rules: self.rules.clone(),
            registry: self.registry,
            news: self.news.0.clone(),
            from,
            is_stopped: Arc::clone(&self.is_stopped),
        }
    }

    /// Returns true once [`Command::Stop`](teetap_inspect::control::Command::Stop) was carried out. The caller then ends
    /// the run.
    #[must_use]
    pub fn is_asked_to_stop(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Serves the control socket; returns `None` if the run has none, or it is already served. Each connection first
    /// receives the line `start`.
    ///
    /// # Errors
    /// The system has no threads or descriptors left.
    pub fn serve(&mut self, start: Vec<u8>) -> Result<Option<Control>, ControlError> {
        let Some(awaited) = self.control.take() else {
            return Ok(None);
        };
        Control::start(awaited, self.handle(Origin::Socket), self.clock, start).map(Some)
    }

    /// Returns the lines for the user about commands since the last call, in order.
    pub fn news(&self) -> impl Iterator<Item = StatusLine> {
        self.news.1.try_iter()
    }

    /// Returns a sender of requests to the data thread. The proxy ends when the run and all senders are dropped.
    #[must_use]
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Returns the rules, which can be changed.
    #[must_use]
    pub const fn rules(&self) -> &SharedRules {
        &self.rules
    }

    /// Returns handles that report an input log or a journal that ended before the run.
    #[must_use]
    pub fn log_faults(&self) -> Vec<Faults> {
        self.proxy.as_ref().map(Running::log_faults).unwrap_or_default()
    }

    /// Returns the next event, or a gap if this reader was too slow; `None` if there is none yet.
    pub fn poll(&mut self) -> Option<Seen<DecodedEvent>> {
        self.watcher.poll()
    }

    /// Waits for the next event. Returns `None` after `timeout`, or if the proxy has ended.
    pub fn wait(&mut self, timeout: Duration) -> Option<Seen<DecodedEvent>> {
        let end = Instant::now() + timeout;
        loop {
            // Checked before the poll, so that the last events are not missed.
            let is_last = self.is_finished() || Instant::now() >= end;
            match self.watcher.poll() {
                Some(seen) => return Some(seen),
                None if is_last => return None,
                None => thread::sleep(POLL),
            }
        }
    }

    /// Returns the number of events that [`Self::poll`] missed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.watcher.lost()
    }

    /// Returns true if the proxy has ended, because it was stopped or crashed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.proxy.as_ref().is_none_or(Running::is_finished)
    }

    /// Reads changed files of rules again and sets the new program. Returns lines for the user.
    pub fn reload_rules(&mut self) -> Vec<StatusLine> {
        // While a command changes the rules, the next call is soon enough.
        let Some(mut rules) = self.rules.try_lock() else {
            return Vec::new();
        };
        let (mut lines, program) = rules.reload();
        if let Some(program) = program
            && let Err(busy) = self.commands.send(Request::Program(Some(program)))
        {
            lines.push((Level::Warning, format!("cannot set the rules: {busy}")));
        }
        lines
    }

    /// Returns the number of datagrams that the kernel dropped since the last call, because the receive buffer was
    /// full.
    pub fn kernel_drops(&mut self) -> u64 {
        // Zero if the system does not count them.
        self.drops.look().unwrap_or(0)
    }

    /// Returns the total of datagrams that [`Self::kernel_drops`] returned.
    #[must_use]
    pub fn all_kernel_drops(&self) -> u64 {
        self.drops.total()
    }

    /// Queries the server in the background for its protocols and for its version, which findings mention.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn probe(&mut self) -> io::Result<()> {
        self.query.start(self.commands.clone(), self.clock)
    }

    /// Returns the result of [`Self::probe`], once; `None` until it is available.
    pub fn probed(&mut self) -> Option<Finding> {
        let finding = self.query.result()?;
        if let Some(version) = finding.version() {
            self.stated.learn(version);
        }
        Some(finding)
    }

    /// Returns the findings so far, ranked; `None` if not every event is decoded.
    #[must_use]
    pub fn findings(&self) -> Option<Findings> {
        self.judge.as_ref().map(judge::SharedJudge::findings)
    }

    /// Waits for the end of the proxy, after [`Commands::stop`]. Returns its counts and the rules with their effects;
    /// `None` if the data thread crashed. [`Self::poll`] then returns the remaining events.
    pub fn join(&mut self) -> Option<Ended> {
        self.proxy.take()?.join().ok()
    }

    /// Sets the recording, which [`Self::stop`] completes.
    pub(crate) fn record(&mut self, recording: recording::Running) {
        self.recording = Some(recording);
    }

    /// Ends the run: sends CLOSE with `reason` to both peers of every session, completes the recording, and returns the
    /// summary.
    #[must_use]
    pub fn stop(mut self, reason: &str) -> Summary {
        self.commands.stop(reason);
        let ended = self.join();
        let events = std::iter::from_fn(|| self.poll()).collect();
        let recorded = self.recording.take();
        Summary {
            at: self.clock.now(),
            ended,
            events,
            recorded: recorded.map(|recording| recording.finish().0),
            findings: self.findings(),
        }
    }
}

/// Facts at the end of a run.
#[derive(Debug)]
pub struct Summary {
    /// Time of the end, since the start of the clock.
    pub at: Time,
    /// Counts, and the rules with their effects; `None` if the data thread crashed.
    pub ended: Option<Ended>,
    /// Events that were not polled before the end.
    pub events: Vec<Seen<DecodedEvent>>,
    /// Result of the recording; `None` if the run was not recorded.
    pub recorded: Option<recording::Outcome>,
    /// Findings, ranked; `None` if not every event was decoded.
    pub findings: Option<Findings>,
}

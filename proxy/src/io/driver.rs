//! The data thread: receives datagrams, runs the core, sends datagrams.
//!
//! Law: one thread, no locks, and no blocking calls. After every input the core is drained: its datagrams are
//! sent immediately, and only then are its events published. At most [`BURST`] datagrams are read at a time
//! from a client socket, and one from each other socket, so that a flood on one socket does not starve the
//! others.

use std::{
    cell::RefCell,
    io,
    net::{SocketAddr, UdpSocket},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use teetap_rules::{Program, Report};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::{spawn_local, yield_now},
    time::{sleep, timeout},
};

use super::{
    bus::Publisher,
    client_addresses::ClientAddresses,
    clock::Clock,
    input_log::Recorder,
    journal::JournalWriter,
    readiness::{Batch, Readiness, Ready, Source, Which},
    sockets::{Counters, SocketEvent, Sockets},
    timer::Timer,
    udp,
};
use crate::session::{
    Answer, Command, CommandId, Event, EventKind, Events, Hub, Input, Listed, ListenerId, Speaks, Stats,
    Time, UpstreamId,
};

/// Maximum datagrams read from one client socket before polling the next.
const BURST: usize = 32;

/// Rounds of reading before the thread yields to its other tasks.
const ROUNDS: u32 = 16;

/// Maximum number of socket events handled after one input; the rest is handled after the next input. Bounds
/// the work for a network that answers every datagram with an error.
const NEWS: usize = 64;

/// Maximum time at the end of a run for sending datagrams for which the kernel had no room.
const LINGER: Duration = Duration::from_millis(400);

/// Pause after a round with only errors, so that a lasting error does not occupy the CPU.
const AFTER_ERROR: Duration = Duration::from_millis(1);

/// Maximum size of a UDP datagram in bytes.
const LARGEST: usize = 65_535;

/// A request to the data thread of a running proxy.
pub enum Request {
    /// A user's command, its number, and the receiver of the answer. The answer is also an event for
    /// watchers.
    Command(CommandId, Command, Option<Reply<Answer>>),
    /// New rules; `None` removes all rules.
    Program(Option<Arc<Program>>),
    /// Requests a report about the rules.
    Report(Reply<Report>),
    /// Changes the events that the core emits.
    Watch(Events),
    /// Result of a probe: the protocols that the server is known to speak.
    Probed(Speaks),
    /// Requests the sessions and the counters.
    Look(Reply<ProxyState>),
}

/// The receiver of a reply. Its channel holds one reply, so that the data thread never blocks.
pub type Reply<T> = std::sync::mpsc::SyncSender<T>;

/// The sessions and counters of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyState {
    /// The sessions, in the order of their numbers.
    pub sessions: Vec<Listed>,
    /// The counters of the core.
    pub stats: Stats,
    /// The counters of the sockets.
    pub counters: Counters,
}

/// The parts of the data thread.
pub(super) struct DriverParts {
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) lines: Descriptors,
    pub(super) bus: Publisher,
    pub(super) log: Option<Recorder>,
    pub(super) journal: Option<JournalWriter>,
    /// The rules at the start, which are the first input; `None` without rules.
    pub(super) program: Option<Arc<Program>>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) stop: watch::Receiver<Option<Box<[u8]>>>,
}

/// The file descriptors of the data thread.
#[derive(Debug)]
pub(super) struct Descriptors {
    readiness: Arc<Readiness>,
    sockets: Sockets,
    timer: Timer,
}

impl Descriptors {
    /// Registers the descriptors of a proxy: `listen` is the socket to which clients send, `target` the
    /// server. Requires a runtime.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub(super) fn new(
        listen: UdpSocket,
        target: SocketAddr,
        addresses: Option<ClientAddresses>,
    ) -> io::Result<Self> {
        let (readiness, timer) = (Arc::new(Readiness::new()?), Timer::new()?);
        readiness.add(Source::Timer, &timer)?;
        Ok(Self {
            sockets: Sockets::new(listen, target, addresses, Arc::clone(&readiness))?,
            readiness,
            timer,
        })
    }
}

/// Results of a run.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The counters of the core.
    pub stats: Stats,
    /// The counters of the sockets.
    pub counters: Counters,
    /// The rules and link lines with their effects.
    pub report: Report,
}

/// Runs until it is stopped, with a reason that is sent to the peers. Returns `None` if a task panicked.
pub(super) async fn run(parts: DriverParts) -> Option<Ended> {
    let DriverParts {
        hub,
        clock,
        lines,
        bus,
        log,
        journal,
        program,
        requests,
        stop,
    } = parts;
    let mut hub = hub;
    if journal.is_some() {
        hub.record_decisions();
    }
    let driver = Shared::new(RefCell::new(Driver {
        hub,
        clock,
        sockets: lines.sockets,
        bus,
        log,
        journal,
        events: Vec::new(),
        awaited: None,
        buffer: vec![0; LARGEST],
        timer: lines.timer,
        armed: None,
        crashed: Rc::default(),
    }));
    if program.is_some() {
        driver.borrow_mut().handle(Input::Program(program));
    }
    spawn_local(keep_reading(Rc::clone(&driver), lines.readiness));
    let reason = serve(&driver, requests, stop).await?;
    driver.borrow_mut().handle(Input::Shutdown { reason: &reason });
    let _out_of_time = timeout(LINGER, async {
        while !driver.borrow().sockets.is_idle() {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let mut driver = driver.borrow_mut();
    // The logs are complete. Dropping their senders lets the writers finish.
    driver.log = None;
    driver.journal = None;
    Some(Ended {
        stats: driver.hub.stats(),
        counters: driver.sockets.counters,
        report: driver.hub.report(),
    })
}

/// The driver, shared by the tasks of one thread. Never borrowed across an await.
type Shared = Rc<RefCell<Driver>>;

struct Driver {
    hub: Hub,
    clock: Clock,
    sockets: Sockets,
    bus: Publisher,
    /// The input log; `None` if it was not requested.
    log: Option<Recorder>,
    /// The journal; `None` if it was not requested.
    journal: Option<JournalWriter>,
    /// Events of the current input, which are published after all datagrams are sent.
    events: Vec<Event>,
    /// The command of the current input, and the receiver of its answer.
    awaited: Option<(CommandId, Reply<Answer>)>,
    /// A buffer for received datagrams.
    buffer: Vec<u8>,
    timer: Timer,
    /// The time for which the timer is set; `None` if it is not set.
    armed: Option<Time>,
    /// Notified when a task panics.
    crashed: Rc<Notify>,
}

/// A guard in every task. It ends the run if the task panics, because tokio itself would continue.
struct Witness(Rc<Notify>);

impl Witness {
    fn from_shared(driver: &Shared) -> Self {
        Self(Rc::clone(&driver.borrow().crashed))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.notify_one();
        }
    }
}

impl Driver {
    /// Handles an input and the socket events that it causes.
    fn handle(&mut self, input: Input<'_>) {
        self.step(input);
        for _ in 0..NEWS {
            let Some(news) = self.sockets.news.pop_front() else {
                break;
            };
            match news {
                SocketEvent::Opened(upstream, local) => self.step(Input::UpstreamOpened { upstream, local }),
                SocketEvent::Failed(upstream, error) => {
                    self.step(Input::UpstreamFailed {
                        upstream,
                        error: &error.to_string(),
                        exhausted: udp::is_exhausted(&error),
                    });
                }
                SocketEvent::ListenerOpened(listener, local) => {
                    self.step(Input::ListenerOpened { listener, local });
                }
                SocketEvent::ListenerFailed(listener, error) => {
                    self.step(Input::ListenerFailed {
                        listener,
                        error: &error.to_string(),
                    });
                }
                SocketEvent::Unreachable(upstream, error) => {
                    self.step(Input::Unreachable {
                        upstream,
                        error: &error.to_string(),
                    });
                }
            }
        }
        for mut event in self.events.drain(..) {
            self.sockets.name(&mut event);
            if let (EventKind::Answer(answer), Some((id, reply))) = (&event.what, &self.awaited)
                && answer.id == *id
            {
                // The sender of the command may no longer wait.
                let _left = reply.try_send(answer.clone());
            }
            self.bus.publish(event);
        }
        self.arm();
    }

    fn command(&mut self, id: CommandId, command: Command, reply: Option<Reply<Answer>>) {
        self.awaited = reply.map(|reply| (id, reply));
        self.handle(Input::Command { id, command });
        self.awaited = None;
    }

    fn look(&self) -> ProxyState {
        ProxyState {
            sessions: self.hub.list(),
            stats: self.hub.stats(),
            counters: self.sockets.counters,
        }
    }

    /// Sets the timer for the next deadline. If the deadline moves to a later time, the timer is not moved:
    /// it fires early and is set again.
    fn arm(&mut self) {
        let Some(deadline) = self.hub.deadline() else {
            return;
        };
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        match self.timer.set(deadline.since(self.clock.now())) {
            Ok(()) => self.armed = Some(deadline),
            // Tried again after the next input.
            Err(_) => self.sockets.counters.errors += 1,
        }
    }

    fn step(&mut self, input: Input<'_>) {
        let now = self.clock.now();
        if let Some(log) = &mut self.log {
            log.begin(now, &input);
        }
        self.hub.handle(now, input);
        while let Some(output) = self.hub.poll() {
            if let Some(log) = &mut self.log {
                log.output(&output);
            }
            self.sockets.carry_out(output, &mut self.events);
        }
        if let Some(log) = &mut self.log {
            log.end();
        }
        if let Some(journal) = &mut self.journal {
            journal.decisions(self.hub.decisions());
            journal.entries(self.hub.entries());
        }
    }

    /// Replaces the rules.
    fn reload(&mut self, program: Option<Arc<Program>>) {
        if let Some(journal) = &mut self.journal {
            let text = program.as_ref().map(|program| program.source());
            journal.rules(self.clock.now(), text);
        }
        self.handle(Input::Program(program));
    }

    fn on_time(&mut self) {
        self.timer.clear();
        self.armed = None;
        if self
            .hub
            .deadline()
            .is_some_and(|deadline| deadline <= self.clock.now())
        {
            self.handle(Input::Timeout);
        }
        self.arm();
    }

    /// Handles a source that is ready. Returns false if reading from it failed.
    fn on_ready(&mut self, ready: Ready) -> bool {
        let Source::Socket(which) = ready.source else {
            self.on_time();
            return true;
        };
        if ready.writable {
            self.sockets.flush(which);
        }
        if !ready.readable {
            return true;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = match which {
            Which::Listen(listener) => self.read_clients(listener, &mut buffer),
            Which::Upstream(upstream) => self.read_server(upstream, &mut buffer),
        };
        self.buffer = buffer;
        match result {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.on_error(which, &error);
                false
            }
            _ => true,
        }
    }

    fn read_clients(&mut self, listener: ListenerId, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..BURST {
            let (len, addr) = self.sockets.receive_from_client(listener, buffer)?;
            let bytes = buffer.get(..len).unwrap_or_default();
            self.handle(Input::FromClient {
                listener,
                addr,
                bytes,
            });
        }
        Ok(())
    }

    /// Reads one datagram. Usually there is only one; if there are more, the socket is ready again.
    fn read_server(&mut self, upstream: UpstreamId, buffer: &mut [u8]) -> io::Result<()> {
        let len = self.sockets.receive_from_server(upstream, buffer)?;
        let bytes = buffer.get(..len).unwrap_or_default();
        self.handle(Input::FromServer { upstream, bytes });
        Ok(())
    }

    /// Counts an error. An error on a listen socket means that some client is unreachable, without saying
    /// which one. An error on a connected socket is about the server.
    fn on_error(&mut self, which: Which, error: &io::Error) {
        self.sockets.counters.errors += 1;
        if let Which::Upstream(upstream) = which {
            self.handle(Input::Unreachable {
                upstream,
                error: &error.to_string(),
            });
        }
    }
}

/// Reads from all sources that are ready, forever.
async fn keep_reading(driver: Shared, readiness: Arc<Readiness>) {
    let _witness = Witness::from_shared(&driver);
    let mut batch = Batch::new();
    let mut rounds = 0;
    loop {
        if readiness.wait(&mut batch).await.is_err() {
            sleep(AFTER_ERROR).await;
            continue;
        }
        let mut is_well = false;
        for ready in batch.iter() {
            is_well |= driver.borrow_mut().on_ready(ready);
        }
        if !is_well {
            sleep(AFTER_ERROR).await;
        }
        rounds += 1;
        if rounds == ROUNDS {
            rounds = 0;
            yield_now().await;
        }
    }
}

/// Handles requests. Returns the reason to stop, or `None` after a panic.
async fn serve(
    driver: &Shared,
    mut requests: mpsc::Receiver<Request>,
    mut stop: watch::Receiver<Option<Box<[u8]>>>,
) -> Option<Box<[u8]>> {
    let crashed = Rc::clone(&driver.borrow().crashed);
    loop {
        tokio::select! {
            biased;
            () = crashed.notified() => return None,
            // An error means that all handles that could stop the run are dropped.
            reason = stop.wait_for(Option::is_some) => {
                return Some(reason.ok().and_then(|reason| reason.clone()).unwrap_or_default());
            }
            Some(request) = requests.recv() => match request {
                Request::Command(id, command, reply) => driver.borrow_mut().command(id, command, reply),
                Request::Program(program) => driver.borrow_mut().reload(program),
                Request::Report(reply) => {
                    let _left = reply.try_send(driver.borrow().hub.report());
                }
                Request::Watch(events) => driver.borrow_mut().hub.watch(events),
                Request::Probed(speaks) => driver.borrow_mut().handle(Input::Probed(speaks)),
                Request::Look(reply) => {
                    let _left = reply.try_send(driver.borrow().look());
                }
            },
        }
    }
}

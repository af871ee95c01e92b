//! The data thread: sockets in, core, sockets out.
//!
//! Law: one thread, no locks, no waiting inside. After every input the core is drained, what it sends is sent at
//! once, and only then are its events published. Of a socket of clients at most [`BURST`] datagrams are read at a time, of
//! each other one, so that a flood on one does not starve the others.

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
    clock::Clock,
    input_log::Recorder,
    journal::Scribe,
    readiness::{Batch, Readiness, Ready, Source, Which},
    sockets::{Counters, News, Sockets},
    timer::Timer,
    udp,
};
use crate::session::{
    Answer, Command, CommandId, Event, Events, Hub, Input, Listed, ListenerId, Speaks, Stats, Time,
    UpstreamId, What,
};

/// Datagrams read from a socket of clients before the others have their turn.
const BURST: usize = 32;

/// Rounds of reading before the other tasks of the thread have their turn.
const ROUNDS: u32 = 16;

/// News handed in after one input, at most; the rest follows with the next one. Bounds a network that answers every
/// datagram with an error.
const NEWS: usize = 64;

/// The time that the end waits for datagrams that the kernel has no room for.
const LINGER: Duration = Duration::from_millis(400);

/// A pause after a round of nothing but errors, so that a lasting one does not burn the thread.
const AFTER_ERROR: Duration = Duration::from_millis(1);

/// Bytes of the largest UDP datagram.
const LARGEST: usize = 65_535;

/// A request to a running proxy.
pub enum Request {
    /// A person's command, its number, and the receiver of the answer, which is an event for watchers in any case.
    Command(CommandId, Command, Option<Reply<Answer>>),
    /// New rules; `None` = none.
    Program(Option<Arc<Program>>),
    /// A report about the rules.
    Report(Reply<Report>),
    /// Changes the events that are emitted.
    Watch(Events),
    /// The protocols that the server speaks.
    Probed(Speaks),
    /// Reports the sessions and the counts.
    Look(Reply<Look>),
}

/// The receiver of a reply. It has room for one, so that the data thread never waits.
pub type Reply<T> = std::sync::mpsc::SyncSender<T>;

/// The sessions and the counts of a proxy.
#[derive(Clone, Debug)]
pub struct Look {
    /// The sessions in the order of their numbers.
    pub sessions: Vec<Listed>,
    /// The counters of the core.
    pub stats: Stats,
    /// The counters of the sockets.
    pub counters: Counters,
}

/// The parts of the data thread.
pub(super) struct Parts {
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) lines: Lines,
    pub(super) bus: Publisher,
    pub(super) log: Option<Recorder>,
    pub(super) journal: Option<Scribe>,
    /// The first input, if there are rules.
    pub(super) program: Option<Arc<Program>>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) stop: watch::Receiver<Option<Box<[u8]>>>,
}

/// The descriptors of the data thread.
#[derive(Debug)]
pub(super) struct Lines {
    readiness: Arc<Readiness>,
    sockets: Sockets,
    timer: Timer,
}

impl Lines {
    /// The descriptors of a proxy: `listen` is the socket that clients send to, `target` the server. Only inside a runtime.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub(super) fn new(listen: UdpSocket, target: SocketAddr) -> io::Result<Self> {
        let (readiness, timer) = (Arc::new(Readiness::new()?), Timer::new()?);
        readiness.add(Source::Timer, &timer)?;
        Ok(Self {
            sockets: Sockets::new(listen, target, Arc::clone(&readiness))?,
            readiness,
            timer,
        })
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The counters of the core.
    pub stats: Stats,
    /// The counters of the sockets.
    pub counters: Counters,
    /// The rules and link lines, with their effects.
    pub report: Report,
}

/// Runs until it is stopped, with the reason that the peers are shown; `None` when a task died of a bug.
pub(super) async fn run(parts: Parts) -> Option<Ended> {
    let Parts {
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
    // They are complete: their writers finish with them.
    driver.log = None;
    driver.journal = None;
    Some(Ended {
        stats: driver.hub.stats(),
        counters: driver.sockets.counters,
        report: driver.hub.report(),
    })
}

/// The driver and its tasks, all on one thread. Never borrowed across an await.
type Shared = Rc<RefCell<Driver>>;

struct Driver {
    hub: Hub,
    clock: Clock,
    sockets: Sockets,
    bus: Publisher,
    /// The input log, when one is wanted.
    log: Option<Recorder>,
    /// The journal, when one is wanted.
    journal: Option<Scribe>,
    /// Events of the current input, published after everything was sent.
    events: Vec<Event>,
    /// The command of the current input, and the receiver of its answer.
    awaited: Option<(CommandId, Reply<Answer>)>,
    /// A buffer for received datagrams.
    buffer: Vec<u8>,
    timer: Timer,
    /// The time at which the timer goes off.
    armed: Option<Time>,
    /// Notified when a task died of a bug.
    crashed: Rc<Notify>,
}

/// A guard held by every task: tokio outlives a task that panics; this ends the run instead.
struct Witness(Rc<Notify>);

impl Witness {
    fn of(driver: &Shared) -> Self {
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
    /// One input, and everything that follows from it.
    fn handle(&mut self, input: Input<'_>) {
        self.step(input);
        for _ in 0..NEWS {
            let Some(news) = self.sockets.news.pop_front() else {
                break;
            };
            match news {
                News::Opened(upstream, local) => self.step(Input::UpstreamOpened { upstream, local }),
                News::Failed(upstream, error) => {
                    self.step(Input::UpstreamFailed {
                        upstream,
                        error: &error.to_string(),
                        exhausted: udp::is_exhausted(&error),
                    });
                }
                News::ListenerOpened(listener, local) => {
                    self.step(Input::ListenerOpened { listener, local });
                }
                News::ListenerFailed(listener, error) => {
                    self.step(Input::ListenerFailed {
                        listener,
                        error: &error.to_string(),
                    });
                }
                News::Unreachable(upstream, error) => {
                    self.step(Input::Unreachable {
                        upstream,
                        error: &error.to_string(),
                    });
                }
            }
        }
        for mut event in self.events.drain(..) {
            self.sockets.name(&mut event);
            if let (What::Answer(answer), Some((id, reply))) = (&event.what, &self.awaited)
                && answer.id == *id
            {
                // The sender of the command may have left.
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

    fn look(&self) -> Look {
        Look {
            sessions: self.hub.list(),
            stats: self.hub.stats(),
            counters: self.sockets.counters,
        }
    }

    /// A deadline that moves back is left alone: the timer goes off early, and is set again.
    fn arm(&mut self) {
        let Some(deadline) = self.hub.deadline() else {
            return;
        };
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return;
        }
        match self.timer.set(deadline.since(self.clock.now())) {
            Ok(()) => self.armed = Some(deadline),
            // Tried again with the next input.
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

    /// Sets other rules.
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

    /// Handles something that is ready. Returns false if all it had was an error.
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

    /// One datagram: mostly there is no more, and if there is, the socket is ready again.
    fn read_server(&mut self, upstream: UpstreamId, buffer: &mut [u8]) -> io::Result<()> {
        let len = self.sockets.receive_from_server(upstream, buffer)?;
        let bytes = buffer.get(..len).unwrap_or_default();
        self.handle(Input::FromServer { upstream, bytes });
        Ok(())
    }

    /// Counts an error. On a listen socket it means that some client has left, not which one. On a connected socket
    /// it is about the server.
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

/// Reads what is ready, without end.
async fn keep_reading(driver: Shared, readiness: Arc<Readiness>) {
    let _witness = Witness::of(&driver);
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

/// Hands in what is requested; returns the reason to stop, or `None` after a crash.
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
            // An error means that no handle is left that could stop the run.
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

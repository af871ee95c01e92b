//! The data thread: sockets in, core, sockets out.
//!
//! Law: one thread, no locks, no waiting inside. After every input the core is drained, what it sends is sent at
//! once, and only then are the watchers told. A socket is read at most [`BURST`] datagrams at a time, so that a flood
//! on one does not starve the others.

use std::{cell::RefCell, io, net::SocketAddr, rc::Rc, time::Duration};

use teetap_rules::Decide;
use tokio::{
    net::UdpSocket,
    sync::{Notify, mpsc, watch},
    task::{spawn_local, yield_now},
    time::{sleep, sleep_until, timeout},
};

use super::{
    bus::Bus,
    clock::Clock,
    record::Recorder,
    sockets::{News, Sockets, Which},
    start::Ended,
    udp,
};
use crate::session::{Command, Event, Hub, Input, UpstreamId};

/// Datagrams read from one socket before the others have their turn.
const BURST: usize = 32;

/// News handed in after one input, at most; the rest follows with the next one. Bounds a network that answers every
/// datagram with an error.
const NEWS: usize = 64;

/// How long the end waits for datagrams that the kernel has no room for.
const LINGER: Duration = Duration::from_millis(400);

/// A pause after a socket has failed, so that a lasting error does not burn the thread.
const AFTER_ERROR: Duration = Duration::from_millis(1);

/// Bytes of the largest UDP datagram.
const LARGEST: usize = 65_535;

/// What may be asked of a running proxy.
pub enum Request {
    /// A person's command.
    Command(Command),
    /// New rules; `None` = none.
    Program(Option<Box<dyn Decide>>),
}

/// What the sockets counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that were not sent: no room, refused by the kernel, or no socket.
    pub unsent: u64,
    /// Errors that the network or the kernel reported, ICMP included.
    pub errors: u64,
}

/// What the data thread is made of.
pub(super) struct Parts {
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) sockets: Sockets,
    pub(super) bus: Bus,
    pub(super) log: Option<Recorder>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) stop: watch::Receiver<Option<Box<[u8]>>>,
}

/// Runs until it is told to stop, with the reason that the peers are shown; `None` when a task died of a bug.
pub(super) async fn run(parts: Parts) -> Option<Ended> {
    let Parts {
        hub,
        clock,
        sockets,
        bus,
        log,
        requests,
        stop,
    } = parts;
    let driver = Shared::new(RefCell::new(Driver {
        hub,
        clock,
        sockets,
        bus,
        log,
        events: Vec::new(),
        buffer: vec![0; LARGEST],
        timer: Rc::default(),
        armed: None,
        crashed: Rc::default(),
    }));
    start_reading(&driver, Which::Listen);
    spawn_local(keep_time(Rc::clone(&driver)));
    let reason = serve(&driver, requests, stop).await?;
    handle(&driver, Input::Command(Command::Shutdown { reason }));
    let _out_of_time = timeout(LINGER, async {
        while !driver.borrow().sockets.is_idle() {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let mut driver = driver.borrow_mut();
    // The log is complete: its writer finishes when nobody records any more.
    driver.log = None;
    Some(Ended {
        stats: driver.hub.stats(),
        counters: driver.sockets.counters,
    })
}

/// The driver and its tasks, all on one thread. Never borrowed across an await.
type Shared = Rc<RefCell<Driver>>;

struct Driver {
    hub: Hub,
    clock: Clock,
    sockets: Sockets,
    bus: Bus,
    /// The input log, when one is wanted.
    log: Option<Recorder>,
    /// Events of the current input, published after everything was sent.
    events: Vec<Event>,
    /// Where datagrams are received.
    buffer: Vec<u8>,
    /// Tells the timekeeper that the deadline has moved ahead.
    timer: Rc<Notify>,
    /// When the timekeeper wakes up, in microseconds since the start.
    armed: Option<crate::session::Time>,
    /// Tells that a task died of a bug.
    crashed: Rc<Notify>,
}

/// What every task holds. The runtime would go on without a task that panicked, deaf on its socket: the run ends instead.
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

/// Who sent a datagram.
enum Sender {
    Client(SocketAddr),
    Server(UpstreamId),
}

/// How reading a socket ended.
enum Drained {
    /// Nothing more is there.
    Empty,
    /// There may be more: the others first.
    More,
    /// The network or the kernel reported an error.
    Error,
    /// The socket is closed.
    Closed,
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
        for event in self.events.drain(..) {
            self.bus.publish(event);
        }
        // A deadline that moves back is left alone: the timekeeper wakes up early and looks again.
        if let Some(deadline) = self.hub.deadline()
            && self.armed.is_none_or(|armed| deadline < armed)
        {
            self.armed = Some(deadline);
            self.timer.notify_one();
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
    }

    fn on_time(&mut self) {
        if self
            .hub
            .deadline()
            .is_some_and(|deadline| deadline <= self.clock.now())
        {
            self.handle(Input::Timeout);
        }
    }

    /// Reads a socket until it is empty or the others should have their turn.
    fn read(&mut self, which: Which, socket: &UdpSocket) -> Drained {
        let mut buffer = std::mem::take(&mut self.buffer);
        let drained = self.read_into(&mut buffer, which, socket);
        self.buffer = buffer;
        drained
    }

    fn read_into(&mut self, buffer: &mut [u8], which: Which, socket: &UdpSocket) -> Drained {
        for number in 0..BURST {
            // Only what was handled here can have closed it.
            if number > 0 && !self.sockets.is_open(which) {
                return Drained::Closed;
            }
            // In a flood that opens one socket and closes another with each datagram they would add up.
            if std::mem::take(&mut self.sockets.closing) {
                return Drained::More;
            }
            let received = match which {
                Which::Listen => socket
                    .try_recv_from(buffer)
                    .map(|(len, addr)| (len, Sender::Client(addr))),
                // A connected socket need not be asked for the address.
                Which::Upstream(upstream) => {
                    socket.try_recv(buffer).map(|len| (len, Sender::Server(upstream)))
                }
            };
            let (len, sender) = match received {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Drained::Empty,
                Err(error) => {
                    self.on_error(which, &error);
                    return Drained::Error;
                }
            };
            let bytes = buffer.get(..len).unwrap_or_default();
            self.handle(match sender {
                Sender::Client(addr) => Input::FromClient {
                    addr: udp::canonical(addr),
                    bytes,
                },
                Sender::Server(upstream) => Input::FromServer { upstream, bytes },
            });
        }
        Drained::More
    }

    /// On the listen socket an error says that some client is gone, not which: it is counted. On a connected socket
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

/// One input from outside a reading task, and the tasks for sockets that it opened.
fn handle(driver: &Shared, input: Input<'_>) {
    driver.borrow_mut().handle(input);
    start_tasks(driver);
}

/// Starts what sockets need that were opened, or have begun to fill, since the last time.
fn start_tasks(driver: &Shared) {
    let (fresh, filling): (Vec<UpstreamId>, Vec<Which>) = {
        let sockets = &mut driver.borrow_mut().sockets;
        if sockets.fresh.is_empty() && sockets.filling.is_empty() {
            return;
        }
        (
            std::mem::take(&mut sockets.fresh),
            std::mem::take(&mut sockets.filling),
        )
    };
    for upstream in fresh {
        start_reading(driver, Which::Upstream(upstream));
    }
    for which in filling {
        let Some(socket) = driver.borrow().sockets.socket(which) else {
            continue;
        };
        let task = spawn_local(keep_flushing(Rc::clone(driver), which, socket));
        driver.borrow_mut().sockets.adopt(which, task.abort_handle());
    }
}

fn start_reading(driver: &Shared, which: Which) {
    let Some(socket) = driver.borrow().sockets.socket(which) else {
        return;
    };
    let task = spawn_local(keep_reading(Rc::clone(driver), which, socket));
    driver.borrow_mut().sockets.adopt(which, task.abort_handle());
}

async fn keep_reading(driver: Shared, which: Which, socket: Rc<UdpSocket>) {
    let _witness = Witness::of(&driver);
    loop {
        if socket.readable().await.is_err() {
            sleep(AFTER_ERROR).await;
        }
        let drained = driver.borrow_mut().read(which, &socket);
        start_tasks(&driver);
        match drained {
            Drained::Empty => {}
            Drained::More => yield_now().await,
            Drained::Error => sleep(AFTER_ERROR).await,
            Drained::Closed => return,
        }
    }
}

async fn keep_flushing(driver: Shared, which: Which, socket: Rc<UdpSocket>) {
    let _witness = Witness::of(&driver);
    loop {
        if socket.writable().await.is_err() {
            sleep(AFTER_ERROR).await;
        }
        if driver.borrow_mut().sockets.flush(which) {
            return;
        }
    }
}

async fn keep_time(driver: Shared) {
    let _witness = Witness::of(&driver);
    let timer = Rc::clone(&driver.borrow().timer);
    loop {
        let wake = {
            let driver = &mut *driver.borrow_mut();
            driver.armed = driver.hub.deadline();
            driver.armed.and_then(|deadline| driver.clock.instant(deadline))
        };
        match wake {
            None => timer.notified().await,
            Some(instant) => tokio::select! {
                () = sleep_until(instant.into()) => {
                    driver.borrow_mut().on_time();
                    start_tasks(&driver);
                }
                () = timer.notified() => {}
            },
        }
    }
}

/// Hands in what is asked for; gives the reason to stop, or `None` after a crash.
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
            // An error says that everybody who could ever stop the run is gone.
            reason = stop.wait_for(Option::is_some) => {
                return Some(reason.ok().and_then(|reason| reason.clone()).unwrap_or_default());
            }
            Some(request) = requests.recv() => match request {
                Request::Command(command) => handle(driver, Input::Command(command)),
                Request::Program(program) => handle(driver, Input::Program(program)),
            },
        }
    }
}

//! The thread of a connection.
//!
//! Law: input, output and the work of one command at a time are bounded. While output is pending, commands stay in the
//! socket buffer, and events in the ring of the bus, which counts the events that it overwrites.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    sync::{Arc, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use teetap_inspect::{
    DecodedEvent, Style, Subscription, Viewer,
    control::{self, Command},
    jsonl::{self, ResultBody},
};
use teetap_proxy::{
    io::{Bus, Busy, Request, Seen, Watcher},
    session::{EventKind, Events, Level},
};

use super::{
    Counted, LINGER, MAX_LINE, MAX_OUTPUT, PATIENCE, Shared,
    carry_out::{carry_out, filter, verbosity},
    error::{LineError, SubscribeError},
};
use crate::commands::Reply;

/// Time between two polls of the events. A held message wakes the connection at once.
const TICK: Duration = Duration::from_millis(20);

/// Maximum events rendered before the socket is polled again.
const BATCH: usize = 1024;

/// Maximum commands per [`WINDOW`]. Beyond it the connection waits for the end of the window, so that the data thread
/// can handle other requests and datagrams.
const COMMANDS: u32 = 256;

/// See [`COMMANDS`].
const WINDOW: Duration = Duration::from_millis(100);

/// Bytes per read.
const CHUNK: usize = 16 << 10;

/// A connection of a peer.
pub(super) struct Connection {
    stream: UnixStream,
    shared: Arc<Shared>,
    _counted: Counted,
    /// Complete lines that wait for room, and the incomplete last line.
    input: Vec<u8>,
    /// True while the rest of an overlong line is skipped.
    skipping: bool,
    /// True if the peer sends no more data.
    is_deaf: bool,
    output: Vec<u8>,
    /// Time at which the peer last read output, or there was no output.
    progress: Instant,
    feed: Option<Feed>,
    window: (Instant, u32),
}

/// Events of a subscription.
struct Feed {
    watcher: Watcher<DecodedEvent>,
    bell: Bell,
    style: Style,
    // Drop order: the filter is removed before the traffic may end.
    _subscription: Subscription,
    _traffic: Traffic,
}

/// Wakes the connection when a message is held until a script answers.
struct Bell {
    /// Readable after the bell rang.
    rung: UnixStream,
    _ring: Arc<dyn Fn() + Send + Sync>,
}

impl Bell {
    fn new(bus: &Bus<DecodedEvent>) -> io::Result<Self> {
        let (rung, ring) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let ring: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            // A full socket means that the bell has already rung.
            let _is_full = (&ring).write(&[0]);
        });
        bus.ring_at_once(&ring);
        Ok(Self { rung, _ring: ring })
    }

    /// Resets the bell.
    fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.rung).read(&mut bytes), Ok(len) if len == bytes.len()) {}
    }
}

/// Requests the events of ordinary traffic until it is dropped.
struct Traffic(Arc<Shared>);

impl Traffic {
    fn new(shared: &Arc<Shared>) -> Result<Self, Busy> {
        let mut subscribed = shared.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = &shared.parts.handle.commands;
        if *subscribed == 0 && shared.parts.is_quiet {
            commands.send(Request::Watch(Events::All))?;
        }
        *subscribed += 1;
        let traffic = Self(Arc::clone(shared));
        drop(subscribed);
        // From now on all events are emitted.
        commands.look()?;
        Ok(traffic)
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let mut subscribed = self.0.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        *subscribed -= 1;
        if *subscribed == 0 && self.0.parts.is_quiet {
            // If the data thread is busy, it only emits more events than needed.
            let _busy = self.0.parts.handle.commands.send(Request::Watch(Events::Odd));
        }
    }
}

/// Reason for the end of a connection.
enum End {
    /// The peer closed it, or the run ended.
    Closed,
    /// The peer did not read for [`PATIENCE`].
    Stuck,
}

impl Connection {
    pub(super) fn new(stream: UnixStream, counted: Counted) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let shared = Arc::clone(&counted.0);
        let now = Instant::now();
        Ok(Self {
            stream,
            output: shared.parts.start.clone(),
            shared,
            _counted: counted,
            input: Vec::new(),
            skipping: false,
            is_deaf: false,
            progress: now,
            feed: None,
            window: (now, 0),
        })
    }

    /// Serves the peer until it closes the connection or the run ends.
    pub(super) fn serve(mut self) {
        if let End::Stuck = self.run() {
            let seconds = PATIENCE.as_secs();
            let text = format!("a control connection was cut off: its peer read nothing for {seconds} s");
            self.shared.parts.handle.report(Level::Warning, text);
        }
    }

    fn run(&mut self) -> End {
        loop {
            let Ok(ready) = self.wait() else {
                return End::Closed;
            };
            if ready.ended {
                return self.end();
            }
            if self.output.is_empty() {
                self.progress = Instant::now();
            }
            if ready.readable && self.read().is_err() {
                return End::Closed;
            }
            self.carry_out_lines();
            self.render_events();
            if self.write().is_err() {
                return End::Closed;
            }
            let is_done = self.input.is_empty() && self.output.is_empty();
            let is_quiet = self.is_deaf && self.feed.is_none() && is_done;
            // A peer that has only stopped sending may still read.
            if is_quiet || self.is_deaf && ready.closed {
                return End::Closed;
            }
            if !self.output.is_empty() && self.progress.elapsed() >= PATIENCE {
                return End::Stuck;
            }
        }
    }

    /// Waits for data, room for output, a ring of the bell, or the end of the run.
    fn wait(&self) -> Result<Ready, Errno> {
        let mut wanted = PollFlags::empty();
        let has_room = self.output.len() < MAX_OUTPUT;
        if has_room && !self.is_deaf {
            wanted |= PollFlags::IN;
        }
        if !self.output.is_empty() {
            wanted |= PollFlags::OUT;
        }
        let stuck = (!self.output.is_empty()).then(|| PATIENCE.saturating_sub(self.progress.elapsed()));
        let tick = self.feed.as_ref().filter(|_| has_room).map(|_| TICK);
        let wait = stuck.into_iter().chain(tick).min();
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        let bell = self.feed.as_ref().filter(|_| has_room).map(|feed| &feed.bell);
        let mut fds = vec![
            PollFd::new(&self.stream, wanted),
            PollFd::new(&self.shared.ended, PollFlags::IN),
        ];
        fds.extend(bell.map(|bell| PollFd::new(&bell.rung, PollFlags::IN)));
        match poll(&mut fds, wait.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let revents = |at: usize| fds.get(at).map_or(PollFlags::empty(), PollFd::revents);
        let (peer, ended) = (revents(0), revents(1));
        if let Some(bell) = bell.filter(|_| !revents(2).is_empty()) {
            // Cleared before the events are polled, so that no ring is lost.
            bell.clear();
        }
        Ok(Ready {
            readable: peer.contains(PollFlags::IN) && wanted.contains(PollFlags::IN),
            closed: peer.intersects(PollFlags::HUP | PollFlags::ERR),
            ended: !ended.is_empty(),
        })
    }

    /// Reads once from the socket.
    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        match self.stream.read(&mut chunk) {
            Ok(0) => self.is_deaf = true,
            Ok(len) => self.input.extend_from_slice(chunk.get(..len).unwrap_or_default()),
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Carries out complete commands while there is room for their answers.
    fn carry_out_lines(&mut self) {
        while self.output.len() < MAX_OUTPUT && !self.input.is_empty() {
            let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
                if self.input.len() > MAX_LINE {
                    self.refuse_length();
                    self.skipping = true;
                    self.input = Vec::new();
                } else if self.is_deaf {
                    // The last line may lack its line break.
                    let line = std::mem::take(&mut self.input);
                    self.on_line(&line);
                }
                return;
            };
            let line: Vec<u8> = self.input.drain(..=end).collect();
            self.on_line(&line);
        }
        if self.input.is_empty() {
            self.input.shrink_to(CHUNK);
        }
    }

    fn refuse_length(&mut self) {
        if !self.skipping {
            self.answer(None, None, Err(LineError::TooLong));
        }
    }

    fn on_line(&mut self, line: &[u8]) {
        if std::mem::take(&mut self.skipping) || line.trim_ascii().is_empty() {
            return;
        }
        if line.len() > MAX_LINE {
            return self.refuse_length();
        }
        self.pace();
        match control::parse(line) {
            Ok((id, command)) => self.on_command(id, command),
            Err(refusal) => self.answer(refusal.id, None, Err(refusal.into())),
        }
    }

    /// Waits if there were too many commands in the window.
    fn pace(&mut self) {
        let (begin, count) = &mut self.window;
        let elapsed = begin.elapsed();
        if elapsed >= WINDOW {
            self.window = (Instant::now(), 1);
        } else if *count >= COMMANDS {
            thread::sleep(WINDOW.saturating_sub(elapsed));
            self.window = (Instant::now(), 1);
        } else {
            *count += 1;
        }
    }

    fn on_command(&mut self, id: u64, command: Command) {
        let (session, result) = match command {
            Command::Subscribe { filter, verbose } => {
                let result = self.subscribe(filter.as_deref(), verbose);
                (None, result.map_err(LineError::from))
            }
            Command::Unsubscribe {} => {
                let had = self.feed.take().map(|_| ResultBody::default());
                (None, had.ok_or(LineError::NotSubscribed))
            }
            command => {
                let Reply { session, result } = carry_out(&command, &self.shared);
                (session.map(|session| session.0), result.map_err(LineError::from))
            }
        };
        self.answer(Some(id), session, result);
    }

    fn answer(&mut self, id: Option<u64>, session: Option<u32>, result: Result<ResultBody, LineError>) {
        let now = self.shared.parts.clock.now();
        let definitions = self.shared.parts.definitions();
        jsonl::answer(now, session, id, result, definitions, &mut self.output);
    }

    /// Starts a subscription, which replaces the previous one.
    fn subscribe(&mut self, text: Option<&str>, verbose: u8) -> Result<ResultBody, SubscribeError> {
        let (filter, warnings) = filter(text, self.shared.parts.handle.registry)?;
        let verbosity = verbosity(verbose)?;
        self.feed = None;
        let traffic = Traffic::new(&self.shared)?;
        let parts = &self.shared.parts;
        let subscription = parts.subscribers.subscribe(filter);
        let subscription = subscription.ok_or(SubscribeError::TooMany)?;
        let bell = Bell::new(&parts.bus).map_err(SubscribeError::Bell)?;
        self.feed = Some(Feed {
            watcher: parts.bus.watch(),
            bell,
            style: Style {
                json: true,
                verbosity,
                viewer: Viewer::Subscriber(subscription.slot()),
                secrets: parts.secrets,
                ..Style::default()
            },
            _subscription: subscription,
            _traffic: traffic,
        });
        Ok(ResultBody {
            warnings,
            ..ResultBody::default()
        })
    }

    /// Renders events while there is room. Returns true if more may be pending.
    fn render_events(&mut self) -> bool {
        let Some(feed) = &mut self.feed else { return false };
        for _ in 0..BATCH {
            if self.output.len() >= MAX_OUTPUT {
                return true;
            }
            match feed.watcher.poll() {
                // Only the connection that sent a command receives its answer.
                Some(Seen::Event(decoded)) if matches!(decoded.event.what, EventKind::Answer(_)) => {}
                Some(Seen::Event(decoded)) => jsonl::event(&decoded, feed.style, &mut self.output),
                Some(Seen::Gap(lost)) => {
                    jsonl::gap(self.shared.parts.clock.now(), lost, &mut self.output);
                }
                None => return false,
            }
        }
        true
    }

    /// Writes as much as the peer can receive now.
    fn write(&mut self) -> io::Result<()> {
        let mut written = 0;
        while let Some(rest) = self.output.get(written..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(len) => written += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_temporary(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if written > 0 {
            self.progress = Instant::now();
            self.output.drain(..written);
        }
        if self.output.is_empty() {
            // Frees the buffer of a long answer.
            self.output.shrink_to(MAX_OUTPUT);
        }
        Ok(())
    }

    /// Sends the remaining output after the end of the run.
    fn end(&mut self) -> End {
        let deadline = Instant::now() + LINGER;
        let mut has_more = true;
        while has_more || !self.output.is_empty() {
            if has_more && !self.render_events() {
                has_more = false;
                if let (Some(_), Some(last)) = (&self.feed, self.shared.last.get()) {
                    self.output.extend_from_slice(last);
                }
            }
            if self.write().is_err() || Instant::now() >= deadline {
                break;
            }
            if !self.output.is_empty() {
                let mut fds = [PollFd::new(&self.stream, PollFlags::OUT)];
                let _timeout = poll(&mut fds, Timespec::try_from(TICK).ok().as_ref());
            }
        }
        End::Closed
    }
}

/// State of the descriptors of a connection.
struct Ready {
    readable: bool,
    /// The peer has closed both directions.
    closed: bool,
    /// The run has ended.
    ended: bool,
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;

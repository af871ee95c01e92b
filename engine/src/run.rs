//! A run: the proxy, its events, its rules and its findings.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use teetap_capture::{FileError, Target};
use teetap_inspect::{
    DecodedEvent, Decoder, Stated,
    judge::{self, Findings},
};
use teetap_proxy::{
    io::{
        Bus, Clock, Commands, Ended, Faults, KernelDrops, Listen, Nice, Proxy, Request, Running, Seen,
        Settings, StartError, Watcher, entropy, probe::Finding,
    },
    session::{Config, Events, Level, Time},
};
use teetap_wire::{
    Proto,
    def::{Registry, Secrets},
};

use crate::{
    recording::{self, Prepared},
    rules::{Rules, RulesError, SharedRules},
};

/// Interval at which [`Run::wait`] looks for events.
const POLL: Duration = Duration::from_millis(1);

/// The settings of a run.
#[derive(Debug)]
pub struct Builder {
    server: SocketAddr,
    listen: Listen,
    proto: Option<Proto>,
    registry: &'static Registry,
    rules: Rules,
    seed: Option<u64>,
    secret: Option<[u8; 16]>,
    clock: Option<Clock>,
    record: Option<Target>,
}

/// The reason why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rules are wrong, or their file cannot be read.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The recording cannot be written.
    #[error(transparent)]
    Recording(#[from] FileError),
    /// The proxy cannot listen.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The operating system has no random bytes.
    #[error("cannot draw a secret: {0}")]
    Entropy(#[from] io::Error),
}

impl Builder {
    /// A run in front of `server` that listens on a free port of 127.0.0.1, without rules.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        let registry = Registry::builtin();
        Self {
            server,
            listen: Listen::At((Ipv4Addr::LOCALHOST, 0).into()),
            proto: None,
            registry,
            rules: Rules::none(registry),
            seed: None,
            secret: None,
            clock: None,
            record: None,
        }
    }

    /// Sets the address that clients connect to.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Listen::At(address);
        self
    }

    /// Accepts clients of one protocol only.
    #[must_use]
    pub fn proto(mut self, proto: Proto) -> Self {
        self.proto = Some(proto);
        self
    }

    /// Appends statements: rules, link lines, `let`, `var`, `seed`. They are compiled by [`Self::start`].
    #[must_use]
    pub fn rules(mut self, text: &str) -> Self {
        self.rules.append("rules", text);
        self
    }

    /// Appends the statements of a file, which [`Run::reload_rules`] reads again if it changes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rules_file(mut self, path: &Path) -> Result<Self, RulesError> {
        self.rules.append_file(path)?;
        Ok(self)
    }

    /// Sets the seed of all random decisions. Without it the seed of the rules counts, and without that a random one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the key from which tokens are derived. Without it the operating system gives a random one.
    #[must_use]
    pub fn secret(mut self, secret: [u8; 16]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sets the clock, so that several runs share one.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Records the run to a file: pcapng, or JSON lines.
    #[must_use]
    pub fn record(mut self, target: Target) -> Self {
        self.record = Some(target);
        self
    }

    /// Starts the proxy.
    ///
    /// # Errors
    /// The rules are wrong, the recording cannot be created, or the proxy cannot listen. Nothing runs then.
    pub fn start(self) -> Result<Run, RunError> {
        let (program, _warnings) = self.rules.compile()?;
        let seed = match self.seed.or_else(|| program.seed()) {
            Some(seed) => seed,
            None => u64::from_be_bytes(entropy()?),
        };
        let secret = self.secret.map_or_else(entropy, Ok)?;
        let clock = self.clock.unwrap_or_else(Clock::start);
        let bus = Bus::new();
        let prepared = self.record.as_ref();
        let prepared = prepared.map(|target| Prepared::open(target, &bus)).transpose()?;
        let stated = Stated::default();
        let judge = judge::Live::new(Secrets::Hide, stated.clone());
        let mut decoder = Decoder::new(self.registry);
        decoder.decode_everything();
        decoder.share_stated(stated.clone());
        decoder.collect_findings(judge.clone());
        let config = Config {
            seed,
            secret,
            proto: self.proto,
            patience: None,
            heals: false,
            events: Events::All,
            registry: self.registry,
        };
        let settings = Settings {
            target: self.server,
            listen: self.listen,
            config,
            bus,
            stage: decoder,
            nice: Nice::default(),
            clock,
            input_log: None,
            journal: None,
            program: Some(program),
        };
        let mut run = Run::start(Plan {
            settings,
            rules: SharedRules::new(self.rules),
            stated,
            judge: Some(judge),
        })?;
        if let Some(prepared) = prepared {
            let target = self.server.to_string();
            let header = recording::header(seed, &target, (self.server, run.addr()), clock.wall());
            run.recording = Some(prepared.start(header, clock)?.0);
        }
        Ok(run)
    }
}

/// The parts of a run that [`Run::start`] joins. [`Builder`] makes the usual ones.
#[derive(Debug)]
pub struct Plan {
    /// The settings of the proxy, with the decoder of its events.
    pub settings: Settings<Decoder>,
    /// The rules that `settings` has as a program.
    pub rules: SharedRules,
    /// The release that the server states; shared with the decoder.
    pub stated: Stated,
    /// The findings that the decoder collects. `None` if it does not decode every event.
    pub judge: Option<judge::Live>,
}

/// A run in process.
#[derive(Debug)]
pub struct Run {
    /// `None` once it was joined.
    proxy: Option<Running>,
    addr: SocketAddr,
    commands: Commands,
    watcher: Watcher<DecodedEvent>,
    clock: Clock,
    seed: u64,
    rules: SharedRules,
    drops: KernelDrops,
    stated: Stated,
    judge: Option<judge::Live>,
    recording: Option<recording::Running>,
}

impl Run {
    /// Starts the proxy.
    ///
    /// # Errors
    /// See [`StartError`]; nothing runs then.
    pub fn start(plan: Plan) -> Result<Self, StartError> {
        let Plan {
            settings,
            rules,
            stated,
            judge,
        } = plan;
        // Before the start, so that no event is missed.
        let watcher = settings.bus.watch();
        let (clock, seed) = (settings.clock, settings.config.seed);
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
        })
    }

    /// Returns the address that the proxy listens on.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns true if the default port, or the server's own, was taken and the next free one is used.
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

    /// Returns a handle that sends commands to the proxy. The proxy ends when the run and all handles are dropped.
    #[must_use]
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Returns the rules, to change them.
    #[must_use]
    pub const fn rules(&self) -> &SharedRules {
        &self.rules
    }

    /// Returns handles that report an input log or a journal that ended before the run.
    #[must_use]
    pub fn log_faults(&self) -> Vec<Faults> {
        self.proxy.as_ref().map(Running::log_faults).unwrap_or_default()
    }

    /// Returns the next event, or a gap if this reader was too slow. `None` if there is none yet.
    pub fn poll(&mut self) -> Option<Seen<DecodedEvent>> {
        self.watcher.poll()
    }

    /// Waits for the next event. `None` after `timeout`, or if the proxy has ended.
    pub fn wait(&mut self, timeout: Duration) -> Option<Seen<DecodedEvent>> {
        let end = Instant::now() + timeout;
        loop {
            // Before the poll, so that the last events are not missed.
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

    /// Returns true if the proxy has ended, because it was stopped or has crashed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.proxy.as_ref().is_none_or(Running::is_finished)
    }

    /// Reads the files of rules that have changed, and sets the new program. Returns lines for the user.
    pub fn reload_rules(&mut self) -> Vec<(Level, String)> {
        // While a command changes them, the next call is soon enough.
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

    /// Returns the number of datagrams that the kernel dropped since the last call: the receive buffer was full.
    pub fn kernel_drops(&mut self) -> u64 {
        // Zero where the system does not count them.
        self.drops.look().unwrap_or(0)
    }

    /// Returns the number of all datagrams that [`Self::kernel_drops`] returned.
    #[must_use]
    pub fn all_kernel_drops(&self) -> u64 {
        self.drops.total()
    }

    /// Records the release that the server stated in its answer to a probe.
    pub fn learn(&self, finding: &Finding) {
        if let Some(version) = finding.version() {
            self.stated.learn(version);
        }
    }

    /// Returns the findings so far, ranked. `None` if not every event is decoded.
    #[must_use]
    pub fn findings(&self) -> Option<Findings> {
        self.judge.as_ref().map(judge::Live::findings)
    }

    /// Waits for the end of the proxy, after [`Commands::stop`]. Returns its counts and the rules with their effects, `None` if
    /// the data thread crashed. [`Self::poll`] then returns the events that are left.
    pub fn join(&mut self) -> Option<Ended> {
        self.proxy.take()?.join().ok()
    }

    /// Ends the run: sends CLOSE with `reason` to both peers of every session, completes the recording, and returns the summary.
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

/// The end of a run.
#[derive(Debug)]
pub struct Summary {
    /// Time of the end, since the start of the clock.
    pub at: Time,
    /// Counts, and the rules with their effects. `None` if the data thread crashed.
    pub ended: Option<Ended>,
    /// Events that were not read before the end.
    pub events: Vec<Seen<DecodedEvent>>,
    /// The recording. `None` if the run was not recorded.
    pub recorded: Option<recording::Outcome>,
    /// The findings, ranked. `None` if not every event was decoded.
    pub findings: Option<Findings>,
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use teetap_proxy::session::What;

    use super::*;

    /// DDNet's CONNECT: control flag, no chunks, id 1, magic, no token yet.
    const CONNECT: [u8; 12] = [0x10, 0, 0, 1, b'T', b'K', b'E', b'N', 0xff, 0xff, 0xff, 0xff];

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    }

    /// Returns true once an event fulfils the condition; false if none does within 5 s.
    fn sees(run: &mut Run, is_meant: impl Fn(&What) -> bool) -> bool {
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if let Some(Seen::Event(decoded)) = run.wait(Duration::from_millis(100))
                && is_meant(&decoded.event.what)
            {
                return true;
            }
        }
        false
    }

    #[test]
    fn a_datagram_reaches_the_server_and_the_events() {
        let (server, client) = (socket(), socket());
        let builder = Builder::new(server.local_addr().unwrap()).seed(7).secret([3; 16]);
        let mut run = builder.start().unwrap();
        assert_eq!(run.seed(), 7);
        client.send_to(&CONNECT, run.addr()).unwrap();
        let mut buffer = [0; 1400];
        let (len, _) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..len], CONNECT);
        assert!(
            sees(&mut run, |what| matches!(what, What::Datagram(_))),
            "no event of the CONNECT"
        );
        let summary = run.stop("test");
        assert!(summary.ended.is_some(), "the data thread crashed");
        let findings = summary.findings.unwrap();
        let texts: Vec<&str> = findings.list.iter().map(|finding| &*finding.text).collect();
        assert_eq!(
            texts,
            ["never came online: after connect the server never sent connect_accept; closed \"test\""]
        );
    }

    #[test]
    fn rules_act_from_the_start_and_a_changed_file_is_read_again() {
        let (server, client) = (socket(), socket());
        server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.tap");
        std::fs::write(&path, "drop when ctrl.connect").unwrap();
        let builder = Builder::new(server.local_addr().unwrap());
        let mut run = builder.rules_file(&path).unwrap().start().unwrap();
        let mut buffer = [0; 1400];
        client.send_to(&CONNECT, run.addr()).unwrap();
        assert!(
            server.recv_from(&mut buffer).is_err(),
            "the CONNECT was not dropped"
        );
        std::fs::write(&path, "# none").unwrap();
        let lines = run.reload_rules();
        assert_eq!(lines.len(), 1, "{lines:?}");
        client.send_to(&CONNECT, run.addr()).unwrap();
        assert!(server.recv_from(&mut buffer).is_ok(), "the CONNECT was dropped");
    }

    /// Returns the token that the client gets, of a run with this secret.
    fn token(client: &UdpSocket, secret: [u8; 16]) -> [u8; 4] {
        let server = socket();
        let builder = Builder::new(server.local_addr().unwrap()).secret(secret);
        let run = builder.start().unwrap();
        client.send_to(&CONNECT, run.addr()).unwrap();
        let mut buffer = [0; 1400];
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        let accept = [0x10, 0, 0, 2, b'T', b'K', b'E', b'N'];
        server.send_to(&[&accept[..], b"ownt"].concat(), from).unwrap();
        let (len, _) = client.recv_from(&mut buffer).unwrap();
        let (start, token) = buffer[..len].split_last_chunk().unwrap();
        assert_eq!(start, accept, "the ACCEPT of the server");
        let token = *token;
        // The run closes the session at its end.
        drop(run);
        client.recv_from(&mut buffer).unwrap();
        token
    }

    /// Nothing but the timer of the proxy ends these delays: there is no other traffic.
    #[test]
    fn one_delay_after_another_ends_without_further_datagrams() {
        let (server, client) = (socket(), socket());
        let builder = Builder::new(server.local_addr().unwrap());
        let run = builder.rules("link c2s delay 60ms").start().unwrap();
        let mut buffer = [0; 1400];
        for number in 1..=3 {
            let sent = Instant::now();
            client.send_to(&CONNECT, run.addr()).unwrap();
            let received = server.recv_from(&mut buffer);
            assert!(received.is_ok(), "CONNECT {number} is still in the link");
            let waited = sent.elapsed();
            assert!(
                waited >= Duration::from_millis(60),
                "CONNECT {number} waited {waited:?}"
            );
        }
    }

    #[test]
    fn tokens_are_derived_from_the_secret() {
        let client = socket();
        let [one, again, other] = [[3; 16], [3; 16], [4; 16]].map(|secret| token(&client, secret));
        assert_eq!(one, again, "the same secret");
        assert!(
            one != other && one != *b"ownt",
            "{one:?}, {other:?}: each secret has its own tokens"
        );
    }

    #[test]
    fn wrong_rules_start_nothing() {
        let builder = Builder::new(socket().local_addr().unwrap()).rules("drup when c2s");
        let error = builder.start().unwrap_err();
        assert!(
            matches!(error, RunError::Rules(RulesError::Invalid(_))),
            "{error}"
        );
    }
}

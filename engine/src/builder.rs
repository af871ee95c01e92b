//! The settings of a run.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

use teetap_capture::{FileError, Target};
use teetap_inspect::{Decoder, Stated, judge};
use teetap_proxy::{
    io::{Bus, Clock, Listen, Nice, Settings, StartError, entropy},
    session::{Config, Events},
};
use teetap_wire::{
    Proto,
    def::{Registry, Secrets},
};

use crate::{
    recording::{self, Prepared},
    rules::{Rules, RulesError, SharedRules},
    run::{Plan, Run},
};

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
            run.record(prepared.start(header, clock)?.0);
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::UdpSocket,
        time::{Duration, Instant},
    };

    use teetap_proxy::{io::Seen, session::What};

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

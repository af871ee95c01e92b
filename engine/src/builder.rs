//! The settings of a run.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};

use teetap_capture::{FileError, Target};
use teetap_inspect::{DecodedEvent, Decoder, Stated, Subscribers, judge};
use teetap_proxy::{
    io::{Bus, Clock, Listen, LogFile, Nice, Settings, StartError, entropy},
    session::{Config, Events},
};
use teetap_rules::{Filter, Program};
use teetap_wire::{
    Proto,
    def::{Registry, Secrets},
};

use crate::{
    control::{Awaited, Socket},
    recording::{self, Prepared},
    rules::{Rules, RulesError, SharedRules},
    run::{Plan, Run},
};

/// The settings of a run, which [`Self::start`] starts.
#[derive(Debug)]
pub struct Builder {
    server: SocketAddr,
    listen: Listen,
    client_addresses: bool,
    clock: Option<Clock>,
    traffic: Traffic,
    events: Watching,
    files: Files,
    /// Control socket.
    socket: Option<Socket>,
}

/// Settings of the data path.
#[derive(Debug)]
struct Traffic {
    registry: &'static Registry,
    proto: Option<Proto>,
    rules: Rules,
    /// Compiled rules, if the caller has compiled them.
    program: Option<Option<Arc<Program>>>,
    seed: Option<u64>,
    secret: Option<[u8; 16]>,
    heals: bool,
}

/// Settings of the events and their decoder.
#[derive(Debug)]
struct Watching {
    bus: Bus<DecodedEvent>,
    wanted: Events,
    decoder: Option<Decoder>,
    nice: Nice,
    until: Option<Filter>,
    fail_on: Option<Filter>,
    secrets: Secrets,
    collects_findings: bool,
}

/// Files that the run writes.
#[derive(Debug, Default)]
struct Files {
    record: Option<Target>,
    input_log: Option<LogFile>,
    journal: Option<LogFile>,
}

/// Reason why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The rules are wrong, or one of their files cannot be read.
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
    /// Returns the settings of a run in front of `server` that listens on a free port of 127.0.0.1, without rules.
    #[must_use]
    pub fn new(server: SocketAddr) -> Self {
        let registry = Registry::builtin();
        Self {
            server,
            listen: Listen::At((Ipv4Addr::LOCALHOST, 0).into()),
            client_addresses: false,
            clock: None,
            traffic: Traffic {
                registry,
                proto: None,
                rules: Rules::none(registry),
                program: None,
                seed: None,
                secret: None,
                heals: false,
            },
            events: Watching {
                bus: Bus::new(),
                wanted: Events::All,
                decoder: None,
                nice: Nice::default(),
                until: None,
                fail_on: None,
                secrets: Secrets::Hide,
                collects_findings: true,
            },
            files: Files::default(),
            socket: None,
        }
    }

    /// Sets another server.
    #[must_use]
    pub const fn server(mut self, server: SocketAddr) -> Self {
        self.server = server;
        self
    }

    /// Sets the address that clients connect to.
    #[must_use]
    pub fn listen(mut self, address: impl Into<Listen>) -> Self {
        self.listen = address.into();
        self
    }

    /// Gives each session a local address of its own, 127.x.y.z, towards a server on the loopback interface.
    #[must_use]
    pub const fn client_addresses(mut self, has_own: bool) -> Self {
        self.client_addresses = has_own;
        self
    }

    /// Accepts only clients of this protocol; `None` = all protocols.
    #[must_use]
    pub fn proto(mut self, proto: impl Into<Option<Proto>>) -> Self {
        self.traffic.proto = proto.into();
        self
    }

    /// Sets the definitions of messages, for rules and commands as well. By default the built-in definitions are used.
    #[must_use]
    pub const fn definitions(mut self, registry: &'static Registry) -> Self {
        self.traffic.registry = registry;
        self.traffic.rules.set_registry(registry);
        self
    }

    /// Returns the definitions, for parsing filters and rules.
    #[must_use]
    pub const fn registry(&self) -> &'static Registry {
        self.traffic.registry
    }

    /// Appends statements: rules, link lines, `let`, `var`, `seed`. [`Self::start`] compiles them.
    #[must_use]
    pub fn rules(mut self, text: &str) -> Self {
        self.traffic.rules.append("rules", text);
        self
    }

    /// Appends the statements of a file. [`Run::reload_rules`] reads the file again if it changes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rules_file(mut self, path: &Path) -> Result<Self, RulesError> {
        self.traffic.rules.append_file(path)?;
        Ok(self)
    }

    /// Replaces all rules by `rules`, which were already compiled to `program`; `None` for no program.
    #[must_use]
    pub fn program(mut self, rules: Rules, program: Option<Arc<Program>>) -> Self {
        self.traffic.rules = rules;
        self.traffic.program = Some(program);
        self
    }

    /// Sets the seed of all random decisions. The default is the seed of the rules, or a random seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.traffic.seed = Some(seed);
        self
    }

    /// Sets the key from which tokens are derived. By default it is drawn from the operating system.
    #[must_use]
    pub const fn secret(mut self, secret: [u8; 16]) -> Self {
        self.traffic.secret = Some(secret);
        self
    }

    /// Repairs the loss of DDNet's ACCEPT, which no client repeats.
    #[must_use]
    pub const fn heal(mut self, heals: bool) -> Self {
        self.traffic.heals = heals;
        self
    }

    /// Sets the clock, so that several runs share one.
    #[must_use]
    pub const fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Emits only these events. Subscribers of the control socket still receive all events.
    #[must_use]
    pub const fn events(mut self, events: Events) -> Self {
        self.events.wanted = events;
        self
    }

    /// Sets the bus of the events, so that they can be watched before the start.
    #[must_use]
    pub fn bus(mut self, bus: Bus<DecodedEvent>) -> Self {
        self.events.bus = bus;
        self
    }

    /// Sets the decoder of the events. The default decodes all messages completely.
    #[must_use]
    pub fn decoder(mut self, decoder: Decoder) -> Self {
        self.events.decoder = Some(decoder);
        self
    }

    /// Sets the priority of the decoder's thread.
    #[must_use]
    pub const fn nice(mut self, nice: Nice) -> Self {
        self.events.nice = nice;
        self
    }

    /// Waits for a message. The event with the first match, and all later events, have it as their
    /// [`ending`](DecodedEvent::ending). The run continues.
    #[must_use]
    pub fn until(mut self, filter: Filter) -> Self {
        self.events.until = Some(filter);
        self
    }

    /// Waits for a message that must not be sent, like [`Self::until`].
    #[must_use]
    pub fn fail_on(mut self, filter: Filter) -> Self {
        self.events.fail_on = Some(filter);
        self
    }

    /// Shows or hides secrets in findings and on the control socket. They are hidden by default.
    #[must_use]
    pub const fn secrets(mut self, secrets: Secrets) -> Self {
        self.events.secrets = secrets;
        self
    }

    /// Sets whether findings are collected, which is the default. The decoder must then decode every message
    /// completely.
    #[must_use]
    pub const fn findings(mut self, collects: bool) -> Self {
        self.events.collects_findings = collects;
        self
    }

    /// Records the run to a file: pcapng or JSON lines.
    #[must_use]
    pub fn record(mut self, target: Target) -> Self {
        self.files.record = Some(target);
        self
    }

    /// Writes every input of the session core to a new file, for a replay.
    #[must_use]
    pub fn input_log(mut self, file: LogFile) -> Self {
        self.files.input_log = Some(file);
        self
    }

    /// Writes the decisions of rules and link lines to a new file.
    #[must_use]
    pub fn journal(mut self, file: LogFile) -> Self {
        self.files.journal = Some(file);
        self
    }

    /// Lets scripts control the run through this socket, once [`Run::serve`] is called.
    #[must_use]
    pub fn control(mut self, socket: Socket) -> Self {
        self.socket = Some(socket);
        self
    }

    /// Starts the proxy.
    ///
    /// # Errors
    /// The rules are wrong, the recording cannot be created, or the proxy cannot listen. No part of the run has started
    /// then.
    pub fn start(self) -> Result<Run, RunError> {
        let Self {
            server,
            listen,
            client_addresses,
            clock,
            traffic,
            events,
            files,
            socket,
        } = self;
        let program = traffic.compiled(files.journal.is_some())?;
        let seed = match traffic.seed.or_else(|| program.as_ref()?.seed()) {
            Some(seed) => seed,
            None => u64::from_be_bytes(entropy()?),
        };
        let secret = traffic.secret.map_or_else(entropy, Ok)?;
        let clock = clock.unwrap_or_else(Clock::start);
        let prepared = files.record.as_ref();
        let prepared = prepared
            .map(|target| Prepared::open(target, None, &events.bus))
            .transpose()?;
        let stated = Stated::default();
        let judge = events.judge(&stated);
        let config = Config {
            seed,
            secret,
            proto: traffic.proto,
            patience: None,
            heals: traffic.heals,
            events: events.wanted,
            registry: traffic.registry,
        };
        let control = socket.map(|socket| Awaited {
            socket,
            bus: events.bus.clone(),
            subscribers: Subscribers::default(),
            secrets: events.secrets,
            is_quiet: events.wanted == Events::Odd,
        });
        let (bus, nice) = (events.bus.clone(), events.nice);
        let mut decoder = events.decoded(traffic.registry);
        decoder.share_stated(stated.clone());
        if let Some(judge) = &judge {
            decoder.collect_findings(judge.clone());
        }
        if let Some(control) = &control {
            decoder.serve(control.subscribers.clone());
        }
        let settings = Settings {
            target: server,
            listen,
            client_addresses,
            config,
            bus,
            stage: decoder,
            nice,
            clock,
            input_log: files.input_log,
            journal: files.journal,
            program,
        };
        let mut run = Run::start(Plan {
            settings,
            rules: SharedRules::new(traffic.rules),
            stated,
            judge,
            control,
        })?;
        if let Some(prepared) = prepared {
            let target = server.to_string();
            let header = recording::header(seed, &target, (server, run.addr()), clock.wall());
            run.record(prepared.start(header, clock)?.0);
        }
        Ok(run)
    }
}

impl Traffic {
    /// Compiles the rules. Returns `None` if there are none. With a journal the run always has a program, since the
    /// journal also records the joins, for comparison with other runs.
    fn compiled(&self, has_journal: bool) -> Result<Option<Arc<Program>>, RulesError> {
        match &self.program {
            Some(program) if program.is_some() || !has_journal => Ok(program.clone()),
            None if self.rules.is_empty() && !has_journal => Ok(None),
            _ => self.rules.compile().map(|(program, _warnings)| Some(program)),
        }
    }
}

impl Watching {
    /// Returns the collector of findings, which shares the server's version with the decoder.
    fn judge(&self, stated: &Stated) -> Option<judge::SharedJudge> {
        let collected = || judge::SharedJudge::new(self.secrets, stated.clone());
        self.collects_findings.then(collected)
    }

    /// Returns the decoder, with the filters for messages that the run waits for.
    fn decoded(self, registry: &'static Registry) -> Decoder {
        let mut decoder = self.decoder.unwrap_or_else(|| {
            let mut decoder = Decoder::new(registry);
            decoder.decode_everything();
            decoder
        });
        decoder.end_by_rules();
        if let Some(filter) = self.until {
            decoder.wait_for(filter);
        }
        if let Some(filter) = self.fail_on {
            decoder.fail_on(filter);
        }
        decoder
    }
}

#[cfg(test)]
#[path = "builder_tests.rs"]
mod tests;

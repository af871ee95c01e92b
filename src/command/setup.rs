//! The parts of a run in front of a server, made from its options.

use std::{
    net::SocketAddr,
    sync::{Arc, mpsc},
};

use teetap_capture::Run as Header;
use teetap_engine::{
    Origin, Plan, Run,
    control::{Control, Parts, Socket},
    faults::Repeated,
    recording::Prepared,
    rules::{Rules, SharedRules},
};
use teetap_inspect::{
    DecodedEvent, Decoder, Snapshots, Stated, Style, Subscribers, Verbosity, Viewer, jsonl, judge,
};
use teetap_proxy::{
    io::{Bus, Clock, DEFAULT_PORT, Listen, LogFile, Nice, Settings, entropy},
    session::{Config, Events, Level, Time},
};
use teetap_rules::Program;
use teetap_tui::{App, Title};
use teetap_wire::{Proto, def::Registry};

use crate::{
    address::reachable,
    cli::{LineOptions, RunOptions, ScreenOptions, Show, check_files},
    console::Console,
    exit::Failure,
    filters,
    junit::Report,
    live::Live,
    log::{self, Log},
    output::{Filters, Output, decoder},
    run::Start,
    signals::Signals,
    verdicts::Verdicts,
    wake::Wake,
};

/// Priority of the decoder beside a screen: lower than that of the data thread, which must not wait for it.
const DECODER_BESIDE_SCREEN: Nice = Nice(10);

/// The parts of every run.
pub(super) struct Setup {
    pub(super) clock: Clock,
    pub(super) seed: u64,
    pub(super) bus: Bus<DecodedEvent>,
    /// The snapshots that the screen shows.
    snapshots: Option<Snapshots>,
    config: Config,
    style: Style,
    lines: LineOptions,
    filters: Filters,
    /// The rules at the start.
    program: Option<Arc<Program>>,
    /// The rules, whose files are read again when they change.
    rules: SharedRules,
    /// The control socket; taken when the run starts.
    socket: Option<Socket>,
    subscribers: Subscribers,
    /// The `start` line of the JSON output, once there is one.
    start_line: Vec<u8>,
    /// The run, as recordings name it, once it has started.
    header: Option<Header>,
    /// The time at which the run ends at the latest.
    timeout: Option<Time>,
    input_log: Option<LogFile>,
    journal: Option<LogFile>,
    /// The file to record to; taken when the run starts.
    recording: Option<Prepared>,
    /// Taken by the run.
    log: Option<Log>,
    /// The JUnit report; taken by the run.
    verdicts: Option<Verdicts>,
    /// The version that the server states.
    stated: Stated,
    /// The findings; `None` where not all events are decoded whole.
    judge: Option<judge::Live>,
}

impl Setup {
    /// Reads definitions, starts the log and the clock, and draws the secret, and a seed where neither an option nor
    /// the rules have one.
    pub(super) fn new(options: &RunOptions, target: &str, proto: Option<Proto>) -> anyhow::Result<Self> {
        check_files(options)?;
        let log = options.log.as_deref().map(Log::start).transpose()?;
        log::expression("--filter", options.filter.filter.as_deref());
        log::expression("--until", options.show.until.as_deref());
        log::expression("--fail-on", options.fail_on.as_deref());
        let registry = options.show.contents.registry()?;
        let filters = parsed(options, registry)?;
        let rules = Rules::read(&options.rules.texts(), &options.rules.files, registry)
            .map_err(|error| Failure::rules(&error))?;
        let (rules, program, repeated) = program(options, rules, registry)?;
        let seed = seed(options, repeated, program.as_deref())?;
        let [input_log, journal] = [&options.input_log, &options.journal].map(|path| {
            path.clone().map(|path| LogFile {
                path,
                version: env!("CARGO_PKG_VERSION"),
            })
        });
        let clock = Clock::start();
        let verdicts = verdicts(options, target, clock)?;
        let bus = Bus::new();
        let stated = Stated::default();
        let recording = options
            .write
            .as_ref()
            .map(|target| Prepared::open(target, &bus))
            .transpose()
            .map_err(Failure::recording)?;
        Ok(Self {
            clock,
            seed,
            input_log,
            journal,
            bus,
            config: Config {
                seed,
                secret: entropy().map_err(Failure::network)?,
                proto,
                patience: None,
                heals: options.heal,
                // A recording or a filter wants to see everything, whatever is shown of it.
                events: if options.sees_only_odd() {
                    Events::Odd
                } else {
                    Events::All
                },
                registry,
            },
            style: style(&options.show),
            lines: options.show.lines,
            socket: options
                .control
                .path
                .as_deref()
                .map(Socket::bind)
                .transpose()
                .map_err(Failure::network)?,
            subscribers: Subscribers::default(),
            start_line: Vec::new(),
            header: None,
            snapshots: None,
            recording,
            log,
            verdicts,
            filters,
            program,
            rules: SharedRules::new(rules.unwrap_or_else(|| Rules::none(registry))),
            timeout: options.timeout.map(|after| Time::ZERO + after),
            judge: options
                .decodes_all()
                .then(|| judge::Live::new(options.show.contents.secrets(), stated.clone())),
            stated,
        })
    }

    /// Returns the parts of a run in front of `target`.
    pub(super) fn plan(&self, target: SocketAddr, listen: Listen) -> Plan {
        let settings = Settings {
            target,
            listen,
            config: self.config.clone(),
            bus: self.bus.clone(),
            stage: self.decoder(),
            nice: if self.snapshots.is_some() {
                DECODER_BESIDE_SCREEN
            } else {
                Nice::default()
            },
            clock: self.clock,
            input_log: self.input_log.clone(),
            journal: self.journal.clone(),
            program: self.program.clone(),
        };
        Plan {
            settings,
            rules: self.rules.clone(),
            stated: self.stated.clone(),
            judge: self.judge.clone(),
        }
    }

    /// Returns the decoder of all watchers: of the output, and of the recording if there is one.
    fn decoder(&self) -> Decoder {
        let mut decoder = decoder(self.style, self.config.registry, &self.filters);
        decoder.share_stated(self.stated.clone());
        decoder.end_by_rules();
        if self.config.events == Events::Odd {
            decoder.ignore_snapshots();
        }
        if self.recording.is_some() {
            decoder.decode_everything();
        }
        if let Some(judge) = &self.judge {
            decoder.collect_findings(judge.clone());
        }
        if let Some(snapshots) = &self.snapshots {
            decoder.measure_items();
            decoder.share_snapshots(snapshots.clone());
        }
        if self.socket.is_some() {
            decoder.serve(self.subscribers.clone());
        }
        decoder
    }

    /// Returns the output after it has printed the start and begun the recording.
    pub(super) fn greet(&mut self, run: &Run, target: &str, server: SocketAddr) -> anyhow::Result<Output> {
        let mut output = Output::new(self.style, &self.filters);
        output.form(self.lines, true, true);
        output.outlive_stdout();
        let start = Start {
            seed: self.seed,
            target: target.to_owned(),
            server,
            listen: run.addr(),
            connect: reachable(run.addr()),
            wall: self.clock.wall(),
        };
        log::start(&start);
        jsonl::start(&start.recorded(), &mut self.start_line);
        self.header = Some(start.recorded());
        output.start(&start);
        if let Some(prepared) = self.recording.take() {
            let (running, lines) = prepared
                .start(start.recorded(), self.clock)
                .map_err(Failure::recording)?;
            output.record(running);
            for (level, text) in &lines {
                output.log(self.clock.now(), *level, text);
            }
        }
        if run.has_moved() {
            let text = format!("port {DEFAULT_PORT} is taken: listening on {}", run.addr());
            output.log(self.clock.now(), Level::Warning, &text);
        }
        Ok(output)
    }

    /// Decodes all messages: the screen has a filter of its own, which the user changes. Keeps the newest snapshots for it.
    pub(super) fn leave_filter_to_screen(&mut self) {
        self.filters.show = None;
        self.style.since = false;
        if self.config.events == Events::All && self.judge.is_none() {
            self.judge = Some(judge::Live::new(self.style.secrets, self.stated.clone()));
        }
        self.snapshots = Some(Snapshots::default());
    }

    /// Opens the terminal UI in front of a proxy that has started.
    pub(super) fn open_screen(
        &mut self,
        screen: &ScreenOptions,
        output: &mut Output,
        run: &Run,
        (options, target): (&RunOptions, &str),
        reports: &mpsc::Sender<Wake>,
    ) -> Result<(), Failure> {
        let Some(header) = self.header.clone() else {
            return Ok(());
        };
        let console = Console::new(run.handle(Origin::Screen), reports.clone(), header);
        let title = Title {
            target: target.to_owned(),
            connect: reachable(run.addr()).to_string(),
            start: self.clock.wall(),
            recording: output.is_recording(),
            seed: Some(self.seed),
        };
        let mut app = App::new(title, self.style, self.config.registry);
        screen.prepare(&mut app);
        app.snapshot.shared = self.snapshots.clone().unwrap_or_default();
        // It was checked at the start.
        let _checked = app.set_filter(options.filter.filter.as_deref().unwrap_or_default());
        output.open_screen(app, console).map_err(|error| {
            Failure::network(format!("cannot open the terminal UI: {error}; leave out --tui"))
        })
    }

    /// Serves the control socket, if there is one.
    pub(super) fn control(&mut self, run: &Run, signals: &Signals) -> Result<Option<Control>, Failure> {
        let Some(socket) = self.socket.take() else {
            return Ok(None);
        };
        let parts = Parts {
            handle: run.handle(Origin::Socket),
            bus: self.bus.clone(),
            subscribers: self.subscribers.clone(),
            clock: self.clock,
            secrets: self.style.secrets,
            is_quiet: self.config.events == Events::Odd,
            start: std::mem::take(&mut self.start_line),
        };
        let control = Control::start(socket, parts).map_err(Failure::network)?;
        signals.remove(control.guard());
        Ok(Some(control))
    }

    /// Returns the run of a proxy that has started, without a command.
    pub(super) fn live(
        self,
        run: Run,
        output: Output,
        control: Option<Control>,
        wake: mpsc::Receiver<Wake>,
    ) -> Live {
        Live {
            run,
            output,
            wake,
            child: None,
            timeout: self.timeout,
            control,
            log: self.log,
            verdicts: self.verdicts,
        }
    }
}

/// Returns the filters of a run.
fn parsed(options: &RunOptions, registry: &'static Registry) -> Result<Filters, Failure> {
    let parse = |option, text: &Option<String>| filters::parse(option, text.as_deref(), registry);
    Ok(Filters {
        show: parse("--filter", &options.filter.filter)?,
        until: parse("--until", &options.show.until)?,
        fail_on: parse("--fail-on", &options.fail_on)?,
    })
}

/// Returns the seed of an option, of a journal whose faults are repeated, or of the rules; draws one where none of them has one.
fn seed(options: &RunOptions, repeated: Option<u64>, program: Option<&Program>) -> Result<u64, Failure> {
    let set = options.seed.or(repeated);
    if let Some(seed) = set.or_else(|| program?.seed()) {
        return Ok(seed);
    }
    // Four bytes: short enough to be typed again.
    let drawn = entropy::<4>().map_err(Failure::network)?;
    Ok(u32::from_be_bytes(drawn).into())
}

/// Returns the JUnit report of a run, if there is to be one.
fn verdicts(options: &RunOptions, target: &str, clock: Clock) -> Result<Option<Verdicts>, Failure> {
    let Some(path) = &options.junit else {
        return Ok(None);
    };
    Ok(Some(Verdicts {
        report: Report::create(path)?,
        target: target.to_owned(),
        until: options.show.until.clone(),
        fail_on: options.fail_on.clone(),
        wall: clock.wall(),
    }))
}

/// Returns the rules and their program, or those of a journal whose faults are repeated, with the seed of that journal.
fn program(
    options: &RunOptions,
    rules: Option<Rules>,
    registry: &'static Registry,
) -> Result<Programmed, Failure> {
    match &options.faults_from {
        Some(_) if rules.is_some() => {
            let text =
                "--faults-from has the rules of its run; leave out --rule, --rules, --link and --profile";
            Err(Failure::usage(text))
        }
        Some(path) => {
            let Repeated { program, rules, seed } =
                Repeated::read(path, registry).map_err(|error| Failure::faults(&error))?;
            Ok((Some(rules), Some(program), Some(seed)))
        }
        None => {
            let program = rules.as_ref().map(filters::compile).transpose()?;
            // A journal of a run without rules still has the joins, to compare those of others with.
            let empty = || {
                Program::compile("", registry)
                    .ok()
                    .map(|(program, _)| Arc::new(program))
            };
            let program = program.or_else(|| options.journal.as_ref().and_then(|_| empty()));
            Ok((rules, program, None))
        }
    }
}

/// Rules with their program, and the seed of a journal.
type Programmed = (Option<Rules>, Option<Arc<Program>>, Option<u64>);

/// Returns the style of the output.
pub(super) fn style(show: &Show) -> Style {
    Style {
        json: show.json.json,
        quiet: show.quiet.quiet,
        matches_only: false,
        viewer: Viewer::Run,
        verbosity: show.verbosity(),
        items: show.verbosity() >= Verbosity::Datagrams,
        frames: false,
        since: !show.json.json && show.verbosity() < Verbosity::Bytes,
        secrets: show.contents.secrets(),
    }
}

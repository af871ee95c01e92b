//! The parts of a run in front of a server, made from its options.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, mpsc},
};

use teetap_capture::Run as Header;
use teetap_engine::{
    Builder, Origin, Run,
    control::{Control, Socket},
    faults::Repeated,
    recording::Prepared,
    rules::Rules,
};
use teetap_harness::{junit::Report, outcome::Verdicts, step_summary::StepSummary};
use teetap_inspect::{Snapshots, Style, Verbosity, Viewer, jsonl};
use teetap_proxy::{
    io::{Bus, Clock, DEFAULT_PORT, LogFile, Nice, entropy},
    session::{Events, Level, Time},
};
use teetap_rules::Program;
use teetap_tui::{App, Title};
use teetap_wire::{Proto, def::Registry};

use crate::{
    cli::{LineOptions, RunOptions, ScreenOptions, Show, check_files},
    console::Console,
    exit::Failure,
    filters,
    live::Live,
    log::{self, Log},
    output::{Filters, Output, decoder},
    run::Start,
    signals::Signals,
    wake::Wake,
};

/// Priority of the decoder beside a screen; lower than the priority of the data thread, which must not wait for it.
const DECODER_BESIDE_SCREEN: Nice = Nice(10);

/// Parts that the binary adds to every run.
pub(super) struct Setup {
    pub(super) clock: Clock,
    pub(super) seed: u64,
    registry: &'static Registry,
    /// Events that the core emits.
    events: Events,
    collects_findings: bool,
    /// Snapshots that the screen shows.
    snapshots: Option<Snapshots>,
    style: Style,
    lines: LineOptions,
    /// True if the recording is written to stdout.
    lines_to_stderr: bool,
    filters: Filters,
    /// Description of the run for recordings; `None` before the start.
    header: Option<Header>,
    /// Latest time at which the run ends.
    timeout: Option<Time>,
    /// File to record to; moved into the run at its start.
    recording: Option<Prepared>,
    /// Program log; moved into the run.
    log: Option<Log>,
    /// JUnit report; moved into the run.
    verdicts: Option<Verdicts>,
}

impl Setup {
    /// Reads definitions, starts the log and the clock, and draws a seed if neither an option nor the rules set one.
    /// Also returns the builder of the run, to be completed with [`Self::completed`].
    pub(super) fn new(
        options: &RunOptions,
        target: &str,
        proto: Option<Proto>,
    ) -> anyhow::Result<(Self, Builder)> {
        check_files(options)?;
        let flight = options.flight()?;
        let log = options.log.as_deref().map(Log::start).transpose()?;
        log::expression("--filter", options.filter.filter.as_deref());
        log::expression("--until", options.show.until.as_deref());
        log::expression("--fail-on", options.fail_on.as_deref());
        for expression in &options.save_on {
            log::expression("--save-on", Some(expression));
        }
        let registry = options.show.contents.registry()?;
        let filters = parsed(options, registry)?;
        let rules = Rules::read(&options.rules.texts(), &options.rules.files, registry)
            .map_err(|error| Failure::rules(&error))?;
        let (rules, program, repeated) = program(options, rules, registry)?;
        let seed = seed(options, repeated, program.as_deref())?;
        let clock = Clock::start();
        let verdicts = verdicts(options, target, clock)?;
        let bus = Bus::new();
        let recording = options
            .write
            .as_ref()
            .map(|target| Prepared::open(target, flight, &bus))
            .transpose()
            .map_err(Failure::recording)?;
        // A recording or a filter needs all events, even if few are shown.
        let events = if options.sees_only_odd() {
            Events::Odd
        } else {
            Events::All
        };
        // The demo sets the address of its server later.
        let mut builder = Builder::new(SocketAddr::from(([127, 0, 0, 1], 0)))
            .definitions(registry)
            .program(rules.unwrap_or_else(|| Rules::none(registry)), program)
            .proto(proto)
            .seed(seed)
            .heal(options.heal)
            .client_addresses(options.client_addresses)
            .clock(clock)
            .bus(bus)
            .events(events)
            .secrets(options.show.contents.secrets());
        let file = |path: &Path| LogFile {
            path: path.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        };
        if let Some(path) = &options.input_log {
            builder = builder.input_log(file(path));
        }
        if let Some(path) = &options.journal {
            builder = builder.journal(file(path));
        }
        if let Some(path) = &options.control.path {
            builder = builder.control(Socket::bind(path).map_err(Failure::network)?);
        }
        let setup = Self {
            clock,
            seed,
            registry,
            events,
            collects_findings: options.decodes_all(),
            style: style(&options.show),
            lines: options.show.lines,
            lines_to_stderr: options.writes_to_stdout(),
            header: None,
            snapshots: None,
            recording,
            log,
            verdicts,
            filters,
            timeout: options.timeout.map(|after| Time::ZERO + after),
        };
        Ok((setup, builder))
    }

    /// Adds the decoder to the builder. It decodes for all watchers: the output, and the recording if there is one.
    pub(super) fn completed(&self, builder: Builder) -> Builder {
        let mut decoder = decoder(self.style, self.registry, &self.filters);
        if self.events == Events::Odd {
            decoder.ignore_snapshots();
        }
        if self.recording.is_some() {
            decoder.decode_everything();
        }
        let mut nice = Nice::default();
        if let Some(snapshots) = &self.snapshots {
            decoder.measure_items();
            decoder.share_snapshots(snapshots.clone());
            nice = DECODER_BESIDE_SCREEN;
        }
        builder
            .decoder(decoder)
            .findings(self.collects_findings)
            .nice(nice)
    }

    /// Prints the start, begins the recording and returns the output.
    pub(super) fn greet(&mut self, run: &Run, target: &str, server: SocketAddr) -> anyhow::Result<Output> {
        let mut output = Output::new(self.style, &self.filters);
        output.form(self.lines, true, true);
        output.outlive_stdout();
        if self.lines_to_stderr {
            output.leave_stdout();
        }
        let start = Start {
            seed: self.seed,
            target: target.to_owned(),
            server,
            listen: run.addr(),
            connect: run.reachable(),
            wall: self.clock.wall(),
        };
        log::start(&start);
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

    /// Decodes all messages, since the user can change the filter of the screen. Keeps the newest snapshots for the
    /// screen.
    pub(super) fn leave_filter_to_screen(&mut self) {
        self.filters.show = None;
        self.style.since = false;
        self.collects_findings |= self.events == Events::All;
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
            connect: run.reachable().to_string(),
            start: self.clock.wall(),
            recording: output.is_recording(),
            seed: Some(self.seed),
        };
        let mut app = App::new(title, self.style, self.registry);
        screen.prepare(&mut app);
        app.share_snapshots(self.snapshots.clone().unwrap_or_default());
        // The filter was checked at the start.
        let _checked = app.set_filter(options.filter.filter.as_deref().unwrap_or_default());
        output.open_screen(app, console).map_err(|error| {
            Failure::network(format!("cannot open the terminal UI: {error}; leave out --tui"))
        })
    }

    /// Serves the control socket, if there is one.
    pub(super) fn control(&self, run: &mut Run, signals: &Signals) -> Result<Option<Control>, Failure> {
        let mut start = Vec::new();
        if let Some(header) = &self.header {
            jsonl::start(header, &mut start);
        }
        let control = run.serve(start).map_err(Failure::network)?;
        if let Some(control) = &control {
            signals.remove(control.guard());
        }
        Ok(control)
    }

    /// Returns the main loop of a proxy that has started, without a command.
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
        save_on: options
            .save_on
            .iter()
            .map(|text| filters::parse("--save-on", Some(text), registry))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
    })
}

/// Returns the seed of the option, of the journal whose faults are repeated, or of the rules; draws one if none of them
/// has a seed.
fn seed(options: &RunOptions, repeated: Option<u64>, program: Option<&Program>) -> Result<u64, Failure> {
    let set = options.seed.or(repeated);
    if let Some(seed) = set.or_else(|| program?.seed()) {
        return Ok(seed);
    }
    // Four bytes keep the seed short enough to type.
    let drawn = entropy::<4>().map_err(Failure::network)?;
    Ok(u32::from_be_bytes(drawn).into())
}

/// Returns the JUnit report and the summary of a run; `None` if the user requested neither.
fn verdicts(options: &RunOptions, target: &str, clock: Clock) -> Result<Option<Verdicts>, Failure> {
    let report = options.junit.as_deref().map(Report::create);
    let report = report.transpose().map_err(Failure::report)?;
    let summary = options.summary.as_deref().map(StepSummary::open);
    let summary = summary.transpose().map_err(Failure::network)?;
    if report.is_none() && summary.is_none() {
        return Ok(None);
    }
    Ok(Some(Verdicts {
        report,
        summary,
        target: target.to_owned(),
        until: options.show.until.clone(),
        fail_on: options.fail_on.clone(),
        wall: clock.wall(),
    }))
}

/// Returns the rules and their program. If the faults of a journal are repeated, returns the rules, the program and the
/// seed of the journal.
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
            // The journal of a run without rules still records the joins, which can be compared with the joins of other
            // runs.
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

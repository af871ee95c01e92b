//! `teetap demo`: the embedded server and bots of [`teetap_harness::demo`], with a real proxy between them.

use std::{io, net::SocketAddr, sync::mpsc, thread, time::Duration};

use teetap_engine::{Builder, Run, RunError};
use teetap_harness::demo::{self, Report};
use teetap_proxy::{io::Commands, session::Level};
use teetap_rules::Report as Effects;
use tokio::runtime;

use super::setup::Setup;
use crate::{
    cli::{RunOptions, ScreenOptions},
    exit::{Exit, Failure},
    signals::Signals,
    stdin,
    wake::Wake,
};

/// The proxy and the address of the server, or the error that prevented the start.
type Started = Result<(Run, SocketAddr), RunError>;

/// Time for which the bots play unless the user sets one.
const SHORT: Duration = Duration::from_secs(5);

/// Time for which the bots play on a screen, which the user usually closes earlier.
const LONG: Duration = Duration::from_hours(1);

/// Runs the demo; the bots play for `duration` after they have met.
pub(crate) fn demo(
    options: &RunOptions,
    screen: &ScreenOptions,
    duration: Option<Duration>,
) -> anyhow::Result<Exit> {
    options.check_stdout(screen.tui)?;
    screen.check()?;
    options.check_stdin(screen.tui.then_some("--tui"))?;
    let duration = duration.unwrap_or(if screen.tui { LONG } else { SHORT });
    let listen = options.listen()?;
    let (wake_sender, wake) = mpsc::channel();
    let (mut setup, builder) = Setup::new(options, "demo", None)?;
    if screen.tui {
        setup.leave_filter_to_screen();
    }
    let signals = Signals::install(wake_sender.clone()).map_err(Failure::network)?;
    let (started_sender, started) = mpsc::channel();
    let reports = wake_sender.clone();
    let seed = setup.seed;
    let builder = setup.completed(builder).listen(listen);
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::network)?;
    thread::Builder::new().name("demo".into()).spawn(move || {
        let mut commands = None;
        let report = runtime.block_on(play(duration, seed, builder, &started_sender, &mut commands));
        let effects = commands.and_then(|commands| commands.report().ok());
        let (exit, lines) = outcome(report, effects.as_ref().is_some_and(Effects::has_any));
        // The run may already have ended.
        let _ended = wake_sender.send(Wake::Done(exit, lines));
    })?;
    let (mut run, server) = started
        .recv()
        .map_err(|_| Failure::network("the demo's server did not start"))?
        .map_err(Failure::run)?;
    signals.guard(run.commands());
    let mut output = setup.greet(&run, "demo", server)?;
    let control = setup.control(&mut run, &signals)?;
    output.flush()?;
    if screen.tui {
        setup.open_screen(screen, &mut output, &run, (options, "demo"), &reports)?;
        output.begin_tour();
    }
    if options.until_stdin_closes {
        stdin::watch(reports).map_err(Failure::network)?;
    }
    setup.live(run, output, control, wake).run()
}

/// Plays. Sends the proxy to `started` as soon as it runs, or the error that prevented it.
async fn play(
    duration: Duration,
    seed: u64,
    builder: Builder,
    started: &mpsc::Sender<Started>,
    commands: &mut Option<Commands>,
) -> io::Result<Report> {
    let connect = async move |server: SocketAddr| {
        let run = builder.server(server).start();
        *commands = run.as_ref().ok().map(Run::commands);
        let addr = run.as_ref().map(Run::addr);
        let addr = addr.map_err(|error| io::Error::other(error.to_string()));
        // The main thread waits for this message only.
        let _always_received = started.send(run.map(|run| (run, server)));
        addr
    };
    demo::run(duration, seed, connect).await
}

/// Returns the exit code and the lines to print. If `has_effects`, the user's rules or link lines changed the traffic,
/// so that failures of the demo do not count.
fn outcome(report: io::Result<Report>, has_effects: bool) -> (Exit, Vec<(Level, String)>) {
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            return (
                Exit::Network,
                vec![(Level::Warning, format!("the demo failed: {error}"))],
            );
        }
    };
    let text = report.to_string();
    let mut lines: Vec<_> = text.lines().map(|line| (Level::Info, line.to_owned())).collect();
    let failures = report.failures(true);
    if has_effects && !failures.is_empty() {
        lines.extend(
            failures
                .iter()
                .map(|failure| (Level::Info, format!("with these rules: {failure}"))),
        );
        let text = "the demo was changed by the rules, so it neither succeeded nor failed";
        lines.push((Level::Info, text.to_owned()));
        return (Exit::Ok, lines);
    }
    lines.extend(
        failures
            .iter()
            .map(|failure| (Level::Warning, format!("failed: {failure}"))),
    );
    if failures.is_empty() {
        let text = "the demo succeeded: both bots played, and no token of one leg was seen on the other";
        lines.push((Level::Info, text.to_owned()));
        (Exit::Ok, lines)
    } else {
        (Exit::Failed, lines)
    }
}

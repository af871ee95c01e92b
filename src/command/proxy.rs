//! `teetap HOST` and `teetap run HOST [-- CMD]`: a proxy in front of a server, until something ends it.

use std::{ffi::OsString, sync::mpsc};

use teetap_harness::child;
use teetap_proxy::{
    io::{Target, raise_file_limit},
    session::Level,
};

use super::setup::Setup;
use crate::{
    cli::{self, ProxyOptions, ScreenOptions},
    exit::{Exit, Failure},
    live::Live,
    signals::Signals,
    stdin,
};

/// The output of a run, and the event that ends the run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mode<'a> {
    /// Lines on stdout, until a signal.
    Lines,
    /// The terminal UI, until the user closes it.
    Screen(&'a ScreenOptions),
    /// Lines on stdout, until this command ends; until a signal if the command is empty.
    Command(&'a [OsString]),
}

impl<'a> Mode<'a> {
    /// Returns the mode that the options of the screen select.
    pub(crate) const fn from_options(screen: &'a ScreenOptions) -> Self {
        match screen.tui {
            true => Self::Screen(screen),
            false => Self::Lines,
        }
    }

    /// Returns the part of the command line that reads stdin; `None` if nothing does.
    const fn reader_of_stdin(self) -> Option<&'static str> {
        match self {
            Self::Screen(_) => Some("--tui"),
            Self::Command(command) if !command.is_empty() => Some("CMD"),
            Self::Lines | Self::Command(_) => None,
        }
    }
}

/// Runs a proxy.
///
/// # Errors
/// Returns a [`Failure`] if the command line is wrong or the proxy cannot start.
pub(crate) fn proxy(options: &ProxyOptions, target: &Target, mode: Mode<'_>) -> anyhow::Result<Exit> {
    let (proto, options) = (options.protocol.only(), &options.run);
    options.check_stdout(matches!(mode, Mode::Screen(_)))?;
    if let Mode::Screen(screen) = mode {
        screen.check()?;
    }
    options.check_stdin(mode.reader_of_stdin())?;
    let listen = options.listen()?;
    let server = target.resolve().map_err(|error| {
        let meant = cli::command_like(&target.host).map_or(String::new(), |name| {
            format!("; did you mean the command '{name}'?")
        });
        Failure::network(format!("{error}{meant}"))
    })?;
    let (wake_sender, wake) = mpsc::channel();
    let (mut setup, builder) = Setup::new(options, &target.to_string(), proto)?;
    if matches!(mode, Mode::Screen(_)) {
        setup.leave_filter_to_screen();
    }
    let signals = Signals::install(wake_sender.clone()).map_err(Failure::network)?;
    let builder = setup.completed(builder).server(server).listen(listen);
    let mut run = builder.start().map_err(Failure::run)?;
    signals.guard(run.commands());
    let connect = run.reachable();
    let mut output = setup.greet(&run, &target.to_string(), server)?;
    let control = setup.control(&mut run, &signals)?;
    output.flush()?;
    let child = match mode {
        Mode::Command(command) if !command.is_empty() => {
            Some(child::start(command, connect).map_err(Failure::child)?)
        }
        _ => None,
    };
    // Raised after the start of the command, which should not inherit the higher limit.
    if let Err(error) = raise_file_limit() {
        let text = format!("cannot raise the limit of open files, and so of sessions: {error}");
        output.log(setup.clock.now(), Level::Warning, &text);
    }
    if let Mode::Screen(screen) = mode {
        setup.open_screen(
            screen,
            &mut output,
            &run,
            (options, &target.to_string()),
            &wake_sender,
        )?;
    }
    if options.until_stdin_closes {
        stdin::watch(wake_sender).map_err(Failure::network)?;
    }
    run.probe()?;
    Live {
        child,
        ..setup.live(run, output, control, wake)
    }
    .run()
}

//! Measures the built teetap binary: capacity, latency, memory, behaviour in a flood, and speed on recordings.
//!
//! Law: every figure that depends on the machine is compared with a figure of another process from the same run,
//! measured in turn with it. The exception is the MB/s of recordings, because there is nothing to compare it with.
//! Every datagram is checked where it arrives. In most parts, a run with a lost or wrong datagram gives an error
//! instead of a figure. Only the loopback interface is used. If the system permits it, as for root, everything runs
//! in its own network namespace.
//!
//! CPU time is the time in nanoseconds that the threads of a process have run, as the kernel reports it. The CPU
//! time of the load generator is not counted.

mod cores;
mod eye;
mod forward;
mod load;
mod message;
mod net;
mod part;
mod proc;
mod recording;
mod stats;
mod subject;
mod traffic;

use std::env;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::cores::Cores;
use crate::part::Run;
use crate::stats::Report;

/// Environment variable with the path of the binary.
const BUILT: &str = "TEETAP_BENCH_BINARY";

/// Measures the built teetap binary beside two plain forwarders.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    /// The parts to measure [default: all]
    parts: Vec<Part>,

    /// The binary [default: builds it in release mode]
    #[arg(long, value_name = "PATH", env = BUILT, global = true)]
    teetap: Option<PathBuf>,

    /// The length of the recordings that grep and judge read
    #[arg(long, value_name = "MB", default_value_t = 256)]
    megabytes: u64,

    /// An older binary to measure beside it, where the part compares two
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,

    /// Fewer and shorter runs, to see that it works: no figures to quote
    #[arg(long)]
    quick: bool,

    /// Ends with a failure when a goal is missed
    #[arg(long)]
    check: bool,

    #[command(subcommand)]
    role: Option<Role>,
}

/// The other roles of this program.
#[derive(Debug, Subcommand)]
enum Role {
    /// Plays through one subject, as fast as it goes or at game speed: for a profiler
    Play(part::Play),
    /// A forwarder, to be measured beside teetap
    #[command(hide = true)]
    Forward {
        kind: forward::Kind,
        listen: SocketAddr,
        target: SocketAddr,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// CPU time per datagram at 1, 16 and 256 sessions, against the minimal forwarder
    Capacity,
    /// Added latency at 64 sessions, evenly spread and in bursts, against the naive tokio forwarder
    Latency,
    /// A thousand sessions: memory, and the cost of a datagram against 16 sessions
    Sessions,
    /// 100 000 first datagrams of each variant from distinct ports
    Flood,
    /// CPU time per datagram with plain output, a recording, and both
    Watch,
    /// CPU time per datagram with rules and link lines, and the accuracy of delays
    Rules,
    /// Latency with and without the terminal UI, from a key to its frame, and bytes of a frame
    Screen,
    /// The time that a script at the control socket takes to release a held message
    Script,
    /// `teetap grep` and `teetap judge` over a long recording: MB/s and memory
    Grep,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    if let Some(Role::Forward { kind, listen, target }) = cli.role {
        forward::run(kind, listen, target)?;
        return Ok(ExitCode::SUCCESS);
    }
    let teetap = match &cli.teetap {
        Some(path) => path.clone(),
        None => build()?,
    };
    seclude(&teetap)?;
    // Each subject has up to a thousand clients.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let mut report = Report::default();
    let run = Run {
        teetap,
        quick: cli.quick,
        cores: Cores::share()?,
    };
    if let Some(Role::Play(play)) = &cli.role {
        part::play(&run, play, &report)?;
        return Ok(ExitCode::SUCCESS);
    }
    measure(&cli, &run, &mut report)?;
    for missed in report.missed() {
        report.line(&format!("missed: {missed}"));
    }
    let failed = cli.check && !report.missed().is_empty();
    Ok(ExitCode::from(u8::from(failed)))
}

fn measure(cli: &Cli, run: &Run, report: &mut Report) -> Result<()> {
    let wanted = |part| cli.parts.is_empty() || cli.parts.contains(&part);
    report.line(&format!(
        "cores {}, load average {}{}",
        run.cores.count,
        proc::load_average(),
        if run.quick {
            ", quick: not to be quoted"
        } else {
            ""
        }
    ));
    if wanted(Part::Capacity) {
        part::capacity(run, report)?;
    }
    if wanted(Part::Latency) {
        part::latency(run, report)?;
    }
    if wanted(Part::Sessions) {
        part::sessions(run, report)?;
    }
    if wanted(Part::Flood) {
        part::flood(run, report)?;
    }
    if wanted(Part::Watch) {
        part::watch(run, cli.before.as_deref(), report)?;
    }
    if wanted(Part::Rules) {
        part::rules(run, report)?;
    }
    if wanted(Part::Screen) {
        part::screen(run, report)?;
    }
    if wanted(Part::Script) {
        part::script(run, report)?;
    }
    if wanted(Part::Grep) {
        part::grep(run, cli.megabytes, report)?;
    }
    report.line(&format!("\nload average at the end {}", proc::load_average()));
    Ok(())
}

/// Builds the binary in release mode, and returns its path beside this program.
fn build() -> Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            "teetap",
            "--bin",
            "teetap",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "teetap does not build");
    let teetap = env::current_exe()?.with_file_name("teetap");
    ensure!(
        teetap.exists(),
        "{} does not exist: run this in release mode, or name the binary with --teetap",
        teetap.display()
    );
    Ok(teetap)
}

/// Restarts in a network namespace of its own if that is permitted, so that there are no foreign packets, ports or
/// captures.
fn seclude(teetap: &Path) -> Result<()> {
    const SECLUDED: &str = "TEETAP_BENCH_SECLUDED";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "sh", "-c", script, "sh"]);
        command
    };
    let may = || {
        let output = unshare("ip link set lo up").output();
        output.is_ok_and(|output| output.status.success())
    };
    if env::var_os(SECLUDED).is_some() || !may() {
        return Ok(());
    }
    let error = unshare("ip link set lo up && exec \"$@\"")
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(SECLUDED, "1")
        .env(BUILT, teetap)
        .exec();
    Err(error).context("cannot go on in a network namespace")
}

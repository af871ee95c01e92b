//! The speed and the memory of `teetap grep` and `teetap judge` on a long recording.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use tempfile::{TempDir, tempdir};

use super::Run;
use crate::proc;
use crate::recording::{self, Format};
use crate::stats::{Report, median, most, number};

/// The recorded sessions, the file format, and the name in the table.
const RECORDINGS: [(&str, Format, &str); 4] = [
    ("rich-dd16", Format::Pcap, "DDNet, pcap"),
    ("rich-tw07", Format::Pcap, "0.7, pcap"),
    ("rich-dd16", Format::PcapNg, "DDNet, pcapng of teetap"),
    ("rich-tw07", Format::PcapNg, "0.7, pcapng of teetap"),
];

/// A rare message, a condition on a text, a direction, and `judge`, which decodes every message.
const COMMANDS: [&[&str]; 4] = [
    &["grep", "--quiet", "rcon_cmd"],
    &["grep", "--quiet", r#"sv_chat.message contains "x""#],
    &["grep", "--quiet", "c2s and not input"],
    &["judge", "--quiet"],
];

const MB: f64 = 1e6;
/// Interval at which the memory is read.
const LOOK: Duration = Duration::from_millis(5);
/// Goal for the speed in MB/s of wall time.
const GOAL: f64 = 100.0;
/// Goal for the memory in MiB, independent of the length of the recording.
const MEMORY: f64 = 32.0;

/// The figures of one run.
struct Figures {
    /// Speed in MB/s.
    speed: f64,
    /// CPU time in seconds.
    cpu: f64,
    /// Highest memory in MiB.
    memory: f64,
}

/// Measures recordings of `megabytes` MB, and prints the results.
pub(crate) fn measure(run: &Run, megabytes: u64, report: &mut Report) -> Result<()> {
    let (size, runs) = (run.either(megabytes, 16) * 1_000_000, run.either(3, 1));
    report.line(&format!(
        "\nteetap grep and judge over recordings of {} MB in the page cache, median of {runs} runs, highest memory",
        size / 1_000_000
    ));
    report.line("| recording | command | MB/s | CPU s | MiB | goals |");
    report.line("|---|---|---|---|---|---|");
    let folder: TempDir = tempdir()?;
    for (sessions, format, name) in RECORDINGS {
        let path = folder.path().join("recording");
        recording::write(sessions, format, size, &path)?;
        for words in COMMANDS {
            let figures = (0..runs)
                .map(|_| read(run, words, &path))
                .collect::<Result<Vec<_>>>()?;
            let all = |of: fn(&Figures) -> f64| figures.iter().map(of).collect::<Vec<_>>();
            let (speed, memory) = (median(&all(|one| one.speed)), most(&all(|one| one.memory)));
            let command = words.join(" ");
            let what = format!("{command}, {name}");
            let goals = [
                report.at_least(&format!("MB/s of {what}"), speed, GOAL),
                report.at_most(&format!("memory in MiB of {what}"), memory, MEMORY),
            ];
            report.line(&format!(
                "| {name} | `{command}` | **{speed:.0}** | {:.2} | **{memory:.1}** | {} |",
                median(&all(|one| one.cpu)),
                goals.join(", ")
            ));
        }
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// Runs a command once. The command does not fail if nothing matches.
fn read(run: &Run, words: &[&str], path: &Path) -> Result<Figures> {
    let size = number(path.metadata()?.len());
    let mut command = Command::new(&run.teetap);
    command
        .args(words)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(File::create("/dev/null")?)
        .stderr(Stdio::null());
    let (cpu, begun) = (children_cpu()?, Instant::now());
    let mut child = run
        .cores
        .start(|| command.spawn())
        .with_context(|| format!("cannot start {}", run.teetap.display()))?;
    let mut memory = 0;
    let status = loop {
        // A process that has ended reports no memory.
        memory = proc::memory(child.id()).map_or(memory, |(_, highest)| highest.max(memory));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    let took = begun.elapsed().as_secs_f64();
    ensure!(matches!(status.code(), Some(0 | 1)), "{words:?}: {status}");
    Ok(Figures {
        speed: size / MB / took,
        cpu: children_cpu()? - cpu,
        memory: number(memory) / (1024.0 * 1024.0),
    })
}

/// Returns the CPU time in seconds of all children that have ended.
fn children_cpu() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| number(u64::try_from(time.num_microseconds()).unwrap_or_default()) / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

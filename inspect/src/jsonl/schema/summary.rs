//! The summary of a run or a recording, and the result of a replay.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use teetap_proxy::words::Word;
use teetap_wire::{Dir, PerDir};

use super::{FindingsBody, JoinBody};

/// The summary of a run, or of a recording that was shown.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::jsonl) enum Summary<'a> {
    Run(Box<SummaryBody<'a>>),
    Recording(TallyBody<'a>),
}

/// The summary of a run.
#[derive(Serialize, Deserialize)]
pub struct SummaryBody<'a> {
    /// Null if the data thread crashed, like the counts below.
    pub sessions: Option<u64>,
    #[serde(default)]
    pub never_online: Option<u64>,
    pub datagrams: Option<PerDir<u64>>,
    pub bytes: Option<PerDir<u64>>,
    pub refused: Option<u64>,
    pub unsent: Option<u64>,
    pub network_errors: Option<u64>,
    /// Number of datagrams that the kernel dropped because teetap did not read them fast enough.
    pub kernel_drops: u64,
    /// Number of events missing from this output.
    pub lost: u64,
    pub seed: u64,
    /// A shell command that repeats the run. Missing in lines of older versions, like the next three fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Cow<'a, str>>,
    /// True if the rules changed during the run, which `repeat` does not reproduce. Missing if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rules_changed: bool,
    /// Missing if there are no rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleEffect<'a>>,
    /// Missing if there are no link lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LineEffect<'a>>,
    /// The joins of the sessions; missing if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<JoinBody<'a>>,
    /// Number of omitted joins; missing if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub joins_left_out: u64,
    pub exit: u8,
    /// Missing in lines of older versions.
    #[serde(default)]
    pub ended_by: Option<EndedByBody<'a>>,
    pub cmd_exit: Option<i32>,
    /// True if the run ended before its command.
    #[serde(default)]
    pub cmd_stopped: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingBody<'a>>,
    /// Missing if not everything was decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<FindingsBody>,
}

/// A rule and its effects.
#[derive(Serialize, Deserialize)]
pub struct RuleEffect<'a> {
    /// Null for a rule without a name.
    pub name: Option<Cow<'a, str>>,
    pub text: Cow<'a, str>,
    /// Number of messages on which the rule acted.
    pub hits: u64,
    /// Seconds since the start; null if the rule never acted.
    pub last_at: Option<f64>,
    pub last_session: Option<u32>,
}

/// A link line and its effects in one direction, as numbers of datagrams and duplicates.
#[derive(Serialize, Deserialize)]
pub struct LineEffect<'a> {
    pub link: Cow<'a, str>,
    pub dir: Word<Dir>,
    pub lost: u64,
    pub delayed: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub corrupted: u64,
}

/// The cause of the end of a run.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EndedByBody<'a> {
    Signal {
        signal: u8,
    },
    /// A message matched --until.
    Until(EndingBody<'a>),
    /// A message matched --fail-on.
    FailOn(EndingBody<'a>),
    /// The action `fail` of a rule.
    Fail(RuleEndingBody<'a>),
    /// The action `expect` of a rule whose message was not sent.
    Expect(RuleEndingBody<'a>),
    /// The action `exit` of a rule.
    Exit(RuleEndingBody<'a>),
    Timeout,
    /// The command of `run` ended.
    Command,
    /// The command `stop` of the control socket or the screen.
    Control,
    /// The program at the other end of stdin closed it.
    StdinClosed,
    /// The reader of stdout closed it.
    StdoutClosed,
    /// The demo ended.
    Demo,
    /// The user quit the terminal UI.
    User,
    /// The data thread crashed.
    Crash,
}

/// The message that ended a run.
#[derive(Serialize, Deserialize)]
pub struct EndingBody<'a> {
    /// Seconds since the start.
    pub at: f64,
    pub session: Option<u32>,
    pub dir: Word<Dir>,
    pub message: Cow<'a, str>,
}

/// The rule that ended a run.
#[derive(Serialize, Deserialize)]
pub struct RuleEndingBody<'a> {
    /// Seconds since the start.
    pub at: f64,
    pub session: Option<u32>,
    /// The name of the rule, or its text.
    pub rule: Cow<'a, str>,
    /// The reason; missing for `exit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'a, str>>,
    /// Missing for a rule without a condition, like the next field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Word<Dir>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
}

/// The result of recording a run.
#[derive(Serialize, Deserialize)]
pub struct RecordingBody<'a> {
    pub file: Cow<'a, str>,
    /// Number of packets in the file. A datagram counts once as received and once as sent. Null if the recorder
    /// crashed.
    pub packets: Option<u64>,
    /// Number of packets that could not be written.
    pub missing: Option<u64>,
    /// Number of events dropped because the recorder fell behind.
    pub lost: Option<u64>,
    /// Number of files that `--save-on` has written; `file` is the last one. Missing without that option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<u64>,
}

/// The summary of a recording that was shown.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct TallyBody<'a> {
    pub(in crate::jsonl) packets: u64,
    pub(in crate::jsonl) sessions: u64,
    pub(in crate::jsonl) datagrams: PerDir<u64>,
    pub(in crate::jsonl) bytes: PerDir<u64>,
    /// Number of UDP datagrams of other protocols.
    pub(in crate::jsonl) not_understood: u64,
    pub(in crate::jsonl) not_udp: u64,
    /// Number of parts of fragmented packets.
    pub(in crate::jsonl) fragments: u64,
    /// Number of packets with headers that are cut off or contradict themselves.
    pub(in crate::jsonl) broken: u64,
    /// Number of packets of the server leg that were omitted because the client leg has them.
    pub(in crate::jsonl) doubled: u64,
    /// Number of events missing from the recording.
    pub(in crate::jsonl) lost: u64,
    /// As in the summary of a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::jsonl) joins: Vec<JoinBody<'a>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(in crate::jsonl) joins_left_out: u64,
    pub(in crate::jsonl) exit: u8,
    /// Only from `judge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) findings: Option<FindingsBody>,
}

/// The result of a replay.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct ReplayBody<'a> {
    /// Version of the program that wrote the log.
    pub(in crate::jsonl) version: Cow<'a, str>,
    pub(in crate::jsonl) equal: bool,
    pub(in crate::jsonl) inputs: u64,
    /// Numbers of datagrams received, and of datagrams sent as in the log.
    pub(in crate::jsonl) received: u64,
    pub(in crate::jsonl) sent: u64,
    /// The first difference: line of the log, ordinal of the output, and both outputs; null if there is none.
    pub(in crate::jsonl) line: Option<u64>,
    pub(in crate::jsonl) output: Option<usize>,
    pub(in crate::jsonl) expected: Option<String>,
    pub(in crate::jsonl) came: Option<String>,
    /// The reason why the log does not contain the whole run.
    pub(in crate::jsonl) cut: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

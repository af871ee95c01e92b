//! The schema, version 1: the objects and their fields.

use std::{borrow::Cow, net::SocketAddr};

use serde::Serialize;
use serde_json::value::RawValue;
use teetap_proxy::session::Placed;
use teetap_wire::Seq;

/// Version of the schema.
pub const VERSION: u8 = 1;

/// One line.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) v: u8,
    pub(super) t: f64,
    #[serde(flatten)]
    pub(super) body: Body<'a>,
}

/// What a line is about: its `event`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Body<'a> {
    Start(StartBody<'a>),
    Session(SessionBody),
    Message(MessageBody<'a>),
    Datagram(DatagramBody),
    Gap {
        lost: u64,
    },
    Log {
        session: Option<u32>,
        level: &'static str,
        text: Cow<'a, str>,
        /// The program says it, not the core.
        #[serde(skip_serializing_if = "is_false")]
        program: bool,
    },
    Replay(ReplayBody),
    Summary(SummaryBody<'a>),
    #[serde(rename = "summary")]
    Tally(TallyBody),
}

#[derive(Serialize)]
pub(super) struct StartBody<'a> {
    /// Of the program that made the run.
    pub(super) version: &'a str,
    /// Null, like the next three, in recordings of others.
    pub(super) seed: Option<u64>,
    /// As the user wrote it.
    pub(super) target: Option<&'a str>,
    /// What it resolved to.
    pub(super) server: Option<SocketAddr>,
    pub(super) listen: Option<SocketAddr>,
    /// Start of the run or of the recording, UTC, RFC 3339.
    pub(super) wall_clock: String,
    /// The recording that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
pub(super) struct SessionBody {
    pub(super) session: Option<u32>,
    /// opening, online, closing or closed.
    pub(super) state: String,
    pub(super) proto: String,
    pub(super) client: SocketAddr,
    /// Where a redirect has led to another server than that of the `start` line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<SocketAddr>,
    pub(super) upstream: Option<SocketAddr>,
    /// client or server; null when nobody but the proxy ended it.
    pub(super) by: Option<String>,
    pub(super) reason: Option<String>,
    /// The player, when known.
    pub(super) name: Option<String>,
}

#[derive(Serialize)]
pub(super) struct MessageBody<'a> {
    pub(super) session: Option<u32>,
    /// c2s or s2c.
    pub(super) dir: String,
    /// Null outside a connection.
    pub(super) proto: Option<String>,
    /// control, system, game or connless; null when the id cannot be read.
    pub(super) layer: Option<&'static str>,
    pub(super) id: Option<i32>,
    pub(super) uuid: Option<String>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) vital: bool,
    pub(super) resend: bool,
    /// As its sender numbered it.
    pub(super) seq: Option<u16>,
    /// As it was sent on; null when it was not, or not vital.
    pub(super) seq_out: Option<u16>,
    /// Ordinal of its datagram in the session and direction; null when no peer sent it.
    pub(super) datagram: Option<u64>,
    /// Bytes of id and fields.
    pub(super) size: usize,
    /// Decoded fields; null when they are not decoded.
    pub(super) fields: Option<Box<RawValue>>,
    pub(super) notes: Vec<NoteBody>,
    /// The snapshot that it completes; its items with `-v`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snap: Option<Box<RawValue>>,
    pub(super) actions: Vec<ActionBody>,
    /// peer, rule, user or proxy.
    pub(super) origin: String,
    /// The one leg it belongs to: client or server; null when it went through.
    pub(super) leg: Option<String>,
    /// The asking client, outside a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<String>,
    /// What left at once, outside a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex_out: Option<Vec<String>>,
}

#[derive(Serialize)]
pub(super) struct NoteBody {
    pub(super) code: &'static str,
    /// error, warning or info.
    pub(super) severity: &'static str,
    /// What the range is of: datagram, payload (clear) or message.
    pub(super) place: &'static str,
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) text: &'static str,
}

#[derive(Serialize)]
pub(super) struct ActionBody {
    /// Null when no rule did it.
    pub(super) rule: Option<String>,
    pub(super) action: String,
}

#[derive(Serialize)]
pub(super) struct DatagramBody {
    pub(super) session: Option<u32>,
    pub(super) dir: String,
    pub(super) proto: String,
    pub(super) ordinal: Option<u64>,
    /// Bytes as received; null when no peer sent it.
    pub(super) size: Option<usize>,
    /// Bytes of each datagram that left because of it.
    pub(super) sizes_out: Vec<usize>,
    /// control, resend, compression.
    pub(super) flags: Vec<&'static str>,
    pub(super) ack: Option<u16>,
    pub(super) ack_out: Option<u16>,
    pub(super) chunks: u8,
    pub(super) token_ok: bool,
    pub(super) notes: Vec<NoteBody>,
    /// Why its bytes cannot be read.
    pub(super) error: Option<String>,
    pub(super) origin: String,
    pub(super) leg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex_out: Option<Vec<String>>,
    /// What became of each message, with the bytes; missing = all passed as they were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) placed: Vec<PlacedBody>,
}

#[derive(Serialize)]
pub(super) struct PlacedBody {
    pub(super) action: String,
    pub(super) seq_out: Option<u16>,
}

impl PlacedBody {
    pub(super) fn of(placed: &Placed) -> Self {
        Self {
            action: placed.action.to_string(),
            seq_out: placed.seq_out.map(Seq::get),
        }
    }
}

#[derive(Serialize)]
pub struct SummaryBody<'a> {
    /// Null when the data thread crashed, like all counts below.
    pub sessions: Option<u64>,
    pub datagrams: Option<PerDir>,
    pub bytes: Option<PerDir>,
    pub refused: Option<u64>,
    pub unsent: Option<u64>,
    pub network_errors: Option<u64>,
    /// Datagrams that the kernel dropped because they came faster than they could be read.
    pub kernel_drops: u64,
    /// Events that are missing in this output.
    pub lost: u64,
    pub seed: u64,
    pub exit: u8,
    pub cmd_exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingBody<'a>>,
}

#[derive(Serialize)]
pub struct RecordingBody<'a> {
    pub file: Cow<'a, str>,
    /// Packets in the file: each datagram counts where it came in and where it left. Null when the recorder crashed.
    pub packets: Option<u64>,
    /// Packets that could not be written.
    pub missing: Option<u64>,
    /// Events that came faster than they could be recorded.
    pub lost: Option<u64>,
}

/// The summary of a recording that was shown.
#[derive(Serialize)]
pub(super) struct TallyBody {
    pub(super) packets: u64,
    pub(super) sessions: u64,
    pub(super) datagrams: PerDir,
    pub(super) bytes: PerDir,
    /// UDP datagrams of other protocols.
    pub(super) not_understood: u64,
    pub(super) not_udp: u64,
    /// Parts of fragmented packets.
    pub(super) fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub(super) broken: u64,
    /// Packets of the server leg that were left out because the client leg shows them.
    pub(super) doubled: u64,
    /// Events that are missing in the recording.
    pub(super) lost: u64,
    pub(super) exit: u8,
}

#[derive(Serialize)]
pub(super) struct ReplayBody {
    /// Version of the program that wrote the log.
    pub(super) version: String,
    pub(super) equal: bool,
    pub(super) inputs: u64,
    /// Datagrams received, and those sent as in the log.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// The first difference: line of the log, ordinal of the output, and both outputs, null where there is none.
    pub(super) line: Option<u64>,
    pub(super) output: Option<usize>,
    pub(super) expected: Option<String>,
    pub(super) came: Option<String>,
    /// Why the log does not hold the whole run.
    pub(super) cut: Option<String>,
}

#[derive(Serialize)]
pub struct PerDir {
    pub c2s: u64,
    pub s2c: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !value
}

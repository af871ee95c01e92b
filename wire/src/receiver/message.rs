//! Which messages each release accepts, and when: the order of a join.
//!
//! Messages have the same names as their definitions. The definitions check the contents of messages; this module lists
//! the messages that a release refuses because of the kind of chunk or the stage of the join.

use Stage::{Auth, Connecting, Ingame, PreAuth, Ready};

use super::Release::{self, Ddnet16, Ddnet20, Teeworlds064, Teeworlds065, Teeworlds075};
use crate::Side;

/// The stage of a client's join in the server's state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// A client of DDNet that may name its version (`STATE_PREAUTH`).
    PreAuth,
    /// The server waits for `info` (`STATE_AUTH`).
    Auth,
    /// The client downloads the map; the server waits for `ready` (`STATE_CONNECTING`).
    Connecting,
    /// The server waits for `cl_start_info` and `enter_game` (`STATE_READY`).
    Ready,
    /// The client is in the game (`STATE_INGAME`).
    Ingame,
}

/// The kind of chunk in which a message is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Carrier {
    Vital,
    NotVital,
    Either,
}

/// How a release treats one message.
#[derive(Debug)]
pub struct MessageRow {
    /// The name of the message, or `game` for all other messages of the game layer.
    pub name: &'static str,
    /// The releases that this row describes.
    pub releases: &'static [Release],
    /// The side that receives it.
    pub receiver: Side,
    /// The first and the last stage in which it has an effect.
    pub stages: (Stage, Stage),
    /// The stage afterwards; `None` if the stage does not change.
    pub next: Option<Stage>,
    /// The message with which the receiver answers, if any.
    pub answer: Option<&'static str>,
    /// True if the receiver also answers in other stages.
    pub answers_always: bool,
    /// The message that must have been received before.
    pub after: Option<&'static str>,
    /// The reasons of a CLOSE with which the receiver may respond.
    pub closes: &'static [&'static str],
    /// The file and function that the row was read from, in `src/engine/`.
    pub source: &'static str,
    pub(super) carrier: Carrier,
}

/// The treatment of one message by a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageVerdict {
    /// The receiver acts upon the message. The value is the stage afterwards.
    Acts(Stage),
    /// Ignored: the chunk is not vital.
    NeedsVital,
    /// Ignored: the chunk is vital.
    NeedsNotVital,
    /// Ignored: the receiver waits for another message first.
    TooEarly,
    /// Ignored: the receiver is past this stage.
    TooLate,
    /// Only the answer is sent again.
    AnswersOnly,
}

impl MessageRow {
    /// Returns the action of the receiver in this stage, for the message in a vital or non-vital chunk.
    #[must_use]
    pub fn judge(&self, stage: Stage, vital: bool) -> MessageVerdict {
        let (first, last) = self.stages;
        let fits = match self.carrier {
            Carrier::Vital => vital,
            Carrier::NotVital => !vital,
            Carrier::Either => true,
        };
        if fits && (first..=last).contains(&stage) {
            return MessageVerdict::Acts(self.next.unwrap_or(stage));
        }
        // DDNet 20 looks at the chunk before the message, 16.4 after.
        let answers = self.answers_always && (fits || self.releases == [Release::Ddnet16]);
        match self.carrier {
            _ if answers => MessageVerdict::AnswersOnly,
            Carrier::Vital if !vital => MessageVerdict::NeedsVital,
            Carrier::NotVital if vital => MessageVerdict::NeedsNotVital,
            _ if stage < first => MessageVerdict::TooEarly,
            _ => MessageVerdict::TooLate,
        }
    }
}

/// Returns the row about a message; `None` if the release has no rule about it.
#[must_use]
pub fn message(release: Release, receiver: Side, name: &str) -> Option<&'static MessageRow> {
    messages().find(|row| row.receiver == receiver && row.name == name && row.releases.contains(&release))
}

/// Returns all rows, in the order of a join.
pub fn messages() -> impl Iterator<Item = &'static MessageRow> {
    ROWS.iter()
}

const SIX: &[Release] = &[Teeworlds064, Teeworlds065];
const TEEWORLDS: &[Release] = &[Teeworlds064, Teeworlds065, Teeworlds075];
const DDNET: &[Release] = &[Ddnet16, Ddnet20];
const BEFORE_20: &[Release] = &[Teeworlds064, Teeworlds065, Teeworlds075, Ddnet16];
const ALL: &[Release] = Release::ALL;
const ANY: (Stage, Stage) = (PreAuth, Ingame);

const SERVER: MessageRow = MessageRow {
    name: "",
    releases: ALL,
    receiver: Side::Server,
    stages: ANY,
    next: None,
    answer: None,
    answers_always: false,
    after: None,
    closes: &[],
    source: "server/server.cpp CServer::ProcessClientPacket",
    carrier: Carrier::Vital,
};

const CLIENT: MessageRow = MessageRow {
    receiver: Side::Client,
    source: "client/client.cpp CClient::ProcessServerPacket",
    ..SERVER
};

const WRONG: &str = "Wrong version. Server is running '...' and client '...'";
const PASSWORD: &str = "Wrong password";

const ROWS: &[MessageRow] = &[
    MessageRow {
        name: "client_version",
        releases: DDNET,
        stages: (PreAuth, PreAuth),
        next: Some(Auth),
        ..SERVER
    },
    MessageRow {
        name: "info",
        releases: TEEWORLDS,
        stages: (Auth, Auth),
        next: Some(Connecting),
        answer: Some("map_change"),
        closes: &[WRONG, PASSWORD],
        ..SERVER
    },
    MessageRow {
        name: "info",
        releases: DDNET,
        stages: (PreAuth, Auth),
        next: Some(Connecting),
        answer: Some("map_change"),
        closes: &[WRONG, PASSWORD, "This server is full"],
        ..SERVER
    },
    MessageRow {
        name: "request_map_data",
        releases: SIX,
        stages: (Connecting, Ingame),
        answer: Some("map_data"),
        ..SERVER
    },
    MessageRow {
        name: "request_map_data",
        releases: &[Teeworlds075],
        stages: (Connecting, Connecting),
        answer: Some("map_data"),
        ..SERVER
    },
    MessageRow {
        name: "request_map_data",
        releases: DDNET,
        stages: (Connecting, Ingame),
        answer: Some("map_data"),
        ..SERVER
    },
    MessageRow {
        name: "ready",
        releases: TEEWORLDS,
        stages: (Connecting, Connecting),
        next: Some(Ready),
        answer: Some("con_ready"),
        ..SERVER
    },
    MessageRow {
        name: "ready",
        releases: &[Ddnet16],
        stages: (Connecting, Connecting),
        next: Some(Ready),
        answer: Some("con_ready"),
        answers_always: true,
        ..SERVER
    },
    MessageRow {
        name: "ready",
        releases: &[Ddnet20],
        stages: (Connecting, Connecting),
        next: Some(Ready),
        answer: Some("con_ready"),
        answers_always: true,
        ..SERVER
    },
    MessageRow {
        name: "cl_start_info",
        stages: (Ready, Ready),
        answer: Some("sv_ready_to_enter"),
        source: "../game/server/gamecontext.cpp CGameContext::OnMessage",
        ..SERVER
    },
    MessageRow {
        name: "enter_game",
        stages: (Ready, Ready),
        next: Some(Ingame),
        after: Some("cl_start_info"),
        ..SERVER
    },
    MessageRow {
        name: "input",
        releases: BEFORE_20,
        carrier: Carrier::Either,
        ..SERVER
    },
    MessageRow {
        name: "input",
        releases: &[Ddnet20],
        stages: (Ingame, Ingame),
        carrier: Carrier::NotVital,
        ..SERVER
    },
    MessageRow {
        name: "rcon_auth",
        ..SERVER
    },
    MessageRow {
        name: "rcon_cmd",
        ..SERVER
    },
    MessageRow {
        name: "ping",
        answer: Some("ping_reply"),
        carrier: Carrier::Either,
        ..SERVER
    },
    MessageRow {
        name: "game",
        stages: (Ready, Ingame),
        ..SERVER
    },
    MessageRow {
        name: "map_change",
        answer: Some("ready"),
        ..CLIENT
    },
    MessageRow {
        name: "map_data",
        releases: TEEWORLDS,
        answer: Some("request_map_data"),
        ..CLIENT
    },
    MessageRow {
        name: "map_data",
        releases: DDNET,
        answer: Some("request_map_data"),
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "con_ready",
        answer: Some("cl_start_info"),
        ..CLIENT
    },
    MessageRow {
        name: "sv_ready_to_enter",
        answer: Some("enter_game"),
        source: "../game/client/gameclient.cpp CGameClient::OnMessage",
        ..CLIENT
    },
    MessageRow {
        name: "ping",
        answer: Some("ping_reply"),
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "rcon_line",
        ..CLIENT
    },
    MessageRow {
        name: "input_timing",
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "snap",
        stages: (Connecting, Ingame),
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "snap_single",
        stages: (Connecting, Ingame),
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "snap_empty",
        stages: (Connecting, Ingame),
        carrier: Carrier::Either,
        ..CLIENT
    },
    MessageRow {
        name: "game",
        ..CLIENT
    },
];

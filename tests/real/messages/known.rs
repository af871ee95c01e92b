//! The known mistakes of the oracle, as data.

use serde_json::{Map, Value};

/// The kind of difference in a value of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The oracle does not read the field.
    NotRead,
    /// The field is not on the wire, and the oracle invents a value.
    MadeUp,
    /// The oracle reads a number as a bool: true only for 1.
    AsBool,
}

/// A field that the oracle reads wrongly.
pub(crate) struct Exception {
    message: &'static str,
    /// The field, or `*` for any.
    path: &'static str,
    /// 0.6, 0.7 or both.
    dialects: &'static str,
    how: How,
    /// The number of occurrences in the recorded sessions.
    pub(crate) recorded: usize,
    why: &'static str,
}

/// A message that the oracle cannot read.
pub(crate) struct Failure {
    message: &'static str,
    dialects: &'static str,
    /// The start of the oracle's error.
    error: &'static str,
    pub(crate) recorded: usize,
    why: &'static str,
}

const fn field(
    message: &'static str,
    path: &'static str,
    dialects: &'static str,
    how: How,
    recorded: usize,
    why: &'static str,
) -> Exception {
    Exception {
        message,
        path,
        dialects,
        how,
        recorded,
        why,
    }
}

/// Every field that the oracle reads wrongly.
pub(crate) const EXCEPTIONS: [Exception; 16] = [
    field(
        "sv_game_msg",
        "*",
        "0.7",
        How::NotRead,
        0,
        "in 0.7 it has no fields",
    ),
    field(
        "sv_tune_params",
        "*",
        "0.6",
        How::NotRead,
        540,
        "it has only the tunings of 0.6.5, not DDNet's own",
    ),
    field(
        "sv_tune_params",
        "*",
        "0.7",
        How::NotRead,
        50,
        "it has only the tunings of 0.7, not DDNet's own",
    ),
    field(
        "sv_vote_option_list_add",
        "*",
        "0.7",
        How::NotRead,
        12,
        "in 0.7 it has no fields",
    ),
    field(
        "sv_chat",
        "team",
        "0.6",
        How::AsBool,
        4,
        "the whispers of DDNet, 2 and 3, become false",
    ),
    field(
        "input",
        "ping_correction",
        "0.7",
        How::NotRead,
        409,
        "it stops after the input",
    ),
    field(
        "map_details",
        "size",
        "0.6 0.7",
        How::NotRead,
        13,
        "it stops after the crc",
    ),
    field(
        "map_details",
        "url",
        "0.6 0.7",
        How::NotRead,
        13,
        "it stops after the crc",
    ),
    field(
        "connect",
        "magic",
        "0.6",
        How::NotRead,
        7,
        "it checks the magic and keeps nothing",
    ),
    field(
        "connect",
        "zero",
        "0.6",
        How::NotRead,
        3,
        "it skips what comes before the token, and all of DDNet's form",
    ),
    field(
        "connect",
        "token",
        "0.6",
        How::NotRead,
        1,
        "it skips all of DDNet's form, which a 0.6 server takes for a token",
    ),
    field(
        "connect",
        "padding",
        "0.6 0.7",
        How::NotRead,
        9,
        "it skips the padding",
    ),
    field(
        "token",
        "padding",
        "0.7",
        How::NotRead,
        13,
        "it skips the padding",
    ),
    field(
        "connect_accept",
        "token",
        "0.7",
        How::NotRead,
        1,
        "it does not expect that DDNet repeats its token",
    ),
    field(
        "connect_accept",
        "response_token",
        "0.6",
        How::MadeUp,
        2,
        "of an answer without a token it says that it is empty",
    ),
    field(
        "close",
        "reason",
        "0.6",
        How::MadeUp,
        5,
        "of a close without a reason it takes DDNet's token for one",
    ),
];

/// Every message that the oracle cannot read.
pub(crate) const FAILURES: [Failure; 3] = [
    Failure {
        message: "sv_teams_state",
        dialects: "0.6 0.7",
        error: "IndexError",
        recorded: 15,
        why: "it wants 128 players, DDNet 16.4 and servers with clients of 0.7 or 0.6 tell of 64 or 16",
    },
    Failure {
        message: "info",
        dialects: "0.7",
        error: "ValueError: invalid literal for int()",
        recorded: 4,
        why: "it reads the numbers of a player in the server info of 0.7 as text",
    },
    Failure {
        message: "close",
        dialects: "0.6",
        error: "ParserError: Got control message with",
        recorded: 0,
        why: "of a close without a reason it takes DDNet's token for one, and wonders what follows a zero byte in it",
    },
];

/// Messages that the oracle does not know, and their number in the recorded sessions.
pub(crate) const ONLY_OURS: [(&str, usize); 5] = [
    ("0.6 connless info_64", 1),
    ("0.6 connless request_info_64", 1),
    ("0.6 game cl_is_ddnet_legacy", 11),
    ("0.6 game sv_map_info", 2),
    ("0.6 game sv_record_legacy", 1),
];
/// Messages that the oracle misidentifies: the npm client's mistake, a UUID of the other id space.
pub(crate) const ONLY_THEIRS: [(&str, usize); 1] = [("0.6 system i_am_npm sv_kill_msg_team", 1)];

/// Names of messages: protocols, the oracle's name, and our name.
const NAMES: [(&str, &str, &str); 3] = [
    ("0.6 0.7", "keep_alive", "keepalive"),
    ("0.6", "ack_accept_connect", "accept"),
    ("0.7", "accept", "connect_accept"),
];

/// Names of fields: the message, the oracle's name, and our name. The first row that our message contains is used.
const FIELDS: [(&str, &str, &str); 7] = [
    ("snap", "data_size", "part_size"),
    ("snap_single", "data_size", "part_size"),
    ("map_data", "data_size", "size"),
    ("rcon_auth", "_unused", "name"),
    ("connect", "response_token", "token"),
    ("connect_accept", "response_token", "magic"),
    ("connect_accept", "response_token", "token"),
];

impl How {
    pub(crate) fn explains(self, ours: Option<&Value>, theirs: Option<&Value>) -> bool {
        match (self, ours, theirs) {
            (Self::NotRead, Some(_), None) | (Self::MadeUp, None, Some(_)) => true,
            (Self::AsBool, Some(ours), Some(Value::Bool(theirs))) => *theirs == (ours.as_i64() == Some(1)),
            _ => false,
        }
    }
}

impl Exception {
    pub(crate) fn key(&self) -> String {
        format!("{} {}.{}: {}", self.dialects, self.message, self.path, self.why)
    }
}

impl Failure {
    pub(crate) fn is(&self, message: &str, dialect: &str, error: &str) -> bool {
        self.message == message && self.dialects.contains(dialect) && error.starts_with(self.error)
    }

    pub(crate) fn key(&self) -> String {
        format!("{} {}: {}", self.dialects, self.message, self.why)
    }
}

/// Returns the failure that explains this error.
pub(crate) fn failure(message: &str, dialect: &str, error: &str) -> Option<&'static Failure> {
    FAILURES
        .iter()
        .find(|failure| failure.is(message, dialect, error))
}

/// Returns the exception that explains this difference.
pub(crate) fn exception(
    message: &str,
    path: &str,
    dialect: &str,
    ours: Option<&Value>,
    theirs: Option<&Value>,
) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|exception| {
        exception.message == message
            && [path, "*"].contains(&exception.path)
            && exception.dialects.contains(dialect)
            && exception.how.explains(ours, theirs)
    })
}

/// Returns true if the oracle reports that it does not know the message.
pub(crate) fn is_unknown(error: &str) -> bool {
    error.contains("unknown") || error.contains("Unknown")
}

/// Returns our name for a message of the oracle.
pub(crate) fn our_name<'a>(theirs: &'a str, dialect: &str, layer: &str) -> &'a str {
    let bare = if layer == "connless" {
        theirs.strip_prefix("connless.").unwrap_or(theirs)
    } else {
        theirs
    };
    let found = NAMES
        .iter()
        .find(|(dialects, name, _)| layer == "control" && dialects.contains(dialect) && *name == bare);
    found.map_or(bare, |(_, _, name)| name)
}

/// Returns the oracle's fields of a message, renamed to the names in `ours`.
pub(crate) fn with_our_names(message: &str, ours: &Value, theirs: &Value) -> Value {
    let Value::Object(fields) = theirs else {
        return theirs.clone();
    };
    let renamed = fields.iter().map(|(name, value)| {
        let found = FIELDS
            .iter()
            .find(|(of, other, mine)| *of == message && other == name && ours.get(mine).is_some());
        (
            found.map_or(name.clone(), |(_, _, mine)| (*mine).to_owned()),
            value.clone(),
        )
    });
    Value::Object(renamed.collect::<Map<_, _>>())
}

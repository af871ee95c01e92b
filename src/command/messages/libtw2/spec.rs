//! The JSON specification of messages that libtw2 generates its code from.
//!
//! Source: libtw2, `gamenet/generate/spec/*.json` and `gamenet/spec/src/lib.rs`.

use serde::{Deserialize, Serialize};

/// The words of a name in snake case.
pub(super) type Words = Vec<String>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) constants: Vec<Constant>,
    pub(super) game_enumerations: Vec<Set>,
    pub(super) game_flags: Vec<Set>,
    pub(super) game_messages: Vec<Message>,
    pub(super) snapshot_objects: Vec<Message>,
    pub(super) system_messages: Vec<Message>,
    pub(super) connless_messages: Vec<Connless>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constant {
    pub(super) name: Words,
    #[serde(flatten)]
    pub(super) value: ConstantValue,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
pub(super) enum ConstantValue {
    Int32(i32),
    String(String),
}

/// An enum or flags.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Set {
    pub(super) name: Words,
    pub(super) values: Vec<NamedValue>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedValue {
    pub(super) value: i64,
    pub(super) name: Words,
}

/// A message of the engine or the game, or a snapshot object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Message {
    pub(super) id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id_from: Option<IdFrom>,
    pub(super) name: Words,
    /// The object whose members precede those of this object.
    #[serde(rename = "super", skip_serializing_if = "Option::is_none")]
    pub(super) base: Option<Words>,
    pub(super) members: Vec<Member>,
    pub(super) attributes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum MessageId {
    Number(u32),
    Uuid(String),
}

/// How a UUID was made.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdFrom {
    pub(super) algorithm: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Connless {
    pub(super) id: [u8; 8],
    pub(super) name: Words,
    pub(super) members: Vec<Member>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) name: Words,
    /// The value if the member is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<DefaultValue>,
    #[serde(rename = "type")]
    pub(super) ty: Kind,
}

/// A default. Text names a constant of the game's sources.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum DefaultValue {
    Bool(bool),
    Number(i64),
    Text(String),
}

/// The type of a member.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Kind {
    Array {
        count: u16,
        member_type: Box<Kind>,
    },
    BeUint16,
    Boolean,
    /// Bytes after an int that states their number.
    Data {
        size: DataSize,
    },
    Enum {
        #[serde(rename = "enum")]
        name: Words,
    },
    Flags {
        flags: Words,
    },
    Int32 {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<i64>,
    },
    Int32String,
    Int32Twstring {
        count: u16,
    },
    Optional {
        inner: Box<Kind>,
    },
    PackedAddresses,
    Rest,
    ServerinfoClient,
    Sha256,
    SnapshotObject {
        name: Words,
    },
    String {
        disallow_cc: bool,
    },
    Tick,
    TuneParam,
    Uint8,
    Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DataSize {
    SpecifiedBefore,
}

/// Returns the words of a name.
pub(super) fn words(name: &str) -> Words {
    name.split('_').map(str::to_owned).collect()
}

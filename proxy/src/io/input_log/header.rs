//! The first and the last line of the log.

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use teetap_wire::{Proto, def::Registry};

use super::Hex;
use crate::{
    session::{Config, Events, Route},
    words::Word,
};

/// The version of the format that is written.
pub const VERSION: u32 = 7;

/// The oldest version that can be read. Version 3 has no definitions: its runs used the built-in ones.
pub(super) const OLDEST: u32 = 3;

/// The first line: the configuration of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub input_log: u32,
    /// Version of teetap.
    pub version: String,
    /// The configuration of the core.
    pub config: Core,
    /// [`Config::seed`].
    pub seed: u64,
    /// Address of the server.
    pub target: SocketAddr,
    /// The address that clients connected to.
    pub listen: SocketAddr,
    /// Start of the run in microseconds since 1970; only for people.
    pub wall_clock_us: u64,
    /// The files of [`Config::registry`] other than the built-in ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<Definitions>,
}

/// A file of message definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    /// Name of the file, for errors.
    pub file: Box<str>,
    /// Contents of the file.
    pub text: Box<str>,
}

/// A [`Config`] in the log, without its seed and definitions, which are fields of the [`Header`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// [`Config::secret`]. The tokens of the run can be computed from it, so only the owner can read the
    /// file.
    pub secret: Hex,
    /// [`Config::proto`].
    pub proto: Option<Word<Proto>>,
    /// [`Config::patience`] in microseconds.
    pub patience_us: Option<u64>,
    /// [`Config::heals`]; true before version 5.
    #[serde(default = "always")]
    pub heals: bool,
    /// [`Config::events`].
    pub events: Word<Events>,
}

/// The last line, which says whether the log is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The reason why the log ends.
    pub reason: Reason,
    /// Number of inputs in the log.
    pub inputs: u64,
    /// The error of the operating system, for [`Reason::WriteFailed`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The reason why a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The run has ended.
    Complete,
    /// Inputs arrived faster than they could be written.
    QueueFull,
    /// The file could not be written, for example because the disk is full.
    WriteFailed,
    /// The data thread panicked at the last input.
    Crashed,
}

const fn always() -> bool {
    true
}

impl From<&Config> for Core {
    fn from(config: &Config) -> Self {
        Self {
            secret: Hex::from(config.secret.as_slice()),
            proto: config.proto.map(Word),
            patience_us: config.patience.map(micros),
            heals: config.heals,
            events: Word(config.events),
        }
    }
}

impl Header {
    /// Returns the configuration of the core; `None` if the secret is not 16 bytes long. `registry` is made
    /// from [`Header::definitions`].
    #[must_use]
    pub fn config(&self, registry: &'static Registry) -> Option<Config> {
        let core = &self.config;
        Some(Config {
            seed: self.seed,
            secret: core.secret.0.as_ref().try_into().ok()?,
            proto: core.proto.map(|proto| proto.0),
            patience: core.patience_us.map(Duration::from_micros),
            heals: core.heals,
            events: core.events.0,
            registry,
        })
    }

    /// Returns the addresses with which the core started.
    #[must_use]
    pub fn route(&self) -> Route {
        Route {
            listen: self.listen,
            server: self.target,
        }
    }

    /// Returns the header of a run that started at `wall`.
    #[must_use]
    pub fn new(version: &str, config: &Config, [target, listen]: [SocketAddr; 2], wall: SystemTime) -> Self {
        Self {
            input_log: VERSION,
            version: version.to_owned(),
            config: config.into(),
            seed: config.seed,
            target,
            listen,
            wall_clock_us: micros(wall.duration_since(UNIX_EPOCH).unwrap_or_default()),
            definitions: config.registry.files().map(Definitions::new).collect(),
        }
    }
}

impl Definitions {
    fn new((file, text): (&str, &str)) -> Self {
        Self {
            file: file.into(),
            text: text.into(),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Complete => f.write_str("it is complete"),
            Reason::QueueFull => f.write_str("entries were lost because the disk was too slow"),
            Reason::WriteFailed => {
                let error = self.error.as_deref().unwrap_or("no reason given");
                write!(f, "a write failed: {error}")
            }
            Reason::Crashed => f.write_str("teetap crashed at its last input"),
        }
    }
}

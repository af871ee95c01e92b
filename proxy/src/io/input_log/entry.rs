//! One line of the log: an input of the core and its outputs.
//!
//! Law: the names here are the format. Renaming one, or adding one, needs a new [`super::VERSION`].

use std::{net::SocketAddr, sync::Arc};

use serde::{Deserialize, Serialize};
use teetap_rules::{Diagnostic, Program, RepeatError};

use super::{Hex, LoggedOutput};
use crate::io::journal::DecisionLine;
use crate::session::{Command, CommandId, Input, ListenerId, Speaks, UpstreamId};

/// A compiled program, or the errors in its text.
pub type Compiled = Result<Program, Vec<Diagnostic>>;

/// Compiles the text of a program.
pub type Compile<'a> = &'a dyn Fn(&str) -> Compiled;

/// An input, its time, and the outputs that it caused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Microseconds since the start, as passed to the core.
    #[serde(rename = "t")]
    pub at: u64,
    /// The input.
    #[serde(rename = "in")]
    pub input: LoggedInput,
    /// The outputs, in order, without events.
    #[serde(rename = "out")]
    pub outputs: Vec<LoggedOutput>,
}

/// An [`Input`] that owns its bytes. Sockets and sessions are written as the numbers in
/// [`UpstreamId`], [`ListenerId`] and [`SessionId`](crate::session::SessionId).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the inputs")]
pub enum LoggedInput {
    /// [`Input::FromClient`].
    FromClient {
        listener: u32,
        addr: SocketAddr,
        bytes: Hex,
    },
    /// [`Input::FromServer`].
    FromServer { upstream: u32, bytes: Hex },
    /// [`Input::UpstreamOpened`].
    UpstreamOpened { upstream: u32, local: SocketAddr },
    /// [`Input::UpstreamFailed`].
    UpstreamFailed {
        upstream: u32,
        error: Box<str>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        exhausted: bool,
    },
    /// [`Input::ListenerOpened`].
    ListenerOpened { listener: u32, local: SocketAddr },
    /// [`Input::ListenerFailed`].
    ListenerFailed { listener: u32, error: Box<str> },
    /// [`Input::Unreachable`].
    Unreachable { upstream: u32, error: Box<str> },
    /// [`Input::Probed`].
    Probed { six: Option<bool>, seven: Option<bool> },
    /// [`Input::Timeout`].
    Timeout,
    /// [`Input::Program`] as its text, with the decisions that it repeats.
    Program {
        source: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        faults: Option<Vec<DecisionLine>>,
    },
    /// [`Input::Shutdown`].
    Shutdown { reason: Hex },
    /// [`Input::Command`]: in the log, the number is a field of the command.
    #[serde(skip)]
    Command { id: CommandId, command: Command },
}

impl Entry {
    /// Returns the approximate size in memory, in bytes. It depends only on the contents of the entry.
    pub(super) fn size(&self) -> usize {
        let outputs = self.outputs.iter().map(|output| {
            let bytes = match output {
                LoggedOutput::Open { .. } | LoggedOutput::Listen { .. } | LoggedOutput::Close(_) => 0,
                LoggedOutput::ToClient { bytes, .. } | LoggedOutput::ToServer { bytes, .. } => bytes.0.len(),
            };
            size_of::<LoggedOutput>() + bytes
        });
        size_of::<Self>() + self.input.bytes() + outputs.sum::<usize>()
    }
}

/// A program in a log that cannot be compiled, or cannot repeat the decisions beside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The text has these errors, of which the first is shown.
    #[error("{}", .0.first().map_or("", |first| &first.message))]
    Text(Vec<Diagnostic>),
    /// A decision is damaged, with a description.
    #[error("{0}")]
    Decision(&'static str),
    /// A decision belongs to another program.
    #[error(transparent)]
    Repeat(#[from] RepeatError),
}

impl LoggedInput {
    /// Returns the input that this entry records. `compile` compiles the text of a program.
    ///
    /// # Errors
    /// Returns the error of `compile`, or of decisions that cannot be repeated.
    pub fn input(&self, compile: Compile<'_>) -> Result<Input<'_>, ProgramError> {
        Ok(match self {
            Self::FromClient {
                listener,
                addr,
                bytes,
            } => Input::FromClient {
                listener: ListenerId(*listener),
                addr: *addr,
                bytes: &bytes.0,
            },
            Self::FromServer { upstream, bytes } => Input::FromServer {
                upstream: UpstreamId(*upstream),
                bytes: &bytes.0,
            },
            Self::UpstreamOpened { upstream, local } => Input::UpstreamOpened {
                upstream: UpstreamId(*upstream),
                local: *local,
            },
            Self::UpstreamFailed {
                upstream,
                error,
                exhausted,
            } => Input::UpstreamFailed {
                upstream: UpstreamId(*upstream),
                error,
                exhausted: *exhausted,
            },
            Self::ListenerOpened { listener, local } => Input::ListenerOpened {
                listener: ListenerId(*listener),
                local: *local,
            },
            Self::ListenerFailed { listener, error } => Input::ListenerFailed {
                listener: ListenerId(*listener),
                error,
            },
            Self::Unreachable { upstream, error } => Input::Unreachable {
                upstream: UpstreamId(*upstream),
                error,
            },
            Self::Probed { six, seven } => Input::Probed(Speaks {
                six: *six,
                seven: *seven,
            }),
            Self::Timeout => Input::Timeout,
            Self::Program { source, faults } => {
                let mut program = source
                    .as_deref()
                    .map(compile)
                    .transpose()
                    .map_err(ProgramError::Text)?;
                if let (Some(program), Some(faults)) = (&mut program, faults) {
                    let decisions: Result<Vec<_>, _> = faults.iter().map(DecisionLine::decision).collect();
                    *program = program.repeating(&decisions.map_err(ProgramError::Decision)?)?;
                }
                Input::Program(program.map(Arc::new))
            }
            Self::Shutdown { reason } => Input::Shutdown { reason: &reason.0 },
            Self::Command { id, command } => Input::Command {
                id: *id,
                command: command.clone(),
            },
        })
    }

    fn bytes(&self) -> usize {
        match self {
            Self::FromClient { bytes, .. } | Self::FromServer { bytes, .. } => bytes.0.len(),
            Self::UpstreamFailed { error, .. }
            | Self::ListenerFailed { error, .. }
            | Self::Unreachable { error, .. } => error.len(),
            Self::Program { source, faults } => {
                let faults = faults
                    .as_ref()
                    .map_or(0, |faults| faults.len() * size_of::<DecisionLine>());
                source.as_deref().map_or(0, str::len) + faults
            }
            Self::Shutdown { reason } => reason.0.len(),
            Self::Command { command, .. } => match command {
                Command::ToggleNamed { rule, .. } => rule.len(),
                Command::Inject { data, .. } | Command::Edit { data, .. } => data.len(),
                Command::Close { reason, .. } => reason.len(),
                _ => 0,
            },
            Self::UpstreamOpened { .. }
            | Self::ListenerOpened { .. }
            | Self::Probed { .. }
            | Self::Timeout => 0,
        }
    }
}

impl From<&Input<'_>> for LoggedInput {
    fn from(input: &Input<'_>) -> Self {
        match input {
            Input::FromClient {
                listener,
                addr,
                bytes,
            } => Self::FromClient {
                listener: listener.0,
                addr: *addr,
                bytes: Hex::from(*bytes),
            },
            Input::FromServer { upstream, bytes } => Self::FromServer {
                upstream: upstream.0,
                bytes: Hex::from(*bytes),
            },
            Input::UpstreamOpened { upstream, local } => Self::UpstreamOpened {
                upstream: upstream.0,
                local: *local,
            },
            Input::UpstreamFailed {
                upstream,
                error,
                exhausted,
            } => Self::UpstreamFailed {
                upstream: upstream.0,
                error: (*error).into(),
                exhausted: *exhausted,
            },
            Input::ListenerOpened { listener, local } => Self::ListenerOpened {
                listener: listener.0,
                local: *local,
            },
            Input::ListenerFailed { listener, error } => Self::ListenerFailed {
                listener: listener.0,
                error: (*error).into(),
            },
            Input::Unreachable { upstream, error } => Self::Unreachable {
                upstream: upstream.0,
                error: (*error).into(),
            },
            Input::Probed(Speaks { six, seven }) => Self::Probed {
                six: *six,
                seven: *seven,
            },
            Input::Timeout => Self::Timeout,
            Input::Program(program) => Self::Program {
                source: program.as_ref().map(|program| program.source().into()),
                faults: program
                    .as_ref()
                    .and_then(|program| program.faults())
                    .map(|faults| faults.iter().map(DecisionLine::new).collect()),
            },
            Input::Command { id, command } => Self::Command {
                id: *id,
                command: command.clone(),
            },
            Input::Shutdown { reason } => Self::Shutdown {
                reason: Hex::from(*reason),
            },
        }
    }
}

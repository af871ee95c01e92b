//! Commands as lines of the log, and back.

use teetap_rules::{Made, RuleId};

use super::{Happened, Hex, Word};
use crate::session::{Command, CommandId, Held, HeldId, SessionId, WhichRule};

impl Happened {
    /// Returns the line of a command.
    pub(super) fn of_command(CommandId(id): CommandId, command: &Command) -> Self {
        match command {
            Command::Inject { session, message } => Self::Inject {
                id,
                session: session.0,
                dir: Word(message.dir),
                vital: message.vital,
                data: Hex::from(message.data.as_slice()),
            },
            Command::Drop { session, dir, held } => Self::DropHeld {
                id,
                session: session.0,
                dir: Word(*dir),
                held: held.0,
            },
            Command::Edit {
                session,
                dir,
                held,
                data,
            } => Self::EditHeld {
                id,
                session: session.0,
                dir: Word(*dir),
                held: held.0,
                data: Hex(data.clone()),
            },
            Command::List { session } => Self::ListHeld {
                id,
                session: session.map(|session| session.0),
            },
            Command::Toggle { rule, enabled } => {
                let enabled = *enabled;
                match rule {
                    WhichRule::Number(RuleId(rule)) => Self::Toggle {
                        id,
                        rule: *rule,
                        enabled,
                    },
                    WhichRule::Line(line) => Self::ToggleLine {
                        id,
                        line: *line,
                        enabled,
                    },
                    WhichRule::Name(rule) => Self::ToggleNamed {
                        id,
                        rule: rule.clone(),
                        enabled,
                    },
                }
            }
            Command::Resync { session } => Self::Resync {
                id,
                session: session.0,
            },
            Command::Release {
                session,
                held: Held::Key(key),
            } => Self::Release {
                id,
                session: session.0,
                key: *key,
            },
            Command::Release {
                session,
                held: Held::One(dir, held),
            } => Self::ReleaseOne {
                id,
                session: session.0,
                dir: Word(*dir),
                held: held.0,
            },
            Command::Close {
                session,
                side,
                reason,
            } => Self::Close {
                id,
                session: session.map(|session| session.0),
                side: side.map(Word),
                reason: Hex(reason.clone()),
            },
        }
    }

    /// Returns the command of a line; `None` if it has another input.
    pub(super) fn command(&self) -> Option<(CommandId, Command)> {
        let toggle = |rule, enabled| Command::Toggle { rule, enabled };
        let release = |session: u32, held| Command::Release {
            session: SessionId(session),
            held,
        };
        let (id, command) = match self {
            Self::Inject {
                id,
                session,
                dir,
                vital,
                data,
            } => (
                id,
                Command::Inject {
                    session: SessionId(*session),
                    message: Made {
                        dir: dir.0,
                        vital: *vital,
                        data: data.0.to_vec(),
                    },
                },
            ),
            Self::Release { id, session, key } => (id, release(*session, Held::Key(*key))),
            Self::ReleaseOne {
                id,
                session,
                dir,
                held,
            } => (id, release(*session, Held::One(dir.0, HeldId(*held)))),
            Self::DropHeld {
                id,
                session,
                dir,
                held,
            } => (
                id,
                Command::Drop {
                    session: SessionId(*session),
                    dir: dir.0,
                    held: HeldId(*held),
                },
            ),
            Self::EditHeld {
                id,
                session,
                dir,
                held,
                data,
            } => (
                id,
                Command::Edit {
                    session: SessionId(*session),
                    dir: dir.0,
                    held: HeldId(*held),
                    data: data.0.clone(),
                },
            ),
            Self::ListHeld { id, session } => (
                id,
                Command::List {
                    session: session.map(SessionId),
                },
            ),
            Self::Toggle { id, rule, enabled } => (id, toggle(WhichRule::Number(RuleId(*rule)), *enabled)),
            Self::ToggleLine { id, line, enabled } => (id, toggle(WhichRule::Line(*line), *enabled)),
            Self::ToggleNamed { id, rule, enabled } => (id, toggle(WhichRule::Name(rule.clone()), *enabled)),
            Self::Resync { id, session } => (
                id,
                Command::Resync {
                    session: SessionId(*session),
                },
            ),
            Self::Close {
                id,
                session,
                side,
                reason,
            } => (
                id,
                Command::Close {
                    session: session.map(SessionId),
                    side: side.map(|side| side.0),
                    reason: reason.0.clone(),
                },
            ),
            _ => return None,
        };
        Some((CommandId(*id), command))
    }
}

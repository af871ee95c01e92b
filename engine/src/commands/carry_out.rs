//! Carries out control commands: in the core, or on the rules of the run.
//!
//! Law: each command has one result. A command without a session applies to the only session that is online.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use teetap_inspect::{
    control::{Command, Edit, HeldPlace, Inject, RuleCommand},
    jsonl::{ListedBody, ResultBody, StatsBody},
};
use teetap_proxy::session::{self, HeldId, HeldMessage, Listed, SessionId};

use teetap_rules::{
    Made, Span,
    syntax::{Expr, Kind},
};
use teetap_wire::{
    Dir, Proto,
    def::{Field, Registry},
};

use super::{
    CommandError, Handle, HeldError, MessageError,
    message::{self, Injection, bytes},
};
use crate::rules::{Change, ChangeError, Rules};

/// The answer to a command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Session of the command; `None` if the command is about no session or all sessions.
    pub session: Option<SessionId>,
    /// Result, or the reason why the command is refused.
    pub result: Result<ResultBody, CommandError>,
}

/// Result of a command, or the reason why it is refused.
type Outcome = Result<ResultBody, CommandError>;

impl Handle {
    /// Carries out a command. [`Command::Subscribe`] and [`Command::Unsubscribe`] have no effect, since
    /// [`Run::poll`](crate::Run::poll) returns the events of a run in process.
    #[must_use]
    pub fn carry_out(&self, command: &Command) -> Reply {
        let mut session = None;
        let result = self.result(command, &mut session);
        Reply { session, result }
    }

    /// Returns the result of a command. Stores its session in `chosen`.
    fn result(&self, command: &Command, chosen: &mut Option<SessionId>) -> Outcome {
        match command {
            // The connection carries out these commands.
            Command::Subscribe { .. } | Command::Unsubscribe {} => Ok(ResultBody::default()),
            Command::Sessions {} => {
                let look = self.look()?;
                Ok(ResultBody {
                    sessions: Some(look.sessions.iter().map(ListedBody::from).collect()),
                    ..ResultBody::default()
                })
            }
            Command::Stats {} => Ok(ResultBody {
                stats: Some(StatsBody::new(&self.look()?)),
                ..ResultBody::default()
            }),
            Command::Stop {} => {
                // The owner of the run ends it, with its summary and its recording.
                self.is_stopped.store(true, Ordering::Relaxed);
                Ok(ResultBody::default())
            }
            Command::Inject(wanted) => self.inject(wanted, chosen),
            Command::Close {
                session,
                all,
                side,
                reason,
            } => {
                let session = match (all, session) {
                    (true, Some(_)) => return Err(CommandError::SessionAndAll),
                    (true, None) => None,
                    (false, session) => Some(self.listed(*session, chosen)?.id),
                };
                self.done(session::Command::Close {
                    session,
                    side: side.single(),
                    reason: reason.as_bytes().into(),
                })
            }
            Command::Resync { session } => {
                let session = self.listed(*session, chosen)?.id;
                self.done(session::Command::Resync { session })
            }
            Command::Held { session } => {
                *chosen = *session;
                let list = self.list(session::Command::List { session: *session })?;
                Ok(ResultBody {
                    held: Some(list.into_vec()),
                    ..ResultBody::default()
                })
            }
            Command::Release(place) => self.on_held(*place, chosen, |session, dir, held| {
                session::Command::ReleaseOne { session, dir, held }
            }),
            Command::Drop(place) => self.on_held(*place, chosen, |session, dir, held| {
                session::Command::Drop { session, dir, held }
            }),
            Command::Edit(wanted) => self.edit(wanted, chosen),
            Command::Rules { change: None } => self.change_rules(&RuleCommand::List),
            Command::Rules { change: Some(change) } => self.change_rules(change),
        }
    }

    /// Lists or changes the rules.
    fn change_rules(&self, command: &RuleCommand) -> Outcome {
        let change = |act: &dyn Fn(&Rules) -> Result<Change, ChangeError>| {
            Ok(ResultBody {
                warnings: self.change(act)?,
                ..ResultBody::default()
            })
        };
        let switch = |name: &str, on| self.switch(name, on).map(|()| ResultBody::default());
        match command {
            RuleCommand::List => Ok(ResultBody {
                rules: Some(self.list_rules()?),
                ..ResultBody::default()
            }),
            RuleCommand::Add { text } => change(&|rules| rules.add(self.from.of_rules(), text)),
            RuleCommand::Replace { name, text } => change(&|rules| rules.replace(name, text)),
            RuleCommand::Swap { name, with } => change(&|rules| rules.swap(name, with)),
            RuleCommand::Remove { name } => change(&|rules| rules.remove(name)),
            RuleCommand::On { name } => switch(name, true),
            RuleCommand::Off { name } => switch(name, false),
        }
    }

    /// Lets the core carry out a command without a result.
    fn done(&self, command: session::Command) -> Outcome {
        self.list(command).map(|_| ResultBody::default())
    }

    /// Returns the session with this number, or the only one that is online. Stores its number in `chosen`.
    fn listed(
        &self,
        wanted: Option<SessionId>,
        chosen: &mut Option<SessionId>,
    ) -> Result<Listed, CommandError> {
        let listed = self.choose(wanted)?;
        *chosen = Some(listed.id);
        Ok(listed)
    }

    fn inject(&self, wanted: &Inject, chosen: &mut Option<SessionId>) -> Outcome {
        let (form, warnings) = form(wanted, self.registry)?;
        let listed = self.listed(wanted.session, chosen)?;
        let Made { dir, vital, data, .. } = form.made(listed.proto)?;
        self.ask(session::Command::Inject {
            session: listed.id,
            dir,
            vital,
            data: data.into(),
        })?;
        Ok(ResultBody {
            warnings,
            ..ResultBody::default()
        })
    }

    /// Returns the only held message at this place. Stores its session in `chosen`.
    fn find(&self, wanted: HeldPlace, chosen: &mut Option<SessionId>) -> Result<HeldMessage, CommandError> {
        let list = self.list(session::Command::List { session: None })?;
        let found = only(&list, wanted)?;
        *chosen = Some(found.session);
        Ok(found.clone())
    }

    /// Lets the core carry out a command about a held message. Looks the message up only if its place is incomplete, or
    /// if the command is refused because the message may not be held.
    fn on_held(
        &self,
        place: HeldPlace,
        chosen: &mut Option<SessionId>,
        command: impl Fn(SessionId, Dir, HeldId) -> session::Command,
    ) -> Outcome {
        if let (Some(session), Some(dir)) = (place.session, place.dir)
            && let Ok(done) = self.done(command(session, dir, place.held))
        {
            *chosen = Some(session);
            return Ok(done);
        }
        let found = self.find(place, chosen)?;
        self.done(command(found.session, found.dir, found.held))
    }

    /// Replaces the contents of a held message.
    fn edit(&self, wanted: &Edit, chosen: &mut Option<SessionId>) -> Outcome {
        let message = self.find(wanted.place(), chosen)?;
        let (data, warnings) = edited(wanted, &message, self.registry)?;
        self.ask(session::Command::Edit {
            session: message.session,
            dir: message.dir,
            held: message.held,
            data: data.into(),
        })?;
        Ok(ResultBody {
            warnings,
            ..ResultBody::default()
        })
    }
}

/// Returns the only held message at this place.
fn only(list: &[HeldMessage], wanted: HeldPlace) -> Result<&HeldMessage, HeldError> {
    let found: Vec<&HeldMessage> = list.iter().filter(|message| wanted.is_of(message)).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(HeldError::NotHeld(wanted.held)),
        several => Err(HeldError::Several {
            held: wanted.held,
            places: several
                .iter()
                .map(|message| (message.session, message.dir))
                .collect(),
        }),
    }
}

/// Returns the new bytes of a held message, and warnings about them.
fn edited(
    wanted: &Edit,
    message: &HeldMessage,
    registry: &'static Registry,
) -> Result<(Vec<u8>, Vec<String>), MessageError> {
    let text = match wanted {
        Edit {
            message: Some(text),
            fields: None,
            hex: None,
            ..
        } => text.clone(),
        Edit {
            message: None,
            fields: Some(fields),
            hex: None,
            ..
        } => {
            let found = registry.known_message(message.proto, message.dir, &message.data);
            let found = found.ok_or(MessageError::Unknown)?;
            written(&found.def.name, Some(fields), registry)?
        }
        Edit {
            message: None,
            fields: None,
            hex: Some(hex),
            ..
        } => return Ok((bytes(message.dir, message.vital, hex)?.data, Vec::new())),
        _ => return Err(MessageError::EditForm),
    };
    message::edited(&text, message, registry)
}

/// Parses the message of an injection. Also returns warnings about it.
fn form(wanted: &Inject, registry: &'static Registry) -> Result<(Injection, Vec<String>), MessageError> {
    match wanted {
        Inject {
            message: Some(text),
            dir: None,
            name: None,
            fields: None,
            vital: None,
            hex: None,
            ..
        } => Injection::read(text, registry),
        Inject {
            message: None,
            dir: Some(dir),
            name: None,
            fields: None,
            hex: Some(hex),
            ..
        } => {
            let made = bytes(*dir, wanted.vital.unwrap_or(true), hex)?;
            Ok((Injection::Bytes(made), Vec::new()))
        }
        Inject {
            message: None,
            dir: Some(dir),
            name: Some(name),
            hex: None,
            ..
        } => {
            let message = written(name, wanted.fields.as_ref(), registry)?;
            let nonvital = if wanted.vital == Some(false) {
                " nonvital"
            } else {
                ""
            };
            Injection::read(&format!("{dir} {message}{nonvital}"), registry)
        }
        _ => Err(MessageError::InjectForm),
    }
}

/// Returns a name and JSON fields in the syntax of rules.
fn written(
    name: &str,
    fields: Option<&Map<String, Value>>,
    registry: &Registry,
) -> Result<String, MessageError> {
    let is_word = |text: &str| {
        let mut chars = text.chars();
        !text.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    if !is_word(name) {
        return Err(MessageError::Name(name.to_owned()));
    }
    let mut parts = Vec::new();
    for (field, value) in fields.into_iter().flatten() {
        if !is_word(field) {
            return Err(MessageError::Field(field.clone()));
        }
        let shown = match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            // The text is a named value.
            Value::String(text) if is_word(text) && is_number(registry, name, field) => text.clone(),
            Value::String(text) => Expr::new(Kind::Text(text.clone()), Span::default()).to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(MessageError::Value(field.clone()));
            }
        };
        parts.push(format!("{field}: {shown}"));
    }
    Ok(format!("{name}{{{}}}", parts.join(", ")))
}

/// Returns true if a field of a message is a number in some protocol.
fn is_number(registry: &Registry, name: &str, field: &str) -> bool {
    Proto::ALL.into_iter().any(|proto| {
        registry.named(proto, None, name).any(|def| {
            def.parts(None)
                .any(|(_, part): (_, &Field)| *part.name == *field && part.is_number())
        })
    })
}

#[cfg(test)]
mod tests;

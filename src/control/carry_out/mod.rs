//! Commands carried out: by the core, or on the rules of the run.
//!
//! Law: each gets one result. A command that names no session is about the only one that is online.

use serde_json::{Map, Value};
use teetap_inspect::{
    Verbosity,
    jsonl::{ListedBody, ResultBody, StatsBody, WaitingBody},
};
use teetap_proxy::session::{Listed, SessionId, Waiting};
use teetap_rules::{
    Filter, Span,
    syntax::{Expr, Kind},
};
use teetap_wire::{
    Proto, Side,
    def::{Field, Registry},
};

use super::{
    Parts, Shared,
    request::{self, Close, Command, Inject, Sides, Subscribe},
};
use crate::{
    orders::{self, Form, bytes, lines},
    rules::{Change, Rules},
};

/// The maximum number of places that an error lists.
const LISTED: usize = 8;

/// The answer to a command.
pub(super) struct Reply {
    /// The session that it was about.
    pub(super) session: Option<u32>,
    pub(super) result: Result<ResultBody, String>,
}

/// The result of a command, or the reason why it is refused.
type Outcome = Result<ResultBody, String>;

/// Carries out a command.
pub(super) fn carry_out(command: Command, shared: &Shared) -> Reply {
    let mut session = None;
    let orders = &shared.parts.orders;
    let result = match command {
        // They belong to the connection.
        Command::Subscribe(_) | Command::Unsubscribe => Ok(ResultBody::default()),
        Command::Sessions => sessions(shared),
        Command::Stats => stats(shared),
        Command::Inject(wanted) => inject(&wanted, shared, &mut session),
        Command::Close(wanted) => close(wanted, shared, &mut session),
        Command::Resync(wanted) => {
            choose(shared, wanted.session, &mut session).and_then(|listed| done(orders.resync(listed.id)))
        }
        Command::Held(wanted) => held(shared, wanted.session, &mut session),
        Command::Release(wanted) => {
            find(shared, wanted, &mut session).and_then(|waiting| done(orders.release(&waiting)))
        }
        Command::Edit(wanted) => edit(&wanted, shared, &mut session),
        Command::Drop(wanted) => {
            find(shared, wanted, &mut session).and_then(|waiting| done(orders.drop_held(&waiting)))
        }
        Command::Rules => orders.list_rules().map(|rules| ResultBody {
            rules: Some(rules),
            ..ResultBody::default()
        }),
        Command::RuleAdd(wanted) => change(shared, |rules| rules.add("control", &wanted.text)),
        Command::RuleReplace(wanted) => change(shared, |rules| rules.replace(&wanted.name, &wanted.text)),
        Command::RuleSwap(wanted) => change(shared, |rules| rules.swap(&wanted.name, &wanted.with)),
        Command::RuleRemove(wanted) => change(shared, |rules| rules.remove(&wanted.name)),
        Command::RuleOn(wanted) => done(orders.switch(&wanted.name, true)),
        Command::RuleOff(wanted) => done(orders.switch(&wanted.name, false)),
    };
    Reply { session, result }
}

/// Returns the result of an order that has none but its success.
fn done(result: Result<(), String>) -> Outcome {
    result.map(|()| ResultBody::default())
}

/// Changes the rules.
fn change(shared: &Shared, act: impl FnOnce(&Rules) -> Result<Change, String>) -> Outcome {
    let warnings = shared.parts.orders.change(act)?;
    Ok(ResultBody {
        warnings,
        ..ResultBody::default()
    })
}

fn sessions(shared: &Shared) -> Outcome {
    let look = shared.parts.orders.look()?;
    Ok(ResultBody {
        sessions: Some(look.sessions.iter().map(ListedBody::from).collect()),
        ..ResultBody::default()
    })
}

fn stats(shared: &Shared) -> Outcome {
    let look = shared.parts.orders.look()?;
    let (connections, subscribed) = shared.load();
    Ok(ResultBody {
        stats: Some(StatsBody::new(&look, connections, subscribed)),
        ..ResultBody::default()
    })
}

/// Lists what is held in one session, or in all.
fn held(shared: &Shared, wanted: Option<u32>, session: &mut Option<u32>) -> Outcome {
    *session = wanted;
    let Parts {
        ref orders, secrets, ..
    } = shared.parts;
    let registry = orders.registry;
    let list = orders.held(wanted.map(SessionId))?;
    let body = |waiting: &Waiting| WaitingBody::decoded(waiting, registry, secrets);
    Ok(ResultBody {
        held: Some(list.iter().map(body).collect()),
        ..ResultBody::default()
    })
}

/// Returns the one message that is held under a number. Notes its session in `session`.
fn find(shared: &Shared, wanted: request::Waiting, session: &mut Option<u32>) -> Result<Waiting, String> {
    let list = shared.parts.orders.held(None)?;
    let found = only(&list, wanted)?;
    *session = Some(found.session.0);
    Ok(found.clone())
}

fn only(list: &[Waiting], wanted: request::Waiting) -> Result<&Waiting, String> {
    let is_meant = |waiting: &&Waiting| {
        waiting.held.0 == wanted.held
            && wanted.session.is_none_or(|session| waiting.session.0 == session)
            && wanted.dir.is_none_or(|dir| waiting.dir == dir)
    };
    let found: Vec<&Waiting> = list.iter().filter(is_meant).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(format!("no message is held under {}", wanted.held)),
        several => {
            let place = |waiting: &&Waiting| format!("{}/{}", waiting.session.0, waiting.dir);
            let places: Vec<String> = several.iter().take(LISTED).map(place).collect();
            let (count, places) = (several.len(), places.join(", "));
            let held = wanted.held;
            Err(format!(
                "{count} messages are held under {held}; name session and direction: {places}"
            ))
        }
    }
}

/// Replaces the contents of a held message.
fn edit(wanted: &request::Edit, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    let place = request::Waiting {
        held: wanted.held,
        session: wanted.session,
        dir: wanted.dir,
    };
    let orders = &shared.parts.orders;
    let waiting = find(shared, place, session)?;
    let (data, warnings) = edited(wanted, &waiting, orders.registry)?;
    orders.edit(&waiting, data)?;
    Ok(ResultBody {
        warnings,
        ..ResultBody::default()
    })
}

/// Returns the new bytes of a held message, and the warnings about them.
fn edited(
    wanted: &request::Edit,
    waiting: &Waiting,
    registry: &'static Registry,
) -> Result<(Vec<u8>, Vec<String>), String> {
    let text = match wanted {
        request::Edit {
            message: Some(text),
            fields: None,
            hex: None,
            ..
        } => text.clone(),
        request::Edit {
            message: None,
            fields: Some(fields),
            hex: None,
            ..
        } => {
            let found = registry.known_message(waiting.proto, waiting.dir, &waiting.data);
            let found =
                found.ok_or_else(|| "the message is unknown: replace its bytes with hex".to_owned())?;
            written(&found.def.name, Some(fields), registry)?
        }
        request::Edit {
            message: None,
            fields: None,
            hex: Some(hex),
            ..
        } => return Ok((bytes(waiting.dir, waiting.vital, hex)?.data, Vec::new())),
        _ => return Err("invalid edit: expected one of message, fields and hex".to_owned()),
    };
    orders::edited(&text, waiting, registry)
}

/// Returns the session of this number, or the only one that is online. Notes its number in `session`.
fn choose(shared: &Shared, wanted: Option<u32>, session: &mut Option<u32>) -> Result<Listed, String> {
    let chosen = shared.parts.orders.choose(wanted)?;
    *session = Some(chosen.id.0);
    Ok(chosen)
}

fn inject(wanted: &Inject, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    let orders = &shared.parts.orders;
    let (form, warnings) = form(wanted, orders.registry)?;
    let listed = choose(shared, wanted.session, session)?;
    orders.inject(listed.id, form.made(listed.proto)?)?;
    Ok(ResultBody {
        warnings,
        ..ResultBody::default()
    })
}

/// Reads the message of an injection, and the warnings about it.
fn form(wanted: &Inject, registry: &'static Registry) -> Result<(Form, Vec<String>), String> {
    match wanted {
        Inject {
            message: Some(text),
            dir: None,
            name: None,
            fields: None,
            vital: None,
            hex: None,
            ..
        } => Form::read(text, registry),
        Inject {
            message: None,
            dir: Some(dir),
            name: None,
            fields: None,
            hex: Some(hex),
            ..
        } => {
            let made = bytes(*dir, wanted.vital.unwrap_or(true), hex)?;
            Ok((Form::Bytes(made), Vec::new()))
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
            Form::read(&format!("{dir} {message}{nonvital}"), registry)
        }
        _ => {
            let why = "expected message alone, or dir and name, or dir and hex";
            Err(format!("invalid inject: {why}"))
        }
    }
}

/// Returns a name and JSON fields in the syntax of rules.
fn written(name: &str, fields: Option<&Map<String, Value>>, registry: &Registry) -> Result<String, String> {
    let is_word = |text: &str| {
        let mut chars = text.chars();
        !text.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    if !is_word(name) {
        return Err(format!("invalid name {}", Value::from(name)));
    }
    let mut parts = Vec::new();
    for (field, value) in fields.into_iter().flatten() {
        if !is_word(field) {
            return Err(format!("invalid field {}", Value::from(field.as_str())));
        }
        let shown = match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            // The name of a value.
            Value::String(text) if is_word(text) && is_number(registry, name, field) => text.clone(),
            Value::String(text) => Expr::new(Kind::Text(text.clone()), Span::default()).to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let why = "expected a number, a string, true or false";
                return Err(format!("invalid value of the field {field}: {why}"));
            }
        };
        parts.push(format!("{field}: {shown}"));
    }
    Ok(format!("{name}{{{}}}", parts.join(", ")))
}

/// Returns true if a field of a message is a number in a protocol.
fn is_number(registry: &Registry, name: &str, field: &str) -> bool {
    Proto::ALL.into_iter().any(|proto| {
        registry.named(proto, None, name).any(|def| {
            def.parts(None)
                .any(|(_, part): (_, &Field)| *part.name == *field && part.is_number())
        })
    })
}

fn close(wanted: Close, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    if wanted.all && wanted.session.is_some() {
        return Err("invalid close: session and all exclude each other".to_owned());
    }
    let session = match wanted.all {
        true => None,
        false => Some(choose(shared, wanted.session, session)?.id),
    };
    let side = match wanted.side {
        Sides::Client => Some(Side::Client),
        Sides::Server => Some(Side::Server),
        Sides::Both => None,
    };
    done(
        shared
            .parts
            .orders
            .close(session, side, wanted.reason.into_bytes()),
    )
}

impl Subscribe {
    /// Returns the filter, and the warnings about it.
    pub(super) fn filter(&self, registry: &Registry) -> Result<(Option<Filter>, Vec<String>), String> {
        let Some(text) = &self.filter else {
            return Ok((None, Vec::new()));
        };
        match Filter::parse(text, registry) {
            Ok((filter, warnings)) => Ok((Some(filter), lines(&warnings))),
            Err(errors) => Err(format!("invalid filter: {}", lines(&errors).join("; "))),
        }
    }

    pub(super) fn verbosity(&self) -> Result<Verbosity, String> {
        match self.verbose {
            0 => Ok(Verbosity::Messages),
            1 => Ok(Verbosity::Datagrams),
            2 => Ok(Verbosity::Bytes),
            other => Err(format!("invalid verbose {other}: expected 0, 1 or 2")),
        }
    }
}

#[cfg(test)]
mod tests;

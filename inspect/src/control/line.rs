//! Parses and writes commands as lines of the control socket.
//!
//! Law: every line gets a reply, with the number of the command if it can be read, and with the cause if the line is
//! refused. An unknown command or field is an error, so that a mistyped line has no other effect.

use std::str::Utf8Error;

use serde::{de::DeserializeOwned, ser};
use serde_json::{Map, Value};
use teetap_proxy::words::variants;
use teetap_wire::def::{did_you_mean, suggest};

use super::command::{Command, RuleCommand};

/// Prefix of the name of a [`RuleCommand`].
const RULE: &str = "rule_";

/// A line that is no command.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Refusal {
    /// The number of the command; `None` if it could not be read.
    pub id: Option<u64>,
    /// The cause.
    #[source]
    pub cause: Cause,
}

/// The cause for which a line is no command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The line is not UTF-8.
    #[error("not UTF-8 at byte {}", .0.valid_up_to())]
    NotUtf8(#[source] Utf8Error),
    /// The line is not a JSON object.
    #[error("not a JSON object: {0}")]
    NotObject(#[source] serde_json::Error),
    /// The number is missing.
    #[error("the field `id` is missing: number the command")]
    NoId,
    /// The number is not an unsigned integer.
    #[error("invalid id {0}: expected an integer from 0 to 18446744073709551615")]
    Id(Value),
    /// The name of the command is missing.
    #[error("the field `cmd` is missing: name a command")]
    NoCommand,
    /// The name of the command is not a string.
    #[error("invalid cmd {0}: expected the name of a command")]
    CommandType(Value),
    /// There is no such command.
    #[error("unknown command {}; {}", Value::from(.name.as_str()), meant(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// A field of the command is missing, unknown or has another type.
    #[error("invalid {name}: {error}")]
    Fields {
        /// The name of the command.
        name: String,
        /// The error.
        #[source]
        error: serde_json::Error,
    },
}

/// Parses a line into the number of the command and the command.
///
/// # Errors
/// Returns the reason why the line is refused.
pub fn parse(line: &[u8]) -> Result<(u64, Command), Refusal> {
    let unnumbered = |cause| Refusal { id: None, cause };
    let text = std::str::from_utf8(line).map_err(|error| unnumbered(Cause::NotUtf8(error)))?;
    let object = serde_json::from_str(text).map_err(|error| unnumbered(Cause::NotObject(error)));
    let mut object: Map<String, Value> = object?;
    let id = object.remove("id").ok_or_else(|| unnumbered(Cause::NoId))?;
    let id = id.as_u64().ok_or_else(|| unnumbered(Cause::Id(id)))?;
    match command(object) {
        Ok(command) => Ok((id, command)),
        Err(cause) => Err(Refusal { id: Some(id), cause }),
    }
}

/// Returns the JSON object of a command with the number `id`, to be sent as a line.
///
/// # Errors
/// Returns the error of serde. No command causes one.
pub fn request(id: u64, command: &Command) -> serde_json::Result<Map<String, Value>> {
    let (prefix, value) = match command {
        Command::Rules {
            change: Some(change), ..
        } if *change != RuleCommand::List => (RULE, serde_json::to_value(change)?),
        command => ("", serde_json::to_value(command)?),
    };
    let command = match value {
        Value::Object(command) => command.into_iter().next(),
        _ => None,
    };
    let Some((name, Value::Object(fields))) = command else {
        return Err(ser::Error::custom("a command is not an object"));
    };
    let mut object = fields;
    object.retain(|_, value| !value.is_null());
    object.insert("id".to_owned(), id.into());
    object.insert("cmd".to_owned(), format!("{prefix}{name}").into());
    Ok(object)
}

fn command(mut object: Map<String, Value>) -> Result<Command, Cause> {
    let name = match object.remove("cmd") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(Cause::CommandType(other)),
        None => return Err(Cause::NoCommand),
    };
    let rule = name
        .strip_prefix(RULE)
        .filter(|rule| variants::<RuleCommand>().contains(rule));
    if let Some(rule) = rule {
        return fields::<RuleCommand>(&name, rule, object).map(Command::from);
    }
    if variants::<Command>().contains(&name.as_str()) {
        return fields(&name, &name, object);
    }
    Err(Cause::Unknown { name })
}

/// Returns a hint for an unknown name: the most similar command, or all commands.
fn meant(name: &str) -> String {
    let names = names();
    suggest(name, names.iter().map(String::as_str))
        .map_or_else(|| format!("the commands are {}", names.join(", ")), did_you_mean)
}

/// Parses the fields of a command, which is a variant of `T`.
fn fields<T: DeserializeOwned>(name: &str, variant: &str, fields: Map<String, Value>) -> Result<T, Cause> {
    let tagged = Map::from_iter([(variant.to_owned(), Value::Object(fields))]);
    serde_json::from_value(Value::Object(tagged)).map_err(|error| Cause::Fields {
        name: name.to_owned(),
        error,
    })
}

/// Returns the names of all commands.
fn names() -> Vec<String> {
    let commands = variants::<Command>().iter().map(|name| (*name).to_owned());
    let rules = variants::<RuleCommand>()
        .iter()
        .map(|name| format!("{RULE}{name}"));
    commands.chain(rules).collect()
}

#[cfg(test)]
mod tests {
    use teetap_proxy::session::{HeldId, SessionId};
    use teetap_rules::Made;
    use teetap_wire::Dir;

    use super::{
        super::{Edit, HeldPlace, Inject, Sides},
        *,
    };

    #[test]
    fn a_wrong_line_has_its_cause_and_its_number_if_it_has_one() {
        for (line, id, why) in [
            ("", None, "not a JSON object: EOF while parsing a value"),
            ("[1]", None, "not a JSON object: invalid type: sequence"),
            ("{\"id\":1,\"cmd\":", None, "not a JSON object: EOF while parsing"),
            ("{\"cmd\":\"stats\"}", None, "the field `id` is missing"),
            ("{\"id\":-1,\"cmd\":\"stats\"}", None, "invalid id -1: expected"),
            ("{\"id\":\"x\"}", None, "invalid id \"x\": expected"),
            ("{\"id\":7}", Some(7), "the field `cmd` is missing"),
            ("{\"id\":7,\"cmd\":null}", Some(7), "invalid cmd null: expected"),
            (
                "{\"id\":7,\"cmd\":\"stat\"}",
                Some(7),
                "unknown command \"stat\"; did you mean 'stats'?",
            ),
            (
                "{\"id\":7,\"cmd\":\"zz\\u0007z\"}",
                Some(7),
                "unknown command \"zz\\u0007z\"; the commands are sessions, stats, stop, inject, ",
            ),
            (
                "{\"id\":7,\"cmd\":\"stats\",\"x\":1}",
                Some(7),
                "invalid stats: unknown field `x`",
            ),
            (
                "{\"id\":7,\"cmd\":\"close\",\"side\":\"left\"}",
                Some(7),
                "invalid close: unknown variant `left`",
            ),
            (
                "{\"id\":7,\"cmd\":\"rule_add\"}",
                Some(7),
                "invalid rule_add: missing field `text`",
            ),
            (
                "{\"id\":7,\"cmd\":\"resync\",\"session\":-3}",
                Some(7),
                "invalid resync: invalid value: integer `-3`",
            ),
        ] {
            let refusal = parse(line.as_bytes()).unwrap_err();
            let (found, text) = (refusal.id, refusal.to_string());
            assert!(found == id && text.starts_with(why), "{line}: {found:?} {text}");
        }
        assert_eq!(parse(b"{\xff}").unwrap_err().to_string(), "not UTF-8 at byte 1");
        let deep = "[".repeat(100_000);
        let refusal = parse(deep.as_bytes()).unwrap_err();
        assert!(refusal.to_string().starts_with("not a JSON object"), "{refusal}");
    }

    #[test]
    fn every_command_is_read() {
        assert_eq!(names().len(), 19);
        for name in names() {
            let line = format!("{{\"id\":1,\"cmd\":\"{name}\"}}");
            if let Err(refusal) = parse(line.as_bytes()) {
                let is_missing = refusal.to_string().contains("missing field");
                assert!(refusal.id == Some(1) && is_missing, "{refusal}");
            }
        }
        let line = b"{\"id\":18446744073709551615,\"cmd\":\"subscribe\",\"filter\":\"sv_chat\"}";
        let wanted = Command::Subscribe {
            filter: Some("sv_chat".to_owned()),
            verbose: 0,
        };
        assert_eq!(parse(line).unwrap(), (u64::MAX, wanted));
    }

    #[test]
    fn a_command_that_is_written_is_read_again() {
        let held = HeldPlace {
            held: HeldId(3.try_into().unwrap()),
            session: Some(SessionId(1)),
            dir: Some(Dir::C2s),
        };
        let made = Made {
            dir: Dir::S2c,
            vital: false,
            data: vec![0x0a, 0xff],
            rule: None,
        };
        for (command, line) in [
            (Command::Unsubscribe {}, r#"{"cmd":"unsubscribe","id":7}"#),
            (Command::Stop {}, r#"{"cmd":"stop","id":7}"#),
            (
                Command::Inject(Inject::text(None, "s2c sv_motd")),
                r#"{"cmd":"inject","id":7,"message":"s2c sv_motd"}"#,
            ),
            (
                Command::Inject(Inject::bytes(SessionId(2), &made)),
                r#"{"cmd":"inject","dir":"s2c","hex":"0aff","id":7,"session":2,"vital":false}"#,
            ),
            (
                Command::Close {
                    session: None,
                    all: true,
                    side: Sides::Client,
                    reason: "bye".to_owned(),
                },
                r#"{"all":true,"cmd":"close","id":7,"reason":"bye","side":"client"}"#,
            ),
            (
                Command::Release(held),
                r#"{"cmd":"release","dir":"c2s","held":3,"id":7,"session":1}"#,
            ),
            (
                Command::Edit(Edit::text(held, "cl_kill")),
                r#"{"cmd":"edit","dir":"c2s","held":3,"id":7,"message":"cl_kill","session":1}"#,
            ),
            (Command::Rules { change: None }, r#"{"cmd":"rules","id":7}"#),
            (
                Command::from(RuleCommand::Off {
                    name: "quiet".to_owned(),
                }),
                r#"{"cmd":"rule_off","id":7,"name":"quiet"}"#,
            ),
        ] {
            let object = Value::Object(request(7, &command).unwrap()).to_string();
            assert_eq!(object, line);
            assert_eq!(parse(object.as_bytes()).unwrap(), (7, command));
        }
        let list = Command::from(RuleCommand::List);
        assert_eq!(
            request(7, &list).unwrap(),
            request(7, &Command::Rules { change: None }).unwrap()
        );
        assert!(parse(br#"{"id":1,"cmd":"rule_list"}"#).is_err());
    }
}

//! Lines as commands.
//!
//! Law: every line gets an answer with its number, if that can be read, and the cause if it is refused. An unknown
//! command or field is an error, so that a mistyped one has no other effect.

use std::num::NonZeroU32;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use teetap_wire::{Dir, def::suggest};

/// A command.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Subscribe(Subscribe),
    Unsubscribe,
    Sessions,
    Stats,
    Inject(Inject),
    Close(Close),
    Resync(InSession),
    Held(InSession),
    Release(Waiting),
    Edit(Edit),
    Drop(Waiting),
    Rules,
    RuleAdd(Text),
    RuleReplace(Replace),
    RuleSwap(Swap),
    RuleRemove(Named),
    RuleOn(Named),
    RuleOff(Named),
}

/// The names of all commands.
pub(super) const COMMANDS: [&str; 18] = [
    "subscribe",
    "unsubscribe",
    "sessions",
    "stats",
    "inject",
    "close",
    "resync",
    "held",
    "release",
    "edit",
    "drop",
    "rules",
    "rule_add",
    "rule_replace",
    "rule_swap",
    "rule_remove",
    "rule_on",
    "rule_off",
];

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Subscribe {
    /// `None` for all messages.
    pub(super) filter: Option<String>,
    /// The amount of detail, as the number of `-v`.
    #[serde(default)]
    pub(super) verbose: u8,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct InSession {
    /// `None` for the only one that is online.
    pub(super) session: Option<u32>,
}

/// A message in one of three forms: a text, a name and fields, or bytes.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Inject {
    pub(super) session: Option<u32>,
    /// `s2c sv_chat{message: "text"}`, or `s2c vital 0x06`.
    pub(super) message: Option<String>,
    pub(super) dir: Option<Dir>,
    pub(super) name: Option<String>,
    pub(super) fields: Option<Map<String, Value>>,
    /// `None` for the usual way of the message; with bytes it is vital.
    pub(super) vital: Option<bool>,
    /// Id and fields.
    pub(super) hex: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Close {
    pub(super) session: Option<u32>,
    #[serde(default)]
    pub(super) all: bool,
    #[serde(default)]
    pub(super) side: Sides,
    #[serde(default)]
    pub(super) reason: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sides {
    Client,
    Server,
    #[default]
    Both,
}

/// A message that is held. Session and direction are needed only if several have the number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    pub(super) held: NonZeroU32,
    pub(super) session: Option<u32>,
    pub(super) dir: Option<Dir>,
}

/// New contents of a message that is held, in one of three forms: a text, fields, or bytes.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) held: NonZeroU32,
    pub(super) session: Option<u32>,
    pub(super) dir: Option<Dir>,
    /// `cl_say{message: "text"}`; other fields stay as they are.
    pub(super) message: Option<String>,
    pub(super) fields: Option<Map<String, Value>>,
    /// Id and fields.
    pub(super) hex: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    pub(super) name: String,
    pub(super) text: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Swap {
    pub(super) name: String,
    pub(super) with: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// The reason why a line is refused, and its number if that could be read.
pub(super) type Refusal = (Option<u64>, String);

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Result<(u64, Command), Refusal> {
    let text = std::str::from_utf8(line)
        .map_err(|error| (None, format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let mut object: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| (None, format!("not a JSON object: {error}")))?;
    let id = match object.remove("id") {
        Some(id) => id.as_u64().ok_or_else(|| {
            let why = format!("invalid id {id}: expected an integer from 0 to 18446744073709551615");
            (None, why)
        })?,
        None => return Err((None, "the field `id` is missing: number the command".to_owned())),
    };
    command(object)
        .map(|command| (id, command))
        .map_err(|why| (Some(id), why))
}

fn command(mut object: Map<String, Value>) -> Result<Command, String> {
    let name = match object.remove("cmd") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(format!("invalid cmd {other}: expected the name of a command")),
        None => return Err("the field `cmd` is missing: name a command".to_owned()),
    };
    let rest = Value::Object(object);
    Ok(match name.as_str() {
        "subscribe" => Command::Subscribe(fields(&name, rest)?),
        "unsubscribe" => fields(&name, rest).map(|Nothing {}| Command::Unsubscribe)?,
        "sessions" => fields(&name, rest).map(|Nothing {}| Command::Sessions)?,
        "stats" => fields(&name, rest).map(|Nothing {}| Command::Stats)?,
        "inject" => Command::Inject(fields(&name, rest)?),
        "close" => Command::Close(fields(&name, rest)?),
        "resync" => Command::Resync(fields(&name, rest)?),
        "held" => Command::Held(fields(&name, rest)?),
        "release" => Command::Release(fields(&name, rest)?),
        "edit" => Command::Edit(fields(&name, rest)?),
        "drop" => Command::Drop(fields(&name, rest)?),
        "rules" => fields(&name, rest).map(|Nothing {}| Command::Rules)?,
        "rule_add" => Command::RuleAdd(fields(&name, rest)?),
        "rule_replace" => Command::RuleReplace(fields(&name, rest)?),
        "rule_swap" => Command::RuleSwap(fields(&name, rest)?),
        "rule_remove" => Command::RuleRemove(fields(&name, rest)?),
        "rule_on" => Command::RuleOn(fields(&name, rest)?),
        "rule_off" => Command::RuleOff(fields(&name, rest)?),
        _ => {
            let meant = suggest(&name, COMMANDS).map_or_else(
                || format!("the commands are {}", COMMANDS.join(", ")),
                |meant| format!("did you mean {meant}?"),
            );
            return Err(format!("unknown command {}; {meant}", Value::String(name)));
        }
    })
}

fn fields<T: DeserializeOwned>(name: &str, object: Value) -> Result<T, String> {
    serde_json::from_value(object).map_err(|error| format!("invalid {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "unknown command \"stat\"; did you mean stats?",
            ),
            (
                "{\"id\":7,\"cmd\":\"zz\\u0007z\"}",
                Some(7),
                "unknown command \"zz\\u0007z\"; the commands are subscribe, ",
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
            let (found, text) = parse(line.as_bytes()).unwrap_err();
            assert!(found == id && text.starts_with(why), "{line}: {found:?} {text}");
        }
        assert_eq!(parse(b"{\xff}").unwrap_err().1, "not UTF-8 at byte 1");
        let deep = "[".repeat(100_000);
        assert!(
            parse(deep.as_bytes())
                .unwrap_err()
                .1
                .starts_with("not a JSON object")
        );
    }

    #[test]
    fn every_command_is_read() {
        for name in COMMANDS {
            let line = format!("{{\"id\":1,\"cmd\":\"{name}\"}}");
            if let Err((id, why)) = parse(line.as_bytes()) {
                assert!(id == Some(1) && why.contains("missing field"), "{why}");
            }
        }
        let line = b"{\"id\":18446744073709551615,\"cmd\":\"subscribe\",\"filter\":\"sv_chat\"}";
        let wanted = Subscribe {
            filter: Some("sv_chat".to_owned()),
            verbose: 0,
        };
        assert_eq!(parse(line), Ok((u64::MAX, Command::Subscribe(wanted))));
    }
}

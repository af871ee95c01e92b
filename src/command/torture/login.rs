//! The messages of a login, as the JSON lines of a run show them.

use serde_json::Value;

use crate::exit::Failure;

/// A kind of message that a login has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// `c2s` or `s2c`.
    pub(super) dir: String,
    /// The class and the name, as in conditions: `sys.con_ready`.
    pub(super) name: String,
    pub(super) vital: bool,
    pub(super) is_control: bool,
    /// The protocol of the session.
    pub(super) proto: String,
}

/// The messages of a login, each once, in the order in which they were first sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Login(pub(super) Vec<Step>);

impl Login {
    /// Returns the messages between the first request and the message that ended the run.
    pub(super) fn of(lines: &[Value]) -> Self {
        let mut login = Self::default();
        for line in lines {
            let Some(step) = step(line) else { continue };
            let is_known = |known: &Step| (&known.dir, &known.name) == (&step.dir, &step.name);
            if !login.0.iter().any(is_known) {
                login.0.push(step);
            }
        }
        login
    }

    /// Returns the messages with these names; all if there are none.
    pub(super) fn only(self, names: &[String]) -> Result<Self, Failure> {
        let is_called = |step: &Step, name: &str| {
            step.name == name || step.name.split_once('.').is_some_and(|(_, last)| last == name)
        };
        for name in names {
            if !self.0.iter().any(|step| is_called(step, name)) {
                let known: Vec<&str> = self.0.iter().map(|step| &*step.name).collect();
                return Err(Failure::usage(format!(
                    "the login has no message '{name}'; it has {}",
                    known.join(" ")
                )));
            }
        }
        let is_wanted = |step: &Step| names.is_empty() || names.iter().any(|name| is_called(step, name));
        Ok(Self(self.0.into_iter().filter(is_wanted).collect()))
    }
}

/// Returns the message of a line. The proxy's own exchange with the server is not the client's login, and the end of a
/// connection neither.
fn step(line: &Value) -> Option<Step> {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    if text("event") != Some("message") || text("leg") == Some("server") {
        return None;
    }
    let class = match text("layer")? {
        "control" => "ctrl",
        "system" => "sys",
        "game" => "game",
        _ => return None,
    };
    let id = || match (text("uuid"), line.get("id").and_then(Value::as_i64)) {
        (None, Some(id)) => Some(id.to_string()),
        _ => None,
    };
    let name = text("name").map(str::to_owned).or_else(id)?;
    if name == "close" && class == "ctrl" {
        return None;
    }
    Some(Step {
        dir: text("dir")?.to_owned(),
        name: format!("{class}.{name}"),
        vital: line.get("vital").and_then(Value::as_bool).unwrap_or_default(),
        is_control: class == "ctrl",
        proto: text("proto").unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_has_each_message_once_and_not_the_servers_leg() {
        let line = |dir: &str, layer: &str, name: Value, leg: Value| {
            json!({"event": "message", "dir": dir, "layer": layer, "name": name, "id": 7, "uuid": null,
                "leg": leg, "vital": layer == "system", "proto": "ddnet"})
        };
        let lines = [
            line("c2s", "control", json!("connect"), json!("client")),
            line("c2s", "control", json!("connect"), json!("server")),
            line("c2s", "system", json!("info"), Value::Null),
            line("c2s", "system", json!("info"), Value::Null),
            line("s2c", "system", Value::Null, Value::Null),
            line("s2c", "control", json!("close"), Value::Null),
            line("s2c", "connless", json!("info"), Value::Null),
            json!({"event": "session", "state": "online"}),
        ];
        let Login(steps) = Login::of(&lines);
        let names: Vec<_> = steps.iter().map(|step| (&*step.dir, &*step.name)).collect();
        assert_eq!(
            names,
            [("c2s", "ctrl.connect"), ("c2s", "sys.info"), ("s2c", "sys.7")]
        );
        assert!(steps[1].vital && !steps[0].vital && steps[0].is_control);
        let only = |name: &str| {
            Login(steps.clone())
                .only(&[name.to_owned()])
                .map(|login| login.0.len())
        };
        assert_eq!((only("info").unwrap(), only("sys.7").unwrap()), (1, 1));
        assert!(only("inf").is_err());
    }
}

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

impl Step {
    fn is_same(&self, other: &Self) -> bool {
        (&self.dir, &self.name) == (&other.dir, &other.name)
    }

    /// Returns the name without its class, unless it is only a number: `con_ready`, `sys.77`.
    pub(super) fn short(&self) -> &str {
        let last = self.name.split_once('.').map_or("", |(_, last)| last);
        if last.is_empty() || last.starts_with(|c: char| c.is_ascii_digit()) {
            return &self.name;
        }
        last
    }
}

/// Seconds after ENTER_GAME in which messages are of the login: one more than the first snapshot comes.
const AFTER: f64 = 0.2;

/// Maximum messages of a login. A peer may send ones with any number of ids.
const MOST: usize = 256;

/// The messages of a login, each once, in the order in which they were first sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Login {
    pub(super) steps: Vec<Step>,
    /// The time in seconds at which the client entered the game.
    entered: Option<f64>,
}

impl Login {
    /// Adds the message of a line, if it is the first of its kind. Those after the client has entered the game are not of its login.
    pub(super) fn add(&mut self, line: &Value) {
        let at = line.get("t").and_then(Value::as_f64).unwrap_or_default();
        let Some(step) = step(line).filter(|_| self.entered.is_none_or(|entered| at <= entered + AFTER))
        else {
            return;
        };
        if step.dir == "c2s" && step.name == "sys.enter_game" {
            self.entered.get_or_insert(at);
        }
        if self.steps.len() < MOST && !self.steps.iter().any(|known| known.is_same(&step)) {
            self.steps.push(step);
        }
    }

    /// Keeps only messages that another login has, too: the others depend on chance.
    pub(super) fn keep_common(&mut self, other: &Self) {
        self.steps
            .retain(|step| other.steps.iter().any(|known| known.is_same(step)));
    }

    /// Returns the messages with these names; all if there are none.
    pub(super) fn only(self, names: &[String]) -> Result<Self, Failure> {
        let is_called = |step: &Step, name: &str| {
            step.name == name || step.name.split_once('.').is_some_and(|(_, last)| last == name)
        };
        for name in names {
            if !self.steps.iter().any(|step| is_called(step, name)) {
                let known: Vec<&str> = self.steps.iter().map(|step| &*step.name).collect();
                return Err(Failure::usage(format!(
                    "the login has no message '{name}'; it has {}",
                    known.join(" ")
                )));
            }
        }
        let is_wanted = |step: &Step| names.is_empty() || names.iter().any(|name| is_called(step, name));
        let steps = self.steps.into_iter().filter(is_wanted).collect();
        Ok(Self { steps, ..self })
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

    fn line(t: f64, dir: &str, layer: &str, name: Value, leg: Value) -> Value {
        json!({"event": "message", "t": t, "dir": dir, "layer": layer, "name": name, "id": 7, "uuid": null,
            "leg": leg, "vital": layer == "system", "proto": "ddnet"})
    }

    fn login(lines: &[Value]) -> Login {
        let mut login = Login::default();
        lines.iter().for_each(|line| login.add(line));
        login
    }

    fn names(login: &Login) -> Vec<(&str, &str)> {
        login.steps.iter().map(|step| (&*step.dir, &*step.name)).collect()
    }

    #[test]
    fn a_login_has_each_message_once_and_not_the_servers_leg() {
        let found = login(&[
            line(0.0, "c2s", "control", json!("connect"), json!("client")),
            line(0.0, "c2s", "control", json!("connect"), json!("server")),
            line(0.0, "c2s", "system", json!("info"), Value::Null),
            line(0.0, "c2s", "system", json!("info"), Value::Null),
            line(0.0, "s2c", "system", Value::Null, Value::Null),
            line(0.0, "s2c", "control", json!("close"), Value::Null),
            line(0.0, "s2c", "connless", json!("info"), Value::Null),
            json!({"event": "session", "state": "online"}),
        ]);
        let expected = [("c2s", "ctrl.connect"), ("c2s", "sys.info"), ("s2c", "sys.7")];
        assert_eq!(names(&found), expected);
        let steps = &found.steps;
        assert!(steps[1].vital && !steps[0].vital && steps[0].is_control);
        let short: Vec<&str> = steps.iter().map(Step::short).collect();
        assert_eq!(short, ["connect", "info", "sys.7"]);
        let only = |name: &str| {
            found
                .clone()
                .only(&[name.to_owned()])
                .map(|login| login.steps.len())
        };
        assert_eq!((only("info").unwrap(), only("sys.7").unwrap()), (1, 1));
        assert!(only("inf").is_err());
    }

    #[test]
    fn a_flood_of_ids_is_bounded() {
        let mut login = Login::default();
        for id in 0..10_000 {
            login.add(
                &json!({"event": "message", "t": 0.0, "dir": "c2s", "layer": "system", "name": null, "id": id}),
            );
        }
        assert_eq!(login.steps.len(), MOST, "messages that are kept");
    }

    #[test]
    fn a_login_ends_after_the_client_has_entered_and_has_no_messages_of_chance() {
        let message = |t, name: &str| line(t, "c2s", "system", json!(name), Value::Null);
        let first = [
            message(0.0, "info"),
            message(0.1, "whim"),
            message(1.0, "enter_game"),
            message(1.1, "input"),
            message(1.3, "ping"),
        ];
        let mut first = login(&first);
        let all = [
            ("c2s", "sys.info"),
            ("c2s", "sys.whim"),
            ("c2s", "sys.enter_game"),
            ("c2s", "sys.input"),
        ];
        assert_eq!(names(&first), all);
        first.keep_common(&login(&[
            message(0.0, "info"),
            message(0.5, "enter_game"),
            message(0.6, "input"),
        ]));
        assert_eq!(names(&first), [all[0], all[2], all[3]]);
    }
}

//! The facts about one run of a cell, gathered from its JSON lines.
//!
//! Law: memory is bounded, however long the run is. Whether the client joined is what the summary says of its joins.

use std::time::Duration;

use serde_json::Value;
use teetap_inspect::course::STOPPED;
use teetap_wire::receiver::{Refusal, Rejection};

use super::login::Login;

/// Maximum findings that are kept of a run.
const FINDINGS: usize = 32;

/// The time after which a server that has refused a client takes it: the releases count the joins of 20 s.
pub(super) const WINDOW: Duration = Duration::from_secs(21);

/// The same for a ban. That for joins that end at once lasts a minute (`Update` in `network_server.cpp` of the games).
const BAN: Duration = Duration::from_secs(61);

/// Seconds after a CONNECT from which on a further one shows that the server has not answered. Clients of the games repeat it after 0.5 s.
const REPEATED: f64 = 0.4;

/// The reason for which a server of 0.6.5 leaves CONNECTs without a token unanswered (`LegacyRatelimit` in `network_server.cpp` of Teeworlds
/// 0.6.5).
const OLD_CLIENTS: &str = "the server did not answer each CONNECT: one of 0.6.5 takes only so many clients without tokens, 5 in 20 s by \
                           default (sv_old_clients_per_interval)";

/// A finding about the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) code: String,
    pub(super) is_error: bool,
    pub(super) text: String,
}

/// The reason for which a server refuses clients for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) why: &'static str,
    /// The time after which the server may take them.
    pub(super) time: Duration,
    /// True if it takes so many in that time.
    pub(super) is_rate: bool,
}

/// The facts that show that a server of 0.6.5 has taken enough clients without tokens for now.
#[derive(Clone, Debug, Default)]
struct OldClients {
    /// True if the server names this release.
    is_server: bool,
    /// True if a client has sent a CONNECT without a token.
    is_client: bool,
    /// The time of the last CONNECT to the server that counts; `None` before the first one.
    last: Option<f64>,
    /// CONNECTs before the first answer of the server, except those that follow at once.
    connects: u32,
    is_answered: bool,
}

impl OldClients {
    fn message(&mut self, line: &Value) {
        let at = line.get("t").and_then(Value::as_f64).unwrap_or_default();
        let is_first = self.last.is_none_or(|last| at - last >= REPEATED);
        match (text(line, "name"), text(line, "leg")) {
            (Some("connect_accept"), Some("server")) => self.is_answered = true,
            (Some("connect"), Some("server")) if !self.is_answered && is_first => {
                self.last = Some(at);
                self.connects += 1;
            }
            _ => {}
        }
    }
}

/// The facts about a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// The messages that the client and the server sent until the client was in the game.
    pub(super) login: Login,
    /// Findings about the client, the gravest first.
    pub(super) findings: Vec<Found>,
    /// The limit with which the server refused a client.
    refused: Option<Limit>,
    old: OldClients,
    /// Sessions that were opened.
    sessions: u64,
    /// A message that a rule holds: its session, direction and name.
    held: Option<(Value, Value, Value)>,
    /// True if a message overtook the one that was held.
    pub(super) is_overtaken: bool,
    pub(super) summary: Option<Value>,
}

impl Watched {
    /// Records a line.
    pub(super) fn line(&mut self, line: Value) {
        match text(&line, "event") {
            Some("message") => self.message(&line),
            Some("log") => self.old.is_server |= text(&line, "text").is_some_and(is_of_065),
            Some("session") if text(&line, "state") == Some("opening") => {
                self.sessions += 1;
                self.old.is_client |= matches!(text(&line, "proto"), Some("0.6" | "ddnet"));
            }
            Some("session") => {
                let is_server = text(&line, "by") == Some("server");
                let reason = text(&line, "reason").filter(|_| is_server);
                self.refused = self.refused.or_else(|| reason.and_then(passing));
            }
            Some("finding") if self.findings.len() < FINDINGS => self.findings.extend(of_client(&line)),
            Some("summary") => self.summary = Some(line),
            _ => {}
        }
    }

    fn message(&mut self, line: &Value) {
        self.login.add(line);
        self.old.message(line);
        let of = |key: &str| line.get(key).cloned().unwrap_or_default();
        let place = (of("session"), of("dir"), of("name"));
        let actions = line.get("actions").and_then(Value::as_array);
        let is_held = actions.is_some_and(|all| all.iter().any(|one| text(one, "action") == Some("hold")));
        match &self.held {
            None if is_held => self.held = Some(place),
            // Both sides of a vital message that changes places are vital.
            Some(held) if held.0 == place.0 && held.1 == place.1 => {
                let is_itself = held.2 == place.2;
                if !is_itself && text(line, "layer") != Some("control") {
                    self.is_overtaken = true;
                }
                if is_itself && text(line, "origin") == Some("rule") {
                    // Released: what follows did not overtake it.
                    self.held = Some(Default::default());
                }
            }
            _ => {}
        }
    }

    /// Returns the limit for which the server did not take the client, or not at its first CONNECT: the server names it, or it is that of
    /// 0.6.5 for clients without tokens.
    pub(super) fn limit(&self) -> Option<Limit> {
        let OldClients {
            is_server,
            is_client,
            connects,
            ..
        } = self.old;
        let is_old = is_server && is_client && connects > 1;
        let old = is_old.then_some(Limit {
            why: OLD_CLIENTS,
            time: WINDOW,
            is_rate: true,
        });
        old.or_else(|| self.refused.filter(|_| self.joined().is_none()))
    }

    fn joins(&self) -> &[Value] {
        let joins = self.summary.as_ref().and_then(|summary| summary.get("joins"));
        joins.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the time from the first request of the client to its first snapshot in the game; `None` if it did not join.
    pub(super) fn joined(&self) -> Option<Duration> {
        let time = |join: &Value, key: &str| join.get(key).and_then(Value::as_f64);
        let begin = self
            .joins()
            .iter()
            .filter_map(|join| time(join, "begin"))
            .reduce(f64::min)?;
        let entered = self
            .joins()
            .iter()
            .filter(|join| text(join, "outcome") == Some("entered"));
        let end = entered.filter_map(|join| time(join, "end")).reduce(f64::min)?;
        Some(Duration::try_from_secs_f64(end - begin).unwrap_or_default())
    }

    /// Returns true if the server has accepted no client.
    pub(super) fn is_never_online(&self) -> bool {
        self.joins()
            .iter()
            .all(|join| text(join, "outcome") == Some("never-online"))
    }

    /// Returns the sentence about the join that stopped.
    pub(super) fn why(&self) -> Option<String> {
        let stopped = self.joins().iter().rev().find_map(|join| text(join, "why"));
        // Without the end of the run, which the reader knows.
        let stopped = stopped.map(|why| why.replace(&format!("; closed \"{STOPPED}\""), ""));
        stopped.or_else(|| {
            let join = self.joins().last()?;
            let (awaited, from) = (text(join, "awaited")?, text(join, "from")?);
            Some(format!("the run ended before {awaited} from the {from}"))
        })
    }

    /// Returns true if a datagram of a client came.
    pub(super) fn has_client(&self) -> bool {
        let count = |key: &str| {
            self.summary
                .as_ref()
                .and_then(|summary| summary.get(key)?.as_u64())
        };
        self.sessions > 0 || count("refused").is_some_and(|refused| refused > 0)
    }

    /// Returns true if the rule of the cell acted.
    pub(super) fn has_hit(&self) -> bool {
        let rules = self
            .summary
            .as_ref()
            .and_then(|summary| summary.get("rules")?.as_array());
        let hits = |rule: &Value| rule.get("hits").and_then(Value::as_u64);
        rules.is_some_and(|rules| rules.iter().filter_map(hits).any(|hits| hits > 0))
    }

    /// Returns the kind of the cause of the end.
    pub(super) fn ended_by(&self) -> Option<&str> {
        text(self.summary.as_ref()?.get("ended_by")?, "kind")
    }

    /// Returns the exit code of a client that ended by itself.
    pub(super) fn ended(&self) -> Option<i64> {
        let summary = self.summary.as_ref()?;
        let is_stopped = summary.get("cmd_stopped").and_then(Value::as_bool);
        let code = summary.get("cmd_exit").and_then(Value::as_i64);
        code.filter(|_| is_stopped != Some(true))
    }
}

pub(super) fn text<'a>(line: &'a Value, key: &str) -> Option<&'a str> {
    line.get(key)?.as_str()
}

/// Returns the limit that the reason of a CLOSE names.
fn passing(reason: &str) -> Option<Limit> {
    let Some(Rejection::Refused(refusal)) = Rejection::of(reason) else {
        return None;
    };
    let time = match refusal {
        Refusal::Full | Refusal::PerAddress | Refusal::TooFast => WINDOW,
        Refusal::Banned => BAN,
        Refusal::NoSeven => return None,
    };
    Some(Limit {
        why: Rejection::Refused(refusal).text(),
        time,
        is_rate: refusal == Refusal::TooFast,
    })
}

/// Returns true for the line about a server that names the release 0.6.5.
fn is_of_065(text: &str) -> bool {
    text.starts_with("the server answers ") && text.contains(", version 0.6.5")
}

/// Returns the finding if it is one about the client that is not harmless. Joins are judged as a whole.
fn of_client(line: &Value) -> Option<Found> {
    let code = text(line, "code")?;
    let severity = text(line, "severity")?;
    let is_about = text(line, "by") == Some("client") && text(line, "role") == Some("fault");
    if !is_about || severity == "info" || ["never-entered", "never-online", "login-stalled"].contains(&code) {
        return None;
    }
    let detail = text(line, "detail").map_or(String::new(), |detail| format!("; {detail}"));
    Some(Found {
        code: code.to_owned(),
        is_error: severity == "error",
        text: format!("{code}: {}{detail}", text(line, "text")?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn watched(lines: &[Value]) -> Watched {
        let mut watched = Watched::default();
        lines.iter().for_each(|line| watched.line(line.clone()));
        watched
    }

    #[test]
    fn a_client_has_joined_if_one_of_its_joins_entered_the_game() {
        let join = |begin: f64, end: f64, outcome: &str, why: Value| json!({"begin": begin, "end": end, "outcome": outcome, "why": why});
        let joins = |joins: Value| watched(&[json!({"event": "summary", "joins": joins})]);
        // It tried again after a first session.
        let twice = joins(json!([
            join(
                0.25,
                0.5,
                "never-entered",
                json!("closed; closed \"teetap was stopped\"")
            ),
            join(1.0, 1.5, "entered", Value::Null),
        ]));
        assert_eq!(twice.joined(), Some(Duration::from_millis(1250)));
        assert!(!twice.is_never_online());
        let never = joins(json!([join(
            0.25,
            0.5,
            "never-online",
            json!("no answer; closed \"teetap was stopped\"")
        )]));
        assert_eq!(
            (never.joined(), never.why().as_deref()),
            (None, Some("no answer"))
        );
        assert!(never.is_never_online());
        assert_eq!(
            joins(json!([join(0.0, 2.0, "interrupted", Value::Null)])).joined(),
            None
        );
        assert_eq!(joins(json!([])).joined(), None);
    }

    #[test]
    fn the_end_of_a_client_counts_only_if_it_ended_by_itself() {
        let end = |code: Value, stopped: Value| {
            watched(&[json!({"event": "summary", "ended_by": {"kind": "command"}, "cmd_exit": code, "cmd_stopped": stopped})]).ended()
        };
        assert_eq!(end(json!(139), json!(false)), Some(139));
        assert_eq!(end(json!(0), json!(false)), Some(0));
        assert_eq!(end(json!(143), json!(true)), None);
        assert_eq!(end(Value::Null, Value::Null), None);
        assert_eq!(watched(&[]).ended_by(), None);
    }

    #[test]
    fn only_grave_findings_about_the_client_are_kept() {
        let finding = |code: &str, severity: &str, role: &str, by: &str| json!({"event": "finding", "code": code, "severity": severity, "role": role, "by": by, "text": "what", "detail": "got 5"});
        let got = watched(&[
            finding("ack-ahead", "error", "fault", "client"),
            finding("resend-storm", "warning", "fault", "client"),
            finding("never-entered", "error", "fault", "client"),
            finding("ack-ahead", "error", "fault", "server"),
            finding("late-reply", "warning", "network", "client"),
            finding("odd", "info", "fault", "client"),
        ]);
        let found = |code: &str, is_error| Found {
            code: code.to_owned(),
            is_error,
            text: format!("{code}: what; got 5"),
        };
        assert_eq!(
            got.findings,
            [found("ack-ahead", true), found("resend-storm", false)]
        );
    }

    #[test]
    fn a_flood_of_findings_is_bounded() {
        let findings: Vec<Value> = (0..FINDINGS + 9)
            .map(|number| {
                json!({"event": "finding", "code": format!("code-{number}"), "severity": "error", "role": "fault", "by": "client",
                    "text": "what"})
            })
            .collect();
        let got = watched(&findings);
        assert_eq!(got.findings.len(), FINDINGS, "findings that are kept");
        assert_eq!(got.findings[0].code, "code-0");
    }

    #[test]
    fn a_join_without_a_reason_names_the_awaited_message() {
        let why = |join: Value| watched(&[json!({"event": "summary", "joins": [join]})]).why();
        assert_eq!(
            why(json!({"outcome": "interrupted", "why": null, "awaited": "sys.con_ready", "from": "server"}))
                .as_deref(),
            Some("the run ended before sys.con_ready from the server")
        );
        assert_eq!(
            why(json!({"outcome": "entered", "why": null, "awaited": null, "from": null})),
            None
        );
    }

    #[test]
    fn a_client_that_was_refused_sent_something() {
        let has_client = |refused: u64| {
            watched(&[json!({"event": "summary", "refused": refused, "joins": []})]).has_client()
        };
        assert_eq!([has_client(0), has_client(1)], [false, true]);
        assert!(
            watched(&[json!({"event": "session", "state": "opening"})]).has_client(),
            "a session was opened"
        );
    }

    #[test]
    fn a_refusal_that_passes_is_known_by_its_reason() {
        let closed = |by: &str, reason: &str| json!({"event": "session", "state": "closing", "by": by, "reason": reason});
        let refused = |line| watched(&[line]).limit();
        let after = |why, time, is_rate| Some(Limit { why, time, is_rate });
        assert_eq!(
            refused(closed("server", "This server is full")),
            after("the server is full", WINDOW, false)
        );
        assert_eq!(
            refused(closed("server", "Too many connections in a short time")),
            after(
                "too many connections came from this address in a short time",
                WINDOW,
                true
            )
        );
        assert_eq!(
            refused(closed(
                "server",
                "You have been banned for 1 minute (Stressing network)"
            )),
            after("the address is banned", BAN, false)
        );
        assert_eq!(refused(closed("server", "Wrong password")), None);
        assert_eq!(refused(closed("client", "This server is full")), None);
    }

    /// A server of 0.6.5 leaves CONNECTs without a token unanswered. One that gets two at once, and others, are not meant.
    #[test]
    fn connects_that_a_server_of_0_6_5_leaves_unanswered_are_its_limit() {
        let server = |version: &str| json!({"event": "log", "text": format!("the server answers 0.6 in 0.1 ms (\"x\", version {version}, DM on dm1, 0/8 players)")});
        let opening = |proto: &str| json!({"event": "session", "state": "opening", "proto": proto});
        let control = |t: f64, name: &str| {
            let dir = if name == "connect" { "c2s" } else { "s2c" };
            json!({"event": "message", "t": t, "session": 1, "dir": dir, "layer": "control", "name": name, "leg": "server"})
        };
        let is_limit = |version: &str, proto: &str, messages: &[Value]| {
            let lines = [&[server(version), opening(proto)], messages].concat();
            watched(&lines).limit().is_some()
        };
        let late = [
            control(1.0, "connect"),
            control(1.5, "connect"),
            control(1.5, "connect_accept"),
        ];
        assert!(is_limit("0.6.5", "ddnet", &late) && is_limit("0.6.5", "0.6", &late));
        assert!(is_limit("0.6.5", "0.6", &late[..2]), "no answer");
        assert!(!is_limit("0.6.5", "0.6.5", &late), "with a token");
        assert!(!is_limit("0.6.4", "0.6", &late), "another release");
        let delayed = [
            control(1.5, "connect"),
            control(1.501, "connect"),
            control(1.502, "connect_accept"),
        ];
        assert!(!is_limit("0.6.5", "0.6", &delayed));
        let repeated = [
            control(1.0, "connect"),
            control(1.0, "connect_accept"),
            control(1.5, "connect"),
        ];
        assert!(!is_limit("0.6.5", "0.6", &repeated));
    }

    #[test]
    fn a_held_message_is_overtaken_by_another_one_of_its_direction_before_its_release() {
        let message = |dir: &str, name: &str, action: Option<&str>, origin: &str| {
            let actions: Vec<Value> = action
                .iter()
                .map(|action| json!({"rule": "r", "action": action}))
                .collect();
            json!({"event": "message", "session": 1, "dir": dir, "name": name, "layer": "system", "actions": actions, "origin": origin})
        };
        let held = message("s2c", "con_ready", Some("hold"), "peer");
        let released = message("s2c", "con_ready", None, "rule");
        let other = message("s2c", "sv_motd", None, "peer");
        let is_overtaken = |lines: &[&Value]| {
            let lines: Vec<Value> = lines.iter().map(|line| (*line).clone()).collect();
            watched(&lines).is_overtaken
        };
        assert!(is_overtaken(&[&held, &other, &released]));
        assert!(!is_overtaken(&[
            &other,
            &held,
            &message("c2s", "input", None, "peer"),
            &released,
            &other
        ]));
        assert!(!is_overtaken(&[
            &held,
            &message("s2c", "con_ready", None, "peer"),
            &released
        ]));
    }
}

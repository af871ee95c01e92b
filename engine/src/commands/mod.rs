//! Commands for a run, from scripts through the control socket and from a person at the screen.
//!
//! Law: commands are typed, and each has one result. A command without a session applies to the only session that is
//! online. The caller waits for the data thread; the data thread never waits for a caller.

mod carry_out;
mod error;
mod lines;
mod message;

use std::sync::{Arc, atomic::AtomicBool, mpsc};

use teetap_inspect::jsonl::RuleBody;
use teetap_proxy::{
    io::{Commands, ProxyState, Request},
    session::{Command, HeldMessage, Level, Listed, SessionId, State, Time},
};
use teetap_rules::Span;
use teetap_wire::def::Registry;

use crate::rules::{Change, ChangeError, Rules, SharedRules, one_line};

pub use carry_out::Reply;
pub use error::{CommandError, HeldError, MessageError, SessionError};
pub(crate) use lines::lines;

/// A line for the user of a run.
pub type StatusLine = (Level, String);

/// Handle of a running proxy, for commands of one origin. Cheap to clone.
///
/// [`Self::carry_out`] blocks until the data thread has answered, and fails if the thread is busy or has ended.
/// [`Run::news`](crate::Run::news) reports commands that changed something to the user of the run.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) commands: Commands,
    pub(crate) rules: SharedRules,
    pub(crate) registry: &'static Registry,
    /// Sender of lines for the user.
    pub(crate) news: mpsc::Sender<StatusLine>,
    pub(crate) from: Origin,
    /// Set by the command that ends the run.
    pub(crate) is_stopped: Arc<AtomicBool>,
}

/// Origin of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A connection to the control socket.
    Socket,
    /// The terminal UI.
    Screen,
    /// A program that runs the proxy in process.
    Program,
}

impl Origin {
    /// Returns the name used in lines for the user.
    const fn of_reports(self) -> &'static str {
        match self {
            Self::Socket => "control socket",
            Self::Screen => "screen",
            Self::Program => "program",
        }
    }

    /// Returns the name used in the list of rules.
    const fn of_rules(self) -> &'static str {
        match self {
            Self::Socket => "control",
            Self::Screen => "screen",
            Self::Program => "program",
        }
    }
}

impl Handle {
    /// Reports a line to the user of the run.
    pub(crate) fn report(&self, level: Level, text: String) {
        // The run may have ended.
        let _ended = self.news.send((level, text));
    }

    /// Reports a command that changed the rules.
    fn report_done(&self, text: &str) {
        self.report(Level::Info, format!("{}: {text}", self.from.of_reports()));
    }

    /// Changes the rules. Returns the warnings once the change is in effect.
    fn change(
        &self,
        act: impl FnOnce(&Rules) -> Result<Change, ChangeError>,
    ) -> Result<Vec<String>, CommandError> {
        let commands = &self.commands;
        // The lock is held, so that programs are set in the order of the changes.
        let (what, mut warnings) = {
            let mut rules = self.rules.lock();
            let change = act(&rules)?;
            let program = Request::Program(Some(change.program()));
            commands.send(program)?;
            rules.accept(change)
        };
        self.report_done(&what);
        if let Err(busy) = commands.look() {
            warnings.push(format!("the rules are set, but not yet in effect: {busy}"));
        }
        Ok(warnings)
    }

    /// Lists the rules with their current state.
    fn list_rules(&self) -> Result<Vec<RuleBody>, CommandError> {
        // The lock is held, so that the report is about the same rules.
        let (list, report) = {
            let rules = self.rules.lock();
            (rules.list(), self.commands.report())
        };
        let report = report?;
        let body = |(mut body, place): (RuleBody, Span)| {
            for rule in report.rules.iter().filter(|rule| is_in(rule.place, place)) {
                body.on = rule.is_enabled;
                body.hits = Some(rule.hits.count);
                body.last_hit = rule.hits.last.map(|hit| Time(hit.at));
            }
            let mut lines = report.lines.iter().filter(|line| is_in(line.place, place));
            body.on &= lines.all(|line| line.is_enabled);
            body
        };
        Ok(list.into_iter().map(body).collect())
    }

    /// Switches a statement on or off: a rule, a link line, or the link lines of a profile.
    fn switch(&self, name: &str, on: bool) -> Result<(), CommandError> {
        // The lock is held, so that the numbers belong to the same rules.
        {
            let mut rules = self.rules.lock();
            let place = rules.place(name)?;
            let report = self.commands.report()?;
            let of_rules = report.rules.iter().filter(|rule| is_in(rule.place, place));
            let of_rules = of_rules.map(|rule| Command::Toggle {
                rule: rule.id,
                enabled: on,
            });
            let mut targets: Vec<Command> = of_rules.collect();
            let of_lines = report.lines.iter().filter(|line| is_in(line.place, place));
            targets.extend(of_lines.map(|line| Command::ToggleLine {
                line: line.id,
                enabled: on,
            }));
            targets.dedup();
            if targets.is_empty() {
                return Err(ChangeError::NotSwitchable(name.to_owned()).into());
            }
            // Some targets may be switched even if the last one fails.
            rules.note_switch();
            for command in targets {
                self.ask(command)?;
            }
        }
        let way = if on { "on" } else { "off" };
        self.report_done(&format!("switched {way} {}", one_line(name)));
        Ok(())
    }

    /// Returns the sessions and the counts.
    fn look(&self) -> Result<ProxyState, CommandError> {
        Ok(self.commands.look()?)
    }

    /// Returns the session with this number, or the only one that is online.
    fn choose(&self, wanted: Option<SessionId>) -> Result<Listed, CommandError> {
        Ok(pick(&self.look()?.sessions, wanted)?)
    }

    /// Sends a command to the core and waits for its answer.
    fn ask(&self, command: Command) -> Result<(), CommandError> {
        self.list(command).map(|_| ())
    }

    /// Sends a command to the core. Returns the held messages that its answer contains.
    fn list(&self, command: Command) -> Result<Box<[HeldMessage]>, CommandError> {
        let answer = self.commands.ask(command)?;
        answer.result.map_err(CommandError::Refused)?;
        Ok(answer.held.unwrap_or_default())
    }
}

/// Returns true if a rule or link line is part of a statement.
const fn is_in(place: Span, statement: Span) -> bool {
    statement.start <= place.start && place.end <= statement.end
}

/// Returns the session with this number, or the only one that is online.
fn pick(sessions: &[Listed], wanted: Option<SessionId>) -> Result<Listed, SessionError> {
    let online: Vec<Listed> = sessions
        .iter()
        .filter(|listed| listed.state == State::Online)
        .copied()
        .collect();
    match (wanted, online.as_slice()) {
        (Some(wanted), _) => {
            let found = sessions.iter().find(|listed| listed.id == wanted).copied();
            found.ok_or(SessionError::Unknown { wanted, online })
        }
        (None, [only]) => Ok(*only),
        (None, []) => Err(SessionError::NoneOnline),
        (None, _) => Err(SessionError::Several(online)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use teetap_wire::Proto;

    use super::*;

    #[test]
    fn the_only_session_online_needs_no_number() {
        let listed = |number, state| Listed {
            id: SessionId(number),
            state,
            proto: Proto::Ddnet,
            client: SocketAddr::from(([127, 0, 0, 1], 5000)),
            opened: Time(0),
        };
        let opening = listed(1, State::Opening);
        let online = [opening, listed(2, State::Online)];
        assert_eq!(pick(&online, None).unwrap().id.0, 2);
        assert_eq!(pick(&online, Some(SessionId(1))).unwrap().id.0, 1);
        assert_eq!(
            pick(&[opening], None).unwrap_err().to_string(),
            "no session is online"
        );
        assert_eq!(
            pick(&[opening], Some(SessionId(7))).unwrap_err().to_string(),
            "there is no session 7, and none is online"
        );
        assert_eq!(
            pick(&online, Some(SessionId(7))).unwrap_err().to_string(),
            "there is no session 7; online: 2 (ddnet, 127.0.0.1:5000)"
        );
        let several: Vec<Listed> = (1..=10).map(|number| listed(number, State::Online)).collect();
        let why = pick(&several, None).unwrap_err().to_string();
        assert!(
            why.starts_with("10 sessions are online; name one of 1 (ddnet, 127.0.0.1:5000), 2 ("),
            "{why}"
        );
        assert!(why.ends_with("), 2 more"), "{why}");
    }
}

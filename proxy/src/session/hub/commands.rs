//! Commands of users.

use super::{Hub, SessionId};
use crate::session::{Command, Held, Origin, Waiting, WhichRule};

impl Hub {
    /// Returns the messages that are held, in one session or in all.
    pub(super) fn held(&self, session: Option<SessionId>) -> Box<[Waiting]> {
        let mut list = Vec::new();
        let links = self.sessions.links.values();
        let links = links.filter(|link| session.is_none_or(|session| session == link.id()));
        links.for_each(|link| link.list_held(&mut list));
        list.into()
    }

    pub(super) fn on_command(&mut self, command: &Command) -> Result<(), &'static str> {
        if let Command::Close {
            session: None,
            side,
            reason,
        } = command
        {
            self.each_link(|link, env| link.close_on_request(*side, reason, env));
            return Ok(());
        }
        match command {
            Command::List { session: None } => return Ok(()),
            Command::Toggle { rule, enabled } => return self.toggle(rule, *enabled),
            _ => {}
        }
        let id = command.session().unwrap_or(SessionId(0));
        let result = self.with_link(id, |link, _, env| match command {
            Command::Inject { message, .. } => link.inject(message, Origin::User, env),
            Command::Release { held, .. } => link.release(*held, env),
            Command::Drop { dir, held, .. } => link.drop_held(*dir, *held, env),
            Command::Edit { dir, held, data, .. } => link.edit_held(*dir, *held, data),
            Command::List { .. } | Command::Toggle { .. } => Ok(()),
            Command::Resync { .. } => link.resync(env),
            Command::Close { .. } if link.is_closing() => Err("the session is closing already"),
            Command::Close { side, reason, .. } => {
                link.close_on_request(*side, reason, env);
                Ok(())
            }
        });
        result.unwrap_or(Err("there is no such session"))
    }

    /// Enables or disables a rule or link line.
    fn toggle(&mut self, which: &WhichRule, enabled: bool) -> Result<(), &'static str> {
        const WHY: &str = "there is no such rule";
        let program = self.env.program.clone().ok_or(WHY)?;
        let line = match which {
            WhichRule::Number(_) => None,
            WhichRule::Line(line) => Some(*line),
            WhichRule::Name(name) if program.find(name).is_none() => program.find_line(name),
            WhichRule::Name(_) => None,
        };
        if let Some(line) = line {
            let is_there = self.env.shared.enable_line(line, enabled);
            return is_there.then_some(()).ok_or("there is no such link line");
        }
        let id = match which {
            WhichRule::Number(id) => *id,
            WhichRule::Name(name) => program.find(name).ok_or(WHY)?,
            WhichRule::Line(_) => return Err(WHY),
        };
        if !self.env.shared.enable(id, enabled) {
            return Err(WHY);
        }
        if let Some(key) = program.hold_key(id).filter(|_| !enabled) {
            self.each_link(|link, env| {
                let _nothing_is_held = link.release(Held::Key(key), env);
            });
        }
        Ok(())
    }
}

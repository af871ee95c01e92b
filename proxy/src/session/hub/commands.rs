//! Commands of users.

use teetap_rules::{Made, RuleId};

use super::{Hub, SessionId};
use crate::session::{Command, Held, HeldMessage, Origin};

/// The error if a rule to enable or disable does not exist.
const NO_RULE: &str = "there is no such rule";

impl Hub {
    /// Returns the held messages of one session or of all.
    pub(super) fn held(&self, session: Option<SessionId>) -> Box<[HeldMessage]> {
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
            Command::Toggle { rule, enabled } => return self.toggle(*rule, *enabled),
            Command::ToggleLine { line, enabled } => return self.toggle_line(*line, *enabled),
            Command::ToggleNamed { rule, enabled } => return self.toggle_named(rule, *enabled),
            _ => {}
        }
        let id = command.session().unwrap_or(SessionId(0));
        let result = self.with_link(id, |link, _, env| match command {
            Command::Inject { dir, vital, data, .. } => {
                let (dir, vital) = (*dir, *vital);
                let data = data.to_vec();
                let made = Made {
                    dir,
                    vital,
                    data,
                    rule: None,
                };
                link.inject(&made, Origin::User, env)
            }
            Command::Release { key, .. } => link.release(Held::Key(*key), env),
            Command::ReleaseOne { dir, held, .. } => link.release(Held::One(*dir, *held), env),
            Command::Drop { dir, held, .. } => link.drop_held(*dir, *held, env),
            Command::Edit { dir, held, data, .. } => link.edit_held(*dir, *held, data),
            Command::List { .. }
            | Command::Toggle { .. }
            | Command::ToggleLine { .. }
            | Command::ToggleNamed { .. } => Ok(()),
            Command::Resync { .. } => link.resync(env),
            Command::Close { .. } if link.is_closing() => Err("the session is closing already"),
            Command::Close { side, reason, .. } => {
                link.close_on_request(*side, reason, env);
                Ok(())
            }
        });
        result.unwrap_or(Err("there is no such session"))
    }

    /// Enables or disables the rule or link line with this name.
    fn toggle_named(&mut self, name: &str, enabled: bool) -> Result<(), &'static str> {
        let program = self.env.program.as_ref().ok_or(NO_RULE)?;
        match (program.find(name), program.find_line(name)) {
            (Some(id), _) => self.toggle(id, enabled),
            (None, Some(line)) => self.toggle_line(line, enabled),
            (None, None) => Err(NO_RULE),
        }
    }

    /// Enables or disables a link line.
    fn toggle_line(&mut self, line: u16, enabled: bool) -> Result<(), &'static str> {
        if self.env.program.is_none() {
            return Err(NO_RULE);
        }
        let is_there = self.env.shared.enable_line(line, enabled);
        is_there.then_some(()).ok_or("there is no such link line")
    }

    /// Enables or disables a rule.
    fn toggle(&mut self, id: RuleId, enabled: bool) -> Result<(), &'static str> {
        let program = self.env.program.clone().ok_or(NO_RULE)?;
        if !self.env.shared.enable(id, enabled) {
            return Err(NO_RULE);
        }
        if let Some(key) = program.hold_key(id).filter(|_| !enabled) {
            self.each_link(|link, env| {
                let _nothing_is_held = link.release(Held::Key(key), env);
            });
        }
        Ok(())
    }
}

//! Carries out lines of the command line.

use teetap_inspect::control::{Command, RuleCommand, parse_line, parse_words};
use teetap_rules::{Program, is_rule_word};
use teetap_wire::def::{did_you_mean, suggest};

use super::{Refused, rows::RowError, send, session::shown, update};
use crate::{
    Action, Theme,
    action::ACTIONS,
    app::{App, View, filter::SyntaxError, menu::Saved, timeline::place},
    command::{COMMANDS, control_commands},
    keymap::KeyPress,
};

/// The reason why a line of the command line is not carried out.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    /// The focused pane does not have the action of this name.
    #[error("'{0}' is not available in this pane")]
    OtherPane(String),
    /// The line of `bind` has no action.
    #[error("write bind KEY ACTION")]
    Bind,
    /// No command, action, theme or view has this name.
    #[error("unknown {what} '{name}'; {help}")]
    Unknown {
        /// Kind of the name.
        what: &'static str,
        /// Name that was typed.
        name: String,
        /// The most similar name, or all names.
        help: String,
    },
}

/// Carries out a line.
///
/// # Errors
/// Returns the reason why the line is refused.
pub(super) fn carry_out(app: &mut App, line: &str) -> Result<(), Refused> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(());
    }
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    if let (Some(action), "") = (Action::named(name), rest) {
        if !action.entry().scope.has(app.panes.focus) {
            return Err(CommandError::OtherPane(name.to_owned()).into());
        }
        update(app, action);
        return Ok(());
    }
    match name {
        "close" | "inject" if is_rule(line) && has_condition(rest) => add_rule(app, line)?,
        "view" => app.panes.show(view(rest)?),
        "filter" => app.set_filter(rest)?,
        "rule" => add_rule(app, rest)?,
        "inject" => {
            app.dialog.histories.messages.push(rest);
            send::inject(app, rest)?;
        }
        "close" => app.ask(parse_words(["close", "--", rest], shown(app))?)?,
        "resync" => app.ask(parse_words(["resync"], shown(app))?)?,
        "save" => send::save_to(app, Saved::Shown, rest)?,
        "goto" => {
            let timeline = app.timeline.as_mut().ok_or(RowError::NoRecording)?;
            let place = place(rest, timeline.size)?;
            timeline.seek(place);
        }
        "theme" => {
            app.look.theme = rest.parse().map_err(|_| unknown("theme", rest, Theme::NAMES))?;
        }
        "bind" => {
            let (key, action) = rest.split_once(' ').ok_or(CommandError::Bind)?;
            let key: KeyPress = key.parse()?;
            let names: Vec<&str> = ACTIONS.iter().map(|entry| entry.name).collect();
            let action = action.trim();
            let action = Action::named(action).ok_or_else(|| unknown("action", action, &names))?;
            app.dialog.keymap.bind(key, action);
        }
        // `drop when sv_chat` is a rule, `drop 3` a control command.
        _ if is_rule(line) => match add_rule(app, line) {
            Err(refused @ Refused::Syntax(_)) => {
                let command = parse_line(line, shown(app)).map_err(|_| refused)?;
                app.ask(command)?;
            }
            added => added?,
        },
        _ => control(app, name, line)?,
    }
    Ok(())
}

/// Sends a control command that is typed as in `teetap ctl`.
fn control(app: &mut App, name: &str, line: &str) -> Result<(), Refused> {
    let control = control_commands();
    if !control.iter().any(|command| command.name == name) {
        let mut names: Vec<&str> = ACTIONS.iter().map(|entry| entry.name).collect();
        names.extend(COMMANDS.iter().map(|(name, ..)| *name));
        let control = control.iter().map(|command| &*command.name);
        names.extend(control.filter(|name| Action::named(name).is_none()));
        return Err(unknown("command", name, &names).into());
    }
    match parse_line(line, shown(app))? {
        Command::Rules {
            change: None | Some(RuleCommand::List),
        } => app.panes.show(View::Rules),
        command => app.ask(command)?,
    }
    Ok(())
}

/// Returns true if a text contains `when` outside quotes, which rules do and commands do not.
fn has_condition(text: &str) -> bool {
    let mut parts = text.split('"').step_by(2);
    parts.any(|part| part.split_whitespace().any(|word| word == "when"))
}

/// Returns true if a line begins like a rule or link line.
fn is_rule(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().map(|word| match word.strip_suffix(':') {
        Some(_) => words.next().unwrap_or_default(),
        None => word,
    });
    first.is_some_and(is_rule_word)
}

/// Adds a rule that the user typed.
fn add_rule(app: &mut App, text: &str) -> Result<(), Refused> {
    if let Err(errors) = Program::compile(text, app.registry) {
        return Err(SyntaxError::from(errors).into());
    }
    app.ask(RuleCommand::Add {
        text: text.to_owned(),
    })?;
    Ok(())
}

fn view(name: &str) -> Result<View, CommandError> {
    let names: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
    let mut views = View::ALL.iter().copied();
    let found = views.find(|view| view.name() == name || view.number().to_string() == name);
    found.ok_or_else(|| unknown("view", name, &names))
}

fn unknown(what: &'static str, name: &str, names: &[&str]) -> CommandError {
    let meant = suggest(name, names.iter().copied());
    let help = meant.map_or_else(|| names.join(", "), did_you_mean);
    CommandError::Unknown {
        what,
        name: name.to_owned(),
        help,
    }
}

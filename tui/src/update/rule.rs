//! Changes rules.

use teetap_inspect::control::RuleCommand;

use crate::{
    app::{
        App,
        prompt::Purpose,
        rules::{RuleRow, Slider, Undo, added, next_profile, written},
    },
    request::{NoProxy, Request},
};

use super::{Refused, open};

/// The reason why the rules stay as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleError {
    /// No rule is selected.
    #[error("select a rule")]
    NoRule,
    /// A profile has no text to edit.
    #[error("left and right choose a profile")]
    Profile,
    /// The rule is the first or the last one.
    #[error("there is no rule to change places with")]
    NoNeighbour,
    /// There is no rule to switch off.
    #[error("no rule is on")]
    NoneOn,
    /// No rule was deleted or changed.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// There are no profiles.
    #[error("there is no profile")]
    NoProfile,
    /// Neither a slider nor the profile is selected.
    #[error("select a slider of a link line, or the profile")]
    NothingToSlide,
    /// The slider is at its end.
    #[error("the value is {0}")]
    AtEnd(u32),
    /// The link line was removed while its value was typed.
    #[error("the link line is there no more")]
    Gone,
    /// The slider has no link line.
    #[error("select a slider of a link line")]
    NoLine,
}

/// Opens the prompt for a new rule.
pub(super) fn add(app: &mut App) {
    open(app, Purpose::Rule(None), "");
}

fn selected(app: &App) -> Result<String, RuleError> {
    let rule = app.rules.selected();
    rule.map(|rule| rule.name.clone()).ok_or(RuleError::NoRule)
}

/// Opens the prompt with the selected rule, or with the value of the selected slider.
pub(super) fn edit(app: &mut App) -> Result<(), RuleError> {
    match app.rules.row() {
        Some(RuleRow::Slider(place, slider)) => {
            let rule = place.and_then(|place| app.rules.list.get(place));
            let now = rule.and_then(|rule| slider.value(&rule.text)).unwrap_or(0);
            let rule = rule.map(|rule| rule.name.clone());
            open(app, Purpose::Value { rule, slider, now }, "");
            return Ok(());
        }
        Some(RuleRow::Profile) => return Err(RuleError::Profile),
        _ => {}
    }
    let name = selected(app)?;
    let text = app.rules.selected().map_or(String::new(), written);
    open(app, Purpose::Rule(Some(name)), &text);
    Ok(())
}

/// Removes the selected rule.
pub(super) fn delete(app: &mut App) -> Result<(), Refused> {
    let name = selected(app)?;
    app.ask(RuleCommand::Remove { name })?;
    if let (Some(place), Some(rule)) = (app.rules.place(), app.rules.selected()) {
        let undo = Undo::Removed(Box::new(rule.clone()), place);
        app.rules.undo.push(undo);
    }
    Ok(())
}

/// Replaces the text of a rule.
pub(super) fn replace(app: &mut App, name: String, text: String) -> Result<(), NoProxy> {
    let before = app.rules.list.iter().find(|rule| rule.name == name).map(written);
    app.ask(RuleCommand::Replace {
        name,
        text: text.clone(),
    })?;
    let undo = before.map(|before| Undo::Replaced(before, name_of(&text)));
    app.rules.undo.extend(undo);
    Ok(())
}

/// Returns the name that a rule gets: the word before its colon, or its text.
fn name_of(text: &str) -> String {
    let named = text.split_once(':').filter(|(name, _)| {
        let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        !name.is_empty() && name.chars().all(is_part)
    });
    named.map_or(text, |(name, _)| name).trim().to_owned()
}

/// Undoes the last deletion or change of a rule.
pub(super) fn undo(app: &mut App) -> Result<(), Refused> {
    match app.rules.undo.pop().ok_or(RuleError::NothingToUndo)? {
        Undo::Replaced(text, name) => app.ask(RuleCommand::Replace { name, text })?,
        Undo::Removed(rule, place) => {
            let text = written(&rule);
            let mut commands = vec![RuleCommand::Add { text }];
            // The rule is added at the end, and moves up to its place.
            let after = app.rules.list.iter().skip(place).rev();
            commands.extend(after.map(|other| RuleCommand::Swap {
                name: rule.name.clone(),
                with: other.name.clone(),
            }));
            if !rule.on {
                commands.push(switch(rule.name.clone(), false));
            }
            let commands = commands.into_iter().map(Into::into).collect();
            app.ask(Request::RunAll(commands))?;
        }
    }
    Ok(())
}

/// Switches the selected rule on or off.
pub(super) fn toggle(app: &mut App) -> Result<(), Refused> {
    let name = selected(app)?;
    let on = app.rules.selected().is_some_and(|rule| !rule.on);
    app.rules.silenced.retain(|silenced| *silenced != name);
    Ok(app.ask(switch(name, on))?)
}

/// Returns the command that switches a rule on or off.
fn switch(name: String, on: bool) -> RuleCommand {
    match on {
        true => RuleCommand::On { name },
        false => RuleCommand::Off { name },
    }
}

/// Moves the selected rule by one place.
pub(super) fn shift(app: &mut App, down: bool) -> Result<(), Refused> {
    let name = selected(app)?;
    let place = app.rules.place().ok_or(RuleError::NoRule)?;
    let other = if down {
        Some(place + 1)
    } else {
        place.checked_sub(1)
    };
    let other = other.filter(|other| *other < app.rules.list.len());
    let other = other.ok_or(RuleError::NoNeighbour)?;
    let with = app.rules.list.get(other).map(|rule| rule.name.clone());
    app.rules.list.swap(place, other);
    app.rules.select(RuleRow::Statement(other));
    app.ask(RuleCommand::Swap {
        name,
        with: with.unwrap_or_default(),
    })?;
    Ok(())
}

/// Switches all rules off. If they are off, switches the rules that were on before on again.
pub(super) fn all(app: &mut App) -> Result<(), Refused> {
    let on: Vec<String> = app
        .rules
        .list
        .iter()
        .filter(|rule| rule.on && is_switched(&rule.text))
        .map(|rule| rule.name.clone())
        .collect();
    let silenced = app.rules.take_silenced();
    let (names, on) = match (silenced.is_empty(), on.is_empty()) {
        (false, _) => (silenced, true),
        (true, false) => {
            app.rules.silenced.clone_from(&on);
            (on, false)
        }
        (true, true) => return Err(RuleError::NoneOn.into()),
    };
    let commands = names.iter().cloned().map(|name| switch(name, on).into());
    app.ask(Request::RunAll(commands.collect()))?;
    app.rules.switch(&names, on);
    Ok(())
}

/// Returns true for a statement that can be switched on and off: a rule, a link line or a profile in use.
fn is_switched(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    !matches!(word, "let" | "seed" | "profile")
}

/// Uses the next or previous profile, or none.
fn profile(app: &mut App, forward: bool) -> Result<(), Refused> {
    let used = app.rules.profile();
    let next = next_profile(used.map(|(_, name)| name), forward);
    let text = next.map(|name| format!("use {name:?}"));
    let rule = used.and_then(|(place, _)| app.rules.list.get(place));
    let name = rule.map(|rule| rule.name.clone());
    app.ask(match (name.clone(), text.clone()) {
        (Some(name), Some(text)) => RuleCommand::Replace { name, text },
        (Some(name), None) => RuleCommand::Remove { name },
        (None, Some(text)) => RuleCommand::Add { text },
        (None, None) => return Err(RuleError::NoProfile.into()),
    })?;
    // Further keys may be pressed before the answer is received.
    let list = &mut app.rules.list;
    let place = name.and_then(|name| list.iter().position(|rule| rule.name == name));
    match (place.and_then(|place| list.get_mut(place)), text) {
        (Some(rule), Some(text)) => *rule = added(&text),
        (Some(_), None) => drop(place.map(|place| list.remove(place))),
        (None, text) => list.extend(text.map(|text| added(&text))),
    }
    app.rules.select(RuleRow::Profile);
    Ok(())
}

/// Moves the selected slider by one step.
pub(super) fn slide(app: &mut App, up: bool) -> Result<(), Refused> {
    if app.rules.row() == Some(RuleRow::Profile) {
        return profile(app, up);
    }
    let Some(RuleRow::Slider(place, slider)) = app.rules.row() else {
        return Err(RuleError::NothingToSlide.into());
    };
    let (step, most, _) = slider.scale();
    let rule = place.and_then(|place| app.rules.list.get(place));
    let Some(rule) = rule else {
        if !up {
            return Err(RuleError::AtEnd(0).into());
        }
        return Ok(add_line(app, slider, &slider.with("link both", step))?);
    };
    let value = slider.value(&rule.text).unwrap_or(0);
    let next = match up {
        true => (value + step).min(most).max(value),
        false => value.saturating_sub(step),
    };
    if next == value {
        return Err(RuleError::AtEnd(value).into());
    }
    let text = slider.with(&rule.text, next);
    change_line(app, place, slider, text)
}

/// Sets a slider to a typed value. An empty text changes nothing.
pub(super) fn set(app: &mut App, rule: Option<&str>, slider: Slider, typed: &str) -> Result<(), Refused> {
    if typed.is_empty() {
        return Ok(());
    }
    let word = slider.word_of(typed)?;
    let Some(name) = rule else {
        let text = slider.with_word("link both", word.as_deref());
        return match word {
            Some(_) => Ok(add_line(app, slider, &text)?),
            None => Ok(()),
        };
    };
    let place = app.rules.list.iter().position(|rule| rule.name == name);
    let rule = place.and_then(|place| app.rules.list.get(place));
    let rule = rule.ok_or(RuleError::Gone)?;
    let text = slider.with_word(&rule.text, word.as_deref());
    change_line(app, place, slider, text)
}

/// Adds a link line for a slider without one.
fn add_line(app: &mut App, slider: Slider, text: &str) -> Result<(), NoProxy> {
    app.ask(RuleCommand::Add {
        text: text.to_owned(),
    })?;
    // Further keys may be pressed before the answer is received.
    app.rules.list.push(added(text));
    let place = app.rules.list.len() - 1;
    app.rules.select(RuleRow::Slider(Some(place), slider));
    Ok(())
}

/// Replaces a link line. Removes it if it has no parameters left.
fn change_line(app: &mut App, place: Option<usize>, slider: Slider, text: String) -> Result<(), Refused> {
    let rule = place.and_then(|place| app.rules.list.get_mut(place));
    let rule = rule.ok_or(RuleError::NoLine)?;
    let name = std::mem::replace(&mut rule.name, text.clone());
    rule.text.clone_from(&text);
    let mut silenced = app.rules.silenced.iter_mut();
    if let Some(silenced) = silenced.find(|silenced| **silenced == name) {
        silenced.clone_from(&text);
    }
    if text.split_whitespace().count() <= 2 {
        // No parameter is left.
        if let Some(place) = place {
            app.rules.list.remove(place);
        }
        app.rules.select(RuleRow::Slider(None, slider));
        app.ask(RuleCommand::Remove { name })?;
        return Ok(());
    }
    Ok(app.ask(RuleCommand::Replace { name, text })?)
}

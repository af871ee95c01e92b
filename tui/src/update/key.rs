//! Handles keys and pasted text, by the part of the screen that receives them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use teetap_inspect::control::{Command, Edit, HeldPlace, Inject, RuleCommand};
use teetap_rules::{Draft, Filter, Program};

use super::{Refused, choose::choose, command::carry_out, complete, confirm, find, send, update};
use crate::{
    Action,
    app::{
        App, Overlay, Pane, View,
        cursor::Moves as _,
        editor::Editor,
        filter::SyntaxError,
        form::{MessageForm, Target},
        help::{Help, HelpKind},
        menu::Menu,
        prompt::{Candidates, Prompt, PromptError, Purpose},
        repeat::split,
    },
    command,
    keymap::KeyPress,
};

/// Handles a key.
pub(crate) fn key(app: &mut App, event: &KeyEvent) {
    if event.kind == KeyEventKind::Release {
        return;
    }
    app.terminal.changed = true;
    app.dialog.status = None;
    let asked = app.dialog.asked.take();
    let key = KeyPress::from_event(event);
    let action = app.dialog.keymap.action(key, app.panes.focus);
    let is_typed = app.dialog.overlay.is_some() && key.typed().is_some();
    match action {
        // As in a shell, only discards the line being typed.
        Some(Action::Stop) if !is_typed && app.dialog.overlay.take().is_some() => return,
        Some(action @ (Action::Stop | Action::Suspend)) if !is_typed => return update(app, action),
        _ => {}
    }
    match app.dialog.overlay.take() {
        Some(Overlay::Help(help)) => in_help(app, help, key),
        Some(Overlay::Prompt(prompt)) => in_prompt(app, prompt, key),
        Some(Overlay::Menu(menu)) => in_menu(app, menu, key),
        Some(Overlay::Form(form)) => in_form(app, form, key),
        None if super::tour::key(app, key) => {}
        None => match action {
            Some(action) if confirm::asks(app, action, asked) => {}
            Some(action) => update(app, action),
            None => app.dialog.say(idle(app, key)),
        },
    }
}

/// Returns the sentence for a key without an action in this pane.
fn idle(app: &App, key: KeyPress) -> String {
    let help = app.dialog.keymap.hint(Action::Help);
    let Some(entry) = app.dialog.keymap.elsewhere(key).map(Action::entry) else {
        return format!("{key} does nothing here; {help} lists the keys");
    };
    let panes = Pane::ALL.iter().filter(|pane| entry.scope.has(**pane));
    let panes: Vec<&str> = panes.map(|pane| pane.name()).collect();
    format!(
        "{key} ({}) works in: {}; {help} lists the keys",
        entry.name,
        panes.join(", ")
    )
}

/// Handles pasted text. Ignores it if the screen has no text field.
pub(crate) fn paste(app: &mut App, text: &str) {
    app.terminal.changed = true;
    match app.dialog.overlay.take() {
        Some(Overlay::Prompt(mut prompt)) => {
            if std::mem::take(&mut prompt.is_fresh) {
                prompt.editor = Editor::default();
            }
            prompt.editor.insert(text);
            check(app, &mut prompt);
            app.dialog.overlay = Some(Overlay::Prompt(prompt));
        }
        Some(Overlay::Help(mut help)) => {
            help.search.insert(text);
            app.dialog.overlay = Some(Overlay::Help(help));
        }
        Some(Overlay::Form(mut form)) => {
            form.paste(text);
            form.check(app.registry);
            app.dialog.overlay = Some(Overlay::Form(form));
        }
        other => {
            app.dialog.overlay = other;
            app.dialog.say("open a prompt to paste text");
        }
    }
}

fn in_form(app: &mut App, mut form: MessageForm, key: KeyPress) {
    let was_leaving = std::mem::take(&mut form.is_leaving);
    match key.code() {
        KeyCode::Esc if was_leaving || !form.is_changed() => return,
        KeyCode::Esc => {
            form.is_leaving = true;
            app.dialog
                .say("esc again discards what you typed; another key keeps it");
        }
        KeyCode::Enter => return submit(app, form),
        KeyCode::Down => form.cursor.down(1),
        KeyCode::Up => form.cursor.up(1),
        _ if key.control() == Some('r') => {
            form.undo();
            form.check(app.registry);
        }
        _ => {
            form.key(key);
            form.check(app.registry);
        }
    }
    app.dialog.overlay = Some(Overlay::Form(form));
}

/// Submits a form. It stays open if it has an error, and is reopened if the message is refused.
fn submit(app: &mut App, form: MessageForm) {
    if form.error.is_some() {
        app.dialog.overlay = Some(Overlay::Form(form));
        return;
    }
    let text = form.text();
    let result: Result<(), Refused> = match &form.target {
        Target::Edit(held) if form.is_late => {
            let session = held.session;
            let message = form.late(app.registry).map_err(Refused::from);
            message.and_then(|message| Ok(app.ask(Command::Inject(Inject::bytes(session, &message)))?))
        }
        Target::Edit(held) => {
            let place = HeldPlace::from_held(held);
            app.ask(Command::Edit(Edit::text(place, &text)))
                .map_err(Refused::from)
        }
        Target::Row(row) => {
            let session = form.session().unwrap_or(row.session);
            let message = form.late(app.registry).map_err(Refused::from);
            message.and_then(|message| Ok(app.ask(Command::Inject(Inject::bytes(session, &message)))?))
        }
        Target::Inject(_) => {
            app.dialog.histories.messages.push(&text);
            send::send(app, form.session(), &text, form.every).map_err(Refused::from)
        }
    };
    match result {
        Ok(()) => app.dialog.sent = Some(form),
        Err(why) => {
            app.dialog.refuse(&why);
            app.dialog.overlay = Some(Overlay::Form(form));
        }
    }
}

fn in_menu(app: &mut App, mut menu: Menu, key: KeyPress) {
    let page = menu.cursor.page();
    if let Some(choice) = key.typed().and_then(|char| menu.by_key(char)) {
        return choose(app, choice);
    }
    match (key.code(), key.typed()) {
        (KeyCode::Esc, _) | (_, Some('q')) => return,
        (KeyCode::Enter, _) => {
            if let Some(choice) = menu.selected() {
                choose(app, choice);
            }
            return;
        }
        (KeyCode::Down | KeyCode::Tab, _) | (_, Some('j')) => menu.cursor.down(1),
        (KeyCode::Up | KeyCode::BackTab, _) | (_, Some('k')) => menu.cursor.up(1),
        (KeyCode::PageDown, _) => menu.cursor.down(page),
        (KeyCode::PageUp, _) => menu.cursor.up(page),
        _ => {}
    }
    app.dialog.overlay = Some(Overlay::Menu(menu));
}

fn in_help(app: &mut App, mut help: Help, key: KeyPress) {
    let page = help.cursor.page();
    match key.code() {
        KeyCode::Esc => return,
        KeyCode::Enter => {
            let rows = help.rows(app);
            let row = help.cursor.selected_of(rows.len());
            let Some(chosen) = row.and_then(|row| rows.get(row)) else {
                return;
            };
            if chosen.kind != HelpKind::Entry {
                app.dialog.overlay = Some(Overlay::Help(help));
                return;
            }
            return match chosen.action {
                Some(Action::Help) | None => super::open(app, Purpose::Command, &name(&chosen.name)),
                Some(action) => update(app, action),
            };
        }
        KeyCode::Down | KeyCode::Tab => help.cursor.down(1),
        KeyCode::Up | KeyCode::BackTab => help.cursor.up(1),
        KeyCode::PageDown => help.cursor.down(page),
        KeyCode::PageUp => help.cursor.up(page),
        _ => {
            if help.search.key(key) == Some(true) {
                help.cursor.first();
            }
        }
    }
    app.dialog.overlay = Some(Overlay::Help(help));
}

/// Returns the start of a command line for the command in a row of the help.
fn name(row: &str) -> String {
    let name = row.trim_start_matches(':').split(' ').next();
    format!("{} ", name.unwrap_or_default())
}

fn in_prompt(app: &mut App, mut prompt: Prompt, key: KeyPress) {
    let is_guide = key.code() == KeyCode::F(1) || key.control() == Some('g');
    let is_closed = std::mem::take(&mut prompt.has_guide);
    if is_guide && matches!(prompt.purpose, Purpose::Filter | Purpose::Rule(_)) {
        prompt.has_guide = !is_closed;
        app.dialog.overlay = Some(Overlay::Prompt(prompt));
        return;
    }
    let is_fresh = std::mem::take(&mut prompt.is_fresh);
    match key.code() {
        // Only the page about the language is closed.
        KeyCode::Esc if is_closed => {}
        KeyCode::Esc => {
            // What was typed can be recalled.
            let line = prompt.editor.text().trim();
            return app.dialog.histories.for_purpose(&prompt.purpose).push(line);
        }
        KeyCode::Enter => return enter(app, prompt),
        code @ (KeyCode::Tab | KeyCode::BackTab) => {
            prompt.choose(code == KeyCode::Tab);
            check_text(app, &mut prompt);
        }
        KeyCode::Up | KeyCode::Down => {
            let lines = app.dialog.histories.for_purpose(&prompt.purpose);
            prompt.recall(lines, key.code() == KeyCode::Up);
            check(app, &mut prompt);
        }
        KeyCode::Backspace if prompt.editor.text().is_empty() => return,
        _ => {
            if is_fresh && key.typed().is_some() {
                prompt.editor = Editor::default();
            }
            if prompt.editor.key(key).is_some() {
                check(app, &mut prompt);
            }
        }
    }
    app.dialog.overlay = Some(Overlay::Prompt(prompt));
}

/// Checks the line of a prompt and sets its error.
fn check_text(app: &App, prompt: &mut Prompt) {
    let text = prompt.editor.text();
    let is_empty = text.trim().is_empty();
    let registry = app.registry;
    let errors = match prompt.purpose {
        Purpose::Filter if !is_empty => Filter::parse(text, registry).err(),
        Purpose::Rule(_) if !is_empty => Program::compile(text, registry).err(),
        Purpose::Value { slider, .. } if !is_empty => {
            prompt.error = slider.word_of(text).err().map(PromptError::Value);
            return;
        }
        Purpose::Inject if text.contains('{') => {
            // An error in the interval is reported when the line is entered.
            let message = split(text).map_or(text, |(message, _)| message);
            Draft::inject(message, registry).err()
        }
        _ => None,
    };
    prompt.error = errors.map(|errors| SyntaxError::from(errors).into());
}

/// Checks the line of a prompt and sets the candidates that complete it.
pub(super) fn check(app: &App, prompt: &mut Prompt) {
    check_text(app, prompt);
    prompt.chosen = None;
    let (before, _) = prompt.editor.parts();
    let registry = app.registry;
    prompt.candidates = match prompt.purpose {
        Purpose::Command => command::candidates(before),
        Purpose::Search | Purpose::Save(_) | Purpose::Value { .. } => Candidates::default(),
        Purpose::Inject => send::candidates(before, registry),
        Purpose::Filter | Purpose::Rule(_) => complete::candidates(app, &prompt.purpose, before),
    };
}

/// Enters the line of a prompt. A line that is refused stays, so that it can be corrected.
fn enter(app: &mut App, prompt: Prompt) {
    let line = prompt.editor.text().trim().to_owned();
    app.dialog.histories.for_purpose(&prompt.purpose).push(&line);
    let result = match prompt.purpose.clone() {
        Purpose::Command => carry_out(app, &line),
        Purpose::Filter if app.panes.view == View::Ladder => {
            app.set_ladder_filter(&line).map_err(Refused::from)
        }
        Purpose::Filter => app.set_filter(&line).map_err(Refused::from),
        Purpose::Search => {
            // The last line reports a text that was not found.
            if let Err(why) = find::next(app, true) {
                app.dialog.refuse(&why);
            }
            Ok(())
        }
        Purpose::Rule(replaced) => rule(app, &prompt, replaced, line),
        Purpose::Value { rule, slider, .. } => super::rule::set(app, rule.as_deref(), slider, &line),
        Purpose::Inject => send::inject(app, &line),
        Purpose::Save(saved) => send::save_to(app, saved, &line),
    };
    app.sync();
    if let Err(why) = result {
        app.dialog.refuse(&why);
        app.dialog.overlay = Some(Overlay::Prompt(prompt));
    }
}

/// Adds a rule, or replaces another one.
fn rule(app: &mut App, prompt: &Prompt, replaced: Option<String>, text: String) -> Result<(), Refused> {
    if let Some(error) = &prompt.error {
        return Err(error.clone().into());
    }
    match replaced {
        _ if text.is_empty() => Ok(()),
        Some(name) => Ok(super::rule::replace(app, name, text)?),
        None => Ok(app.ask(RuleCommand::Add { text })?),
    }
}

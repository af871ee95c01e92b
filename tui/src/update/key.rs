//! Keys and pasted text, by the part of the screen that has them.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use teetap_rules::{Filter, completions};

use super::{choose::choose, find, update};
use crate::{
    Action,
    app::{
        App, Overlay, command,
        cursor::Moves as _,
        filter::first_error,
        help::Help,
        menu::Menu,
        prompt::{Candidates, Prompt, Purpose},
    },
    keymap::Key,
};

/// Handles a key.
pub fn key(app: &mut App, event: &KeyEvent) {
    if event.kind == KeyEventKind::Release {
        return;
    }
    app.changed = true;
    app.status = None;
    let key = Key::of(event);
    let action = app.keymap.action(key, app.focus);
    if let Some(action @ (Action::Stop | Action::Suspend)) = action {
        return update(app, action);
    }
    match app.overlay.take() {
        Some(Overlay::Help(help)) => in_help(app, help, key),
        Some(Overlay::Prompt(prompt)) => in_prompt(app, prompt, key),
        Some(Overlay::Menu(menu)) => in_menu(app, menu, key),
        None => match action {
            Some(action) => update(app, action),
            None => {
                let help = app.keymap.hint(Action::Help);
                app.say(format!("{key} does nothing here; {help} lists the keys"));
            }
        },
    }
}

/// Takes pasted text; where no text is typed it is ignored.
pub fn paste(app: &mut App, text: &str) {
    app.changed = true;
    match app.overlay.take() {
        Some(Overlay::Prompt(mut prompt)) => {
            prompt.editor.insert(text);
            check(app, &mut prompt);
            app.overlay = Some(Overlay::Prompt(prompt));
        }
        Some(Overlay::Help(mut help)) => {
            help.search.insert(text);
            app.overlay = Some(Overlay::Help(help));
        }
        other => {
            app.overlay = other;
            app.say("open a prompt to paste text");
        }
    }
}

fn in_menu(app: &mut App, mut menu: Menu, key: Key) {
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
    app.overlay = Some(Overlay::Menu(menu));
}

fn in_help(app: &mut App, mut help: Help, key: Key) {
    let page = help.cursor.page();
    match key.code() {
        KeyCode::Esc => return,
        KeyCode::Enter => {
            let rows = help.rows(app);
            let row = help.cursor.selected_of(rows.len());
            let Some(chosen) = row.and_then(|row| rows.get(row)) else {
                return;
            };
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
    app.overlay = Some(Overlay::Help(help));
}

/// Returns the start of a command line for a row of the help.
fn name(row: &str) -> String {
    let name = row.trim_start_matches(':').split(' ').next();
    format!("{} ", name.unwrap_or_default())
}

fn in_prompt(app: &mut App, mut prompt: Prompt, key: Key) {
    match key.code() {
        KeyCode::Esc => return,
        KeyCode::Enter => return enter(app, prompt),
        KeyCode::Tab => prompt.choose(true),
        KeyCode::BackTab => prompt.choose(false),
        KeyCode::Up | KeyCode::Down => {
            let lines = match prompt.purpose {
                Purpose::Command => &app.commands,
                Purpose::Filter => &app.filters,
                Purpose::Search => &app.searches,
            };
            prompt.recall(lines, key.code() == KeyCode::Up);
            check(app, &mut prompt);
        }
        KeyCode::Backspace if prompt.editor.text().is_empty() => return,
        _ => {
            if prompt.editor.key(key).is_some() {
                check(app, &mut prompt);
            }
        }
    }
    app.overlay = Some(Overlay::Prompt(prompt));
}

/// Checks the line of a prompt, and looks for words that complete it.
pub(super) fn check(app: &App, prompt: &mut Prompt) {
    let (before, _) = prompt.editor.parts();
    prompt.chosen = None;
    prompt.error = None;
    prompt.candidates = match prompt.purpose {
        Purpose::Command => command::candidates(before),
        Purpose::Search => Candidates::default(),
        Purpose::Filter => {
            let text = prompt.editor.text();
            if !text.trim().is_empty() {
                let checked = Filter::parse(text, app.registry);
                prompt.error = checked.err().and_then(|errors| first_error(&errors));
            }
            let (len, words) = completions(before, false, app.registry);
            // Without a letter there are too many to be of help.
            let words = words.into_iter().filter(|_| len > 0);
            Candidates {
                len,
                words: words.map(|(word, what)| (word, what.to_owned())).collect(),
            }
        }
    };
}

/// Takes the line of a prompt. A line that is refused stays, so that it can be corrected.
fn enter(app: &mut App, mut prompt: Prompt) {
    let line = prompt.editor.text().trim().to_owned();
    let result = match prompt.purpose {
        Purpose::Command => {
            app.commands.push(&line);
            command::carry_out(app, &line)
        }
        Purpose::Filter => match app.set_filter(&line) {
            Ok(()) => {
                app.filters.push(&line);
                Ok(())
            }
            Err((at, why)) => {
                prompt.error = Some((at, why.clone()));
                Err(why)
            }
        },
        Purpose::Search => {
            app.searches.push(&line);
            // A text that is not found is reported on the last line.
            if let Err(why) = find::next(app, true) {
                app.refuse(why);
            }
            Ok(())
        }
    };
    app.sync();
    if let Err(why) = result {
        app.refuse(why);
        app.overlay = Some(Overlay::Prompt(prompt));
    }
}

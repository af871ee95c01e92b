//! Forms of new messages and of copies of rows, and the prompt of the filter.

use teetap_inspect::control::{Command, Inject};
use teetap_proxy::session::SessionId;

use super::{
    feed::{draw, press, recorded, type_text},
    live::live,
};
use crate::{
    App,
    app::{Overlay, form::MessageForm},
    request::Request,
};

fn form(app: &App) -> &MessageForm {
    match &app.dialog.overlay {
        Some(Overlay::Form(form)) => form,
        other => panic!("{other:?}: {:?}", app.dialog.status),
    }
}

fn values(app: &App) -> Vec<(&str, &str)> {
    let fields = form(app).fields.iter();
    fields.map(|field| (&*field.name, field.editor.text())).collect()
}

fn sent(app: &mut App) -> Inject {
    let requests = app.take_requests().into_iter();
    let mut injects = requests.filter_map(|request| match request {
        Request::Run(Command::Inject(message)) => Some(message),
        _ => None,
    });
    injects.next().unwrap()
}

/// Selects the newest row of a type.
fn select(app: &mut App, group: &str) {
    draw(app, (80, 24));
    press(app, "G");
    for _ in 0..1000 {
        if app.messages.group() == Some(group) {
            return;
        }
        press(app, "up");
    }
    panic!("no {group}");
}

#[test]
fn a_copy_of_any_row_is_edited_and_sent() {
    let mut app = live();
    select(&mut app, "cl_say");
    press(&mut app, "e");
    assert_eq!(
        values(&app),
        [
            ("mode", "team"),
            ("target", "-1"),
            ("message", "hello team"),
            ("session", "1")
        ]
    );
    press(&mut app, "down down ctrl-u");
    type_text(&mut app, "bye");
    press(&mut app, "down ctrl-u");
    type_text(&mut app, "x");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("write the number of a session"), "{screen}");
    press(&mut app, "backspace");
    type_text(&mut app, "#2");
    press(&mut app, "enter");
    let message = sent(&mut app);
    assert_eq!(message.session, Some(SessionId(2)));
    let hex = message.hex.unwrap();
    assert!(hex.ends_with("62796500"), "{hex}");
}

#[test]
fn a_form_starts_from_the_newest_message_of_its_type_without_its_secrets() {
    let mut app = live();
    press(&mut app, "i");
    type_text(&mut app, "c2s cl_say");
    press(&mut app, "enter");
    assert_eq!(values(&app)[2], ("message", "hello team"));
    press(&mut app, "esc i");
    type_text(&mut app, "c2s rcon_auth");
    press(&mut app, "enter");
    assert!(values(&app).contains(&("password", "")), "{:?}", values(&app));
}

#[test]
fn tab_completes_what_is_typed_and_changes_are_undone_and_not_lost() {
    let mut app = live();
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_emoticon");
    press(&mut app, "enter down ctrl-u");
    type_text(&mut app, "gho");
    press(&mut app, "tab");
    assert_eq!(values(&app)[1].1, "ghost");
    press(&mut app, "ctrl-r");
    assert_eq!(values(&app)[1].1, "gho");
    press(&mut app, "ctrl-r");
    assert_eq!(values(&app)[1].1, "");
    press(&mut app, "ctrl-r ctrl-r ctrl-r");
    assert_eq!(values(&app)[1].1, "hearts");
    press(&mut app, "tab esc");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("esc again discards what you typed"), "{screen}");
    assert!(form(&app).is_changed());
    press(&mut app, "down esc esc");
    assert!(app.dialog.overlay.is_none());
}

#[test]
fn a_typed_filter_replaces_the_old_one_and_a_moved_cursor_keeps_it() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    app.set_filter("sv_chat").unwrap();
    press(&mut app, "/");
    type_text(&mut app, "chat");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("\n\"/chat  "), "{screen}");
    press(&mut app, "tab enter");
    assert_eq!(app.messages.filter().unwrap().text, "sv_chat");
    press(&mut app, "/ End");
    type_text(&mut app, " and s2c");
    press(&mut app, "enter up");
    assert_eq!(app.messages.filter().unwrap().text, "sv_chat and s2c");
    // The page about the language, and back.
    press(&mut app, "/ F1");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("cl_emoticon.emoticon == hearts"), "{screen}");
    press(&mut app, "esc");
    let screen = draw(&mut app, (80, 24));
    assert!(
        !screen.contains("the language") && screen.contains("/sv_chat and s2c"),
        "{screen}"
    );
    press(&mut app, "ctrl-u");
    let screen = draw(&mut app, (80, 24));
    for example in [
        "like the selected row",
        "entered before",
        "an example with a field",
    ] {
        assert!(screen.contains(example), "{screen}");
    }
}

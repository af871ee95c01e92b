//! Twelve tasks at 80x24 by someone who knows only what the screen says: each key is named at that moment by the last
//! line, or by the first line if it shows a view. Arrows and typed texts need no name.

use teetap_inspect::control::{Command, RuleCommand};

use super::{
    feed::{draw, press, type_text},
    live::{held_message, rule},
    proxied,
};
use crate::{
    App,
    app::{Overlay, Pane, View},
    request::{Reply, Request},
};

/// Someone in front of a screen.
struct Reader(App);

impl Reader {
    fn screen(&mut self) -> String {
        draw(&mut self.0, (80, 24))
    }

    /// Presses a key that the screen names with this word.
    #[track_caller]
    fn hinted(&mut self, key: &str, word: &str) {
        let screen = self.screen();
        let (first, last) = (screen.lines().next().unwrap(), screen.lines().last().unwrap());
        let named = format!("{key} {word}");
        let is_hint =
            last.contains(&format!(" {named}")) || last.contains(&format!("({key})")) && word.is_empty();
        let is_view = first.contains(&format!(" {named}"));
        assert!(is_hint || is_view, "'{named}' is not named: {screen}");
        press(&mut self.0, key);
    }

    /// Presses arrow keys.
    fn arrow(&mut self, key: &str, times: usize) {
        for _ in 0..times {
            self.screen();
            press(&mut self.0, key);
        }
    }

    fn types(&mut self, text: &str) {
        type_text(&mut self.0, text);
    }

    /// Selects the newest row of a type.
    #[track_caller]
    fn find(&mut self, group: &str) {
        for key in ["up", "down"] {
            for _ in 0..60 {
                if self.0.messages.group() == Some(group) {
                    return;
                }
                self.arrow(key, 1);
            }
        }
        panic!("no {group}: {}", self.screen());
    }

    fn commands(&mut self) -> Vec<Command> {
        let requests = self.0.take_requests().into_iter();
        let commands = requests.filter_map(|request| match request {
            Request::Run(Command::Held { .. } | Command::Rules { change: None }) => None,
            Request::Run(command) => Some(command),
            _ => None,
        });
        commands.collect()
    }
}

fn reader() -> Reader {
    let mut app = proxied::app();
    app.orders.is_live = true;
    let mut reader = Reader(app);
    reader.screen();
    reader.commands();
    reader
}

#[test]
fn twelve_tasks_are_done_with_the_keys_that_the_screen_names() {
    let mut reader = reader();
    reads(&mut reader);
    makes_rules(&mut reader);
    sends(&mut reader);
    // 12. Which datagram was sent again, and what was in it?
    reader.hinted("4", "ladder");
    reader.0.sessions.pick(teetap_proxy::session::SessionId(1));
    reader.hinted("n", "next resend");
    reader.hinted("o", "original");
    reader.hinted("enter", "open");
    assert_eq!(reader.0.panes.view, View::Messages);
    assert!(reader.0.panes.shape.is_open);
}

/// Tasks 1 to 5.
fn reads(reader: &mut Reader) {
    // 1. What is in a message?
    reader.find("sv_chat");
    reader.hinted("enter", "open");
    assert_eq!(reader.0.panes.focus, Pane::Tree);
    // 2. How does it end?
    while reader.screen().contains("below ▾") {
        reader.arrow("down", 1);
    }
    reader.hinted("tab", "next pane");
    assert_eq!(reader.0.panes.focus, Pane::Hex);
    reader.hinted("esc", "back");
    // 3. Only the chat.
    reader.hinted("/", "filter");
    reader.types("chat");
    assert!(reader.screen().contains(" sv_chat  "), "{}", reader.screen());
    reader.hinted("tab", "complete");
    reader.hinted("enter", "apply");
    assert!(reader.screen().contains(" f filter sv_chat"));
    // 4. All again.
    reader.hinted("f", "filter off");
    assert!(!reader.0.messages.filter().unwrap().is_on());
    // 5. Only one player.
    reader.hinted("s", "session");
    reader.arrow("down", 2);
    reader.hinted("enter", "choose");
    assert!(reader.screen().contains(" s only #"), "{}", reader.screen());
}

/// Tasks 6 to 8.
fn makes_rules(reader: &mut Reader) {
    // 6. Lose what is like this message.
    reader.find("sv_chat");
    reader.hinted("x", "rule");
    reader.arrow("down", 1);
    reader.hinted("enter", "choose");
    reader.hinted("enter", "set");
    let added = reader.commands();
    assert!(
        matches!(&added[..], [Command::Rules { change: Some(RuleCommand::Add { text }) }] if text.starts_with("lose when")),
        "{added:?}"
    );
    // 7. Switch the rule off.
    let rules = vec![rule("lose when sv_chat", "lose when sv_chat", true)];
    reader
        .0
        .answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(rules)));
    reader.hinted("3", "rules");
    reader.hinted("space", "on/off");
    let off = reader.commands();
    assert!(
        matches!(
            &off[..],
            [Command::Rules {
                change: Some(RuleCommand::Off { .. })
            }]
        ),
        "{off:?}"
    );
    // 8. Delete it, and take that back.
    reader.hinted("d", "delete");
    reader.commands();
    reader.hinted("u", "undo");
    let undone = reader.0.take_requests();
    assert!(
        undone.iter().any(|request| matches!(request, Request::RunAll(_))),
        "{undone:?}"
    );
    reader.hinted("esc", "back");
}

/// Tasks 9 to 11.
fn sends(reader: &mut Reader) {
    // 9. Send something new.
    reader.hinted("i", "inject");
    reader.types("s2c sv_broadcast");
    reader.hinted("enter", "run");
    reader.types("hi");
    reader.hinted("enter", "send");
    assert!(matches!(&reader.commands()[..], [Command::Inject(_)]));
    // 10. Send a changed copy of what was said.
    reader.find("cl_say");
    reader.hinted("e", "edit");
    reader.arrow("down", 1);
    while !matches!(&reader.0.dialog.overlay, Some(Overlay::Form(form)) if form.fields[form.cursor.selected().unwrap()].name == "message")
    {
        reader.arrow("down", 1);
    }
    reader.types("!");
    reader.hinted("enter", "send");
    assert!(matches!(&reader.commands()[..], [Command::Inject(_)]));
    // 11. Hold the chat of clients, change one message and let it go.
    reader.hinted("f", "filter on");
    reader.hinted("p", "pause");
    assert_eq!(reader.commands().len(), 1);
    let held = vec![held_message(1, "cl_say{mode: all, message: \"one\"}")];
    reader
        .0
        .answer(&Command::Held { session: None }.into(), Ok(Reply::Held(held)));
    reader.hinted("e", "edit");
    reader.arrow("down", 2);
    reader.types("!");
    reader.hinted("enter", "change it");
    assert!(matches!(&reader.commands()[..], [Command::Edit(_)]));
    reader.hinted("a", "release");
    assert!(matches!(&reader.commands()[..], [Command::Release(_)]));
}

#[test]
fn a_click_on_a_view_or_a_hint_has_the_effect_of_its_key() {
    let mut app = proxied::app();
    let screen = draw(&mut app, (80, 24));
    let column = |line: &str, text: &str| {
        let line = line.trim_start_matches('"');
        let before = line.split(text).next().unwrap();
        u16::try_from(before.chars().count()).unwrap()
    };
    let tab = column(screen.lines().next().unwrap(), "6 stats");
    crate::update::click(&mut app, tab + 3, 0);
    assert_eq!(app.panes.view, View::Stats);
    let screen = draw(&mut app, (80, 24));
    let hint = column(screen.lines().last().unwrap(), "esc back");
    crate::update::click(&mut app, hint + 5, 23);
    assert_eq!(app.panes.view, View::Messages);
    let screen = draw(&mut app, (80, 24));
    let hint = column(screen.lines().last().unwrap(), "/ filter");
    crate::update::click(&mut app, hint, 23);
    assert!(matches!(app.dialog.overlay, Some(Overlay::Prompt(_))));
}

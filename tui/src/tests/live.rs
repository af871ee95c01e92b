//! Screens of a run with a proxy that carries out requests, with rules, and with held messages.

use teetap_inspect::{control::Command, jsonl::RuleBody};
use teetap_proxy::session::{HeldId, HeldMessage, SessionId, Time};
use teetap_rules::Draft;
use teetap_wire::{Dir, Proto, def::Registry};

use super::feed::{draw, press, recorded, type_text};
use crate::{
    App,
    request::{Reply, Request},
};

/// Returns a screen with a proxy behind it.
pub(super) fn live() -> App {
    let mut app = recorded();
    app.orders.is_live = true;
    app
}

pub(super) fn rule(name: &str, text: &str, on: bool) -> RuleBody {
    RuleBody {
        name: name.to_owned(),
        text: text.to_owned(),
        from: "--rule".to_owned(),
        line: 1,
        on,
        hits: (!text.starts_with("link")).then_some(3),
        last_hit: Some(Time(12_345_678)),
    }
}

pub(super) fn with_rules() -> App {
    let mut app = live();
    let list = vec![
        rule("quiet", "drop when sv_motd", true),
        rule("log when sv_chat", "log when sv_chat", false),
        rule("link s2c delay 40ms loss 5%", "link s2c delay 40ms loss 5%", true),
    ];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(list)));
    press(&mut app, "3");
    draw(&mut app, (80, 24));
    app
}

pub(super) fn held_message(id: u32, message: &str) -> HeldMessage {
    let registry = Registry::builtin();
    let (draft, _) = Draft::inject(&format!("c2s {message}"), registry).unwrap();
    HeldMessage {
        session: SessionId(1),
        dir: Dir::C2s,
        proto: Proto::V7,
        held: HeldId(id.try_into().unwrap()),
        vital: true,
        rule: Some("intercept".into()),
        until: Some(Time(20_000_000)),
        edited: false,
        data: draft.made(Proto::V7).unwrap().data.into(),
    }
}

pub(super) fn with_held() -> App {
    let mut app = live();
    app.run.now = Time(11_500_000);
    let list = vec![
        held_message(1, "cl_say{mode: all, message: \"one\"}"),
        held_message(2, "cl_say{mode: team, message: \"two\"}"),
    ];
    app.answer(&Command::Held { session: None }.into(), Ok(Reply::Held(list)));
    app
}

/// Returns the requests in debug form, except requests that only refresh the screen. Changes of rules are shown without
/// the command.
pub(super) fn requests(app: &mut App) -> Vec<String> {
    let text = |command: &Command| match command {
        Command::Held { .. } | Command::Rules { change: None } => None,
        Command::Rules { change: Some(change) } => Some(format!("{change:?}")),
        command => Some(format!("{command:?}")),
    };
    let texts = |request: &Request| match request.commands() {
        [] => vec![format!("{request:?}")],
        commands => commands.iter().filter_map(text).collect(),
    };
    app.take_requests().iter().flat_map(texts).collect()
}

/// Types a line on the command line, and returns the requests.
pub(super) fn command(app: &mut App, line: &str) -> Vec<String> {
    press(app, ":");
    type_text(app, line);
    press(app, "enter");
    requests(app)
}

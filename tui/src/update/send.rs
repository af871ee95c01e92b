//! Sends messages, and creates texts and files from rows.

use std::time::Duration;

use teetap_inspect::{
    Layer, Message, Reading,
    control::{Command, Inject},
    expect::expected,
    row,
};
use teetap_proxy::session::{EventKind, SessionId, State};
use teetap_rules::{Made, class_of, is_word};
use teetap_wire::{
    Dir, Proto,
    def::{Class, Def, Dialect, Records, Registry, Secrets, Source},
};

use super::{Refused, open, session::shown};
use crate::{
    app::{
        App, Overlay, Pane,
        contents::LineKind,
        form::{MessageForm, SeenMessage, message_text, quoted},
        history::Row,
        menu::{Choice, Menu, Saved},
        prompt::{Candidates, Purpose},
        repeat::{Repeat, split},
    },
    request::{NoProxy, Request},
};

/// The reason why no message is sent and no text or file created.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// A message to send has no direction.
    #[error("begin with c2s or s2c")]
    NoDirection,
    /// No message with this name is sent in this direction.
    #[error("no message '{name}' is sent {dir}")]
    NoMessage {
        /// Name of the message.
        name: String,
        /// Direction of the message.
        dir: Dir,
    },
    /// No message is sent repeatedly.
    #[error("no message is sent again and again")]
    NoRepeat,
    /// The selected row is not a message that can be sent in a session.
    #[error("select a message of the engine or the game")]
    NotSendable,
    /// The selected row is not a message.
    #[error("select a message")]
    NotAMessage,
    /// No row is selected.
    #[error("there is no row to copy")]
    NoRow,
    /// There are no rows to save.
    #[error("no row is shown")]
    NoRows,
}

/// Returns the session for a new message: the session of the view, otherwise of the selected row; `None` if it is not
/// online.
fn session(app: &App) -> Option<SessionId> {
    let row = app.messages.row().and_then(Row::session);
    shown(app).or(row).filter(|session| {
        let followed = app.sessions.follow.session(*session);
        followed.is_some_and(|followed| followed.state == State::Online)
    })
}

/// Sends a message in the syntax of rules. Opens a form if the text has no fields.
pub(super) fn inject(app: &mut App, text: &str) -> Result<(), Refused> {
    let session = session(app);
    let (text, every) = split(text)?;
    let mut words = text.split_whitespace();
    let dir = match words.next() {
        Some("c2s") => Dir::C2s,
        Some("s2c") => Dir::S2c,
        _ => return Err(SendError::NoDirection.into()),
    };
    if let (Some(name), None) = (words.next(), words.next())
        && !name.contains('{')
    {
        // A definition for the session's protocol has precedence.
        let known = session.or(app.sessions.shown());
        let proto = known.and_then(|known| app.sessions.follow.session(known)?.proto);
        let found = proto.into_iter().chain(Proto::ALL).find_map(|proto| {
            let mut defs = app.registry.named(proto, None, name);
            defs.find(|def| is_sent(def, dir))
        });
        let def = found.ok_or_else(|| SendError::NoMessage {
            name: name.to_owned(),
            dir,
        })?;
        let newest = newest(app, dir, def, session);
        let online = online(app);
        let mut form = MessageForm::inject(dir, def, newest, (session, &online), app.registry);
        form.every = every;
        app.dialog.overlay = Some(Overlay::Form(form));
        return Ok(());
    }
    Ok(send(app, session, text, every)?)
}

/// Returns the sessions that are online.
fn online(app: &App) -> Vec<SessionId> {
    let sessions = app.sessions.follow.sessions();
    let online = sessions.filter(|(_, followed)| followed.state == State::Online);
    online.map(|(session, _)| session).collect()
}

/// Returns the newest message of a type in this direction, of this session if one is given.
fn newest<'a>(
    app: &'a App,
    dir: Dir,
    def: &Def,
    session: Option<SessionId>,
) -> Option<(Records<'a>, &'a [u8])> {
    let history = &app.messages.history;
    let mut rows = history.numbers().rev().filter_map(|number| history.get(number));
    rows.find_map(|row| {
        let (reading, message) = row.message()?;
        let is_own = session.is_none() || row.session() == session;
        let is_same = message.def.is_some_and(|known| std::ptr::eq(known, def));
        let EventKind::Datagram(datagram) = &row.event()?.event.what else {
            return None;
        };
        let is_whole = reading.records(message).parts(None).count() == def.parts(None).count();
        (is_own && is_same && is_whole && datagram.dir == dir)
            .then(|| (reading.records(message), reading.data(message)))
    })
}

/// Opens the form of the selected message, whose changed copy is sent.
pub(super) fn edit_selected(app: &mut App) -> Result<(), SendError> {
    let (reading, message, dir, session) = selected(app)?;
    let def = message.def.ok_or(SendError::NotSendable)?;
    let row = app.messages.row().and_then(Row::event);
    let proto = row.and_then(|decoded| match &decoded.event.what {
        EventKind::Datagram(datagram) => Some(datagram.proto),
        _ => None,
    });
    let seen = SeenMessage {
        session,
        dir,
        proto: proto.ok_or(SendError::NotSendable)?,
        vital: message.transport.vital,
        data: reading.data(message).to_vec(),
    };
    let online = online(app);
    let secrets = app.look.style.secrets;
    let form = MessageForm::again(
        seen,
        def,
        reading.records(message),
        &online,
        secrets,
        app.registry,
    );
    app.dialog.overlay = Some(Overlay::Form(form));
    Ok(())
}

/// Sends a message, once or repeatedly.
pub(super) fn send(
    app: &mut App,
    session: Option<SessionId>,
    text: &str,
    every: Option<Duration>,
) -> Result<(), NoProxy> {
    if let Some(every) = every {
        if !app.orders.is_live {
            return Err(NoProxy);
        }
        app.orders.repeat = Some(Repeat::new(session, text, every));
        let key = app.dialog.keymap.hint(crate::Action::StopRepeat);
        app.dialog.say(format!("sent every {every:?}; {key} stops it"));
        return Ok(());
    }
    app.ask(Command::Inject(Inject::text(session, text)))
}

/// Stops sending a message repeatedly.
pub(super) fn stop_repeat(app: &mut App) -> Result<(), SendError> {
    let repeat = app.orders.repeat.take().ok_or(SendError::NoRepeat)?;
    app.dialog
        .say(format!("stopped; it was sent {} times", repeat.sent));
    Ok(())
}

/// Returns true if a system or game message is sent in this direction.
fn is_sent(def: &Def, dir: Dir) -> bool {
    def.way.allows(dir) && matches!(def.class, Class::System | Class::Game)
}

/// Returns the words that complete a message to send: the direction, the name, the fields.
pub(super) fn candidates(before: &str, registry: &Registry) -> Candidates {
    let (head, word) = match before.rfind([' ', '{', ',']) {
        Some(at) => before.split_at(at + 1),
        None => ("", before),
    };
    let defs = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect));
    let mut words: Vec<(String, String)> = match (head.split_whitespace().count(), head.split_once('{')) {
        (0, _) => ["c2s", "s2c"].map(|dir| (dir.to_owned(), String::new())).into(),
        (1, None) => {
            let dir = if head.trim() == "s2c" { Dir::S2c } else { Dir::C2s };
            defs.filter(|def| is_sent(def, dir))
                .map(|def| (def.name.to_string(), def.class.name().to_owned()))
                .collect()
        }
        (_, Some((message, _))) if !before.ends_with('"') => {
            let name = message.split_whitespace().nth(1).unwrap_or_default();
            let fields = defs
                .filter(|def| *def.name == *name)
                .flat_map(|def| def.parts(None));
            fields
                .map(|(_, field)| (format!("{}: ", field.name), expected(field).unwrap_or_default()))
                .collect()
        }
        _ => Vec::new(),
    };
    words.retain(|(name, _)| name.starts_with(word) && name != word);
    words.sort();
    words.dedup_by(|one, other| one.0 == other.0);
    Candidates {
        len: word.len(),
        words,
    }
}

/// Returns the selected message with its direction and session. Fails unless it was sent in a session.
fn selected(app: &App) -> Result<(&Reading, &Message, Dir, SessionId), SendError> {
    let row = app.messages.row();
    let found = row.and_then(|row| {
        let (reading, message) = row.message()?;
        let EventKind::Datagram(datagram) = &row.event()?.event.what else {
            return None;
        };
        let is_chunk = matches!(message.layer, Layer::System | Layer::Game | Layer::Unreadable);
        is_chunk.then_some((reading, message, datagram.dir, row.session()?))
    });
    found.ok_or(SendError::NotSendable)
}

/// Sends the selected message again.
pub(super) fn resend_selected(app: &mut App) -> Result<(), Refused> {
    let (reading, message, dir, session) = selected(app)?;
    let message = Made {
        dir,
        vital: message.transport.vital,
        data: reading.data(message).to_vec(),
        rule: None,
    };
    Ok(app.ask(Command::Inject(Inject::bytes(session, &message)))?)
}

/// Returns a condition that the selected message matches. Includes the value of the selected field.
pub(super) fn condition(app: &App) -> Result<String, SendError> {
    let (reading, message) = app
        .messages
        .row()
        .and_then(Row::message)
        .ok_or(SendError::NotAMessage)?;
    let label = reading.label(message);
    let class = message.def.map(|def| def.class);
    let name = match (class, class.and_then(prefix)) {
        (Some(class), Some(prefix)) if is_word(class, &label) => format!("{prefix}.{label}"),
        _ => label.into_owned(),
    };
    let dir = app
        .messages
        .row()
        .and_then(Row::event)
        .and_then(|decoded| match &decoded.event.what {
            EventKind::Datagram(datagram) => Some(datagram.dir),
            EventKind::Connless(connless) => Some(connless.dir),
            _ => None,
        });
    let mut parts: Vec<String> = dir.map(|dir| dir.to_string()).into_iter().collect();
    parts.push(name);
    if app.panes.focus != Pane::List
        && let Some(value) = field(app, reading, message)
    {
        parts.push(value);
    }
    Ok(parts.join(" and "))
}

/// Returns the language's word for a class.
fn prefix(class: Class) -> Option<&'static str> {
    ["ctrl", "sys", "game", "connless"]
        .into_iter()
        .find(|word| class_of(word) == Some(class))
}

/// Returns a condition on the value of the selected field; `None` for a group, a list or a secret.
fn field(app: &App, reading: &Reading, message: &Message) -> Option<String> {
    let place = app.detail.tree.selected_of(app.detail.contents.lines.len())?;
    let line = app.detail.contents.lines.get(place)?;
    let is_field = matches!(line.weight, LineKind::Field | LineKind::Changed) && line.depth == 0;
    if !is_field {
        return None;
    }
    let def = message.def?;
    let records = reading.records(message);
    let record = records.parts(None).find(|record| {
        def.field(record.field)
            .is_some_and(|field| *field.name == *line.name)
    })?;
    let source = Source::Bytes(reading.data(message));
    if app.look.style.secrets == Secrets::Hide && records.secret(def, record, source).is_some() {
        return None;
    }
    let value = crate::app::form::typed(def, record, source)?;
    let is_text = def.field(record.field)?.is_text();
    let value = if is_text { quoted(&value) } else { value };
    Some(format!(".{} == {value}", line.name))
}

/// Opens the menu of rules for the selected message.
pub(super) fn rules(app: &mut App) -> Result<(), SendError> {
    let when = condition(app)?;
    let actions = [
        "drop",
        "lose",
        "delay 200ms",
        "dup",
        "pause",
        "log",
        "swap",
        "corrupt 1 bits",
        "stall 3s",
        "close both",
    ];
    let entries = actions.map(|action| {
        let text = format!("{action} when {when}");
        (text.clone(), Choice::Rule(text))
    });
    app.dialog.overlay = Some(Overlay::Menu(Menu::new("rule from this row", entries)));
    Ok(())
}

/// Returns true if the message contains a secret.
fn has_secret(reading: &Reading, message: &Message) -> bool {
    let records = reading.records(message);
    let source = Source::Bytes(reading.data(message));
    message.def.is_some_and(|def| {
        let mut all = records.all().iter();
        all.any(|record| records.secret(def, record, source).is_some())
    })
}

/// Page that decodes the datagram in its address: `d` is the datagram in hex, `v` the protocols, 6 and 7.
const DECODER: &str = "https://twnet.zillyhuhn.com/";

/// Returns the address of a page that decodes the datagram of a row as received, or as sent if the proxy created it;
/// `None` without a datagram, or if the datagram contains a hidden secret.
fn link(row: &Row, secrets: Secrets) -> Option<String> {
    let decoded = row.event()?;
    let (versions, bytes) = match &decoded.event.what {
        EventKind::Datagram(datagram) => {
            let version = if datagram.proto == Proto::V7 { "7" } else { "6" };
            (version, datagram.received().or_else(|| datagram.sent().next())?)
        }
        EventKind::Connless(connless) => ("67", &*connless.bytes),
        _ => return None,
    };
    let reading = decoded.reading.as_ref();
    let mut messages = reading.into_iter().flat_map(|reading| {
        let messages = reading.messages.iter();
        messages.map(move |message| (reading, message))
    });
    if secrets == Secrets::Hide && messages.any(|(reading, message)| has_secret(reading, message)) {
        return None;
    }
    Some(format!("{DECODER}?d={}&v={versions}", row::hex(bytes)))
}

/// Opens the menu of texts to copy.
pub(super) fn copy(app: &mut App) -> Result<(), SendError> {
    let row = app.messages.row().ok_or(SendError::NoRow)?;
    let secrets = app.look.style.secrets;
    let mut texts = vec![("text of the row".to_owned(), crate::view::text_of(row, app))];
    if let Some((reading, message)) = row.message() {
        let bytes = reading.data(message);
        let is_secret = secrets == Secrets::Hide && has_secret(reading, message);
        if !is_secret {
            texts.push(("hex".to_owned(), row::hex(bytes)));
        }
        if let Some(json) = reading.json(message, secrets) {
            texts.push(("JSON of the fields".to_owned(), json));
        }
        if let Ok(when) = condition(app) {
            texts.push(("filter that matches it".to_owned(), when.clone()));
            texts.push(("rule that drops it".to_owned(), format!("drop when {when}")));
        }
        if let (Ok((_, message, dir, _)), false) = (selected(app), is_secret) {
            let written = message
                .def
                .and_then(|def| message_text(def, reading.records(message), Source::Bytes(bytes)));
            let vital = if message.transport.vital {
                "vital"
            } else {
                "nonvital"
            };
            let text = written.map_or_else(
                || format!("inject {dir} {vital} 0x{}", row::hex(bytes)),
                |written| format!("inject {dir} {written}"),
            );
            texts.push(("inject command".to_owned(), text));
        }
    }
    texts.extend(link(row, secrets).map(|link| ("twnet link".to_owned(), link)));
    let entries = texts.into_iter().map(|(name, text)| {
        let shown: String = text.chars().take(60).collect();
        let shown = teetap_wire::printable(shown.as_bytes());
        (format!("{name:<24} {shown}"), Choice::Copy(text))
    });
    app.dialog.overlay = Some(Overlay::Menu(Menu::new("copy", entries)));
    Ok(())
}

/// Opens the menu of rows to save.
pub(super) fn save(app: &mut App) {
    let entries = [
        ("all rows that are shown".to_owned(), Choice::Save(Saved::Shown)),
        ("the selected row".to_owned(), Choice::Save(Saved::Row)),
    ];
    app.dialog.overlay = Some(Overlay::Menu(Menu::new("save to a file", entries)));
}

/// Saves rows to a file.
pub(super) fn save_to(app: &mut App, saved: Saved, path: &str) -> Result<(), Refused> {
    let events = match saved {
        Saved::Row => {
            let event = app.messages.row().and_then(Row::event);
            event.cloned().into_iter().collect()
        }
        Saved::Shown => app.messages.wanted_events(),
    };
    if events.is_empty() {
        return Err(SendError::NoRows.into());
    }
    let path = path.to_owned();
    Ok(app.ask(Request::Save { path, events })?)
}

/// Opens the prompt for a file name.
pub(super) fn ask_for_file(app: &mut App, saved: Saved) {
    open(app, Purpose::Save(saved), "rows.pcapng");
}

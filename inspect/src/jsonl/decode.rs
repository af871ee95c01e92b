//! Parses one JSON line into an item of a recording.
//!
//! Law: unknown fields and kinds, which later versions may add, are skipped. An error never contains the text of the
//! line, which may contain secrets.

use teetap_proxy::{
    session::{Connless, Ends, Event, EventKind, SessionId},
    words::UNKNOWN,
};
use teetap_wire::{Code, Dir};

use super::{
    schema::{Body, Head, MessageBody, OLDEST, ParentBody, StartBody, TransitBody, VERSION},
    time::{micros, parse_rfc3339},
};
use crate::recording::{Item, Run};

/// Identifies the datagram of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parent {
    session: Option<u32>,
    dir: Dir,
    /// Ordinal in the session and direction; 0 if no peer sent it.
    ordinal: u64,
}

impl Parent {
    /// Returns the identity of a datagram event; `None` for other items.
    pub(super) fn from_item(item: &Item) -> Option<Self> {
        match item {
            Item::Event(Event {
                session,
                what: EventKind::Datagram(datagram),
                ..
            }) => Some(Self {
                session: session.map(|session| session.0),
                dir: datagram.dir,
                ordinal: datagram.ordinal,
            }),
            _ => None,
        }
    }

    fn of_message(session: Option<u32>, line: &[u8]) -> Option<Self> {
        let ParentBody { dir, datagram } = serde_json::from_slice(line).ok()?;
        Some(Self {
            session,
            dir: dir.0,
            ordinal: datagram.unwrap_or_default(),
        })
    }
}

/// The reason why a line yields no item.
pub(super) enum Wrong {
    /// The line refers to bytes in the line of its datagram; `None` if that datagram is unknown.
    NoBytes(Option<Parent>),
    /// The line cannot be parsed, for this reason.
    Damaged(String),
}

/// Parses a line. Returns `None` if other lines have its contents, or it is of a later version.
///
/// # Errors
/// See [`Wrong`].
pub(super) fn read(line: &[u8]) -> Result<Option<Item>, Wrong> {
    let head: Head<'_> = serde_json::from_slice(line).map_err(|error| damaged(&error))?;
    if !(OLDEST..=VERSION).contains(&head.v) {
        let text = format!(
            "schema version {}, and only 1 to {VERSION} are known here",
            head.v
        );
        return Err(Wrong::Damaged(text));
    }
    let is_bare = head.hex.is_none() && head.hex_out.is_none();
    match &*head.event {
        "message" if head.layer.as_deref() != Some("connless") => {
            return Err(Wrong::NoBytes(Parent::of_message(head.session, line)));
        }
        "message" | "datagram" if is_bare => return Err(Wrong::NoBytes(None)),
        _ => {}
    }
    match Body::read(&head.event, line) {
        Ok(Some(body)) => Ok(item(&head, body)),
        Ok(None) => Ok(None),
        // The line has a word of a later version.
        Err(error) if error.to_string().starts_with(UNKNOWN) => Ok(None),
        Err(error) => Err(damaged(&error)),
    }
}

/// Describes the error, without the text of the line.
fn damaged(error: &serde_json::Error) -> Wrong {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    let text = match text.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        None => text.to_owned(),
    };
    Wrong::Damaged(match error.column() {
        0 => text,
        column => format!("{text} at column {column}"),
    })
}

fn item(head: &Head<'_>, body: Body<'_>) -> Option<Item> {
    let at = micros(head.t);
    let what = match body {
        Body::Start(start) => return Some(started(start)),
        Body::Log(log) if head.v > OLDEST || log.program => {
            let (level, text) = log.parts();
            return Some(Item::Log { at, level, text });
        }
        Body::Gap(gap) => return Some(Item::Gap { at, lost: gap.lost }),
        Body::Finding(_) | Body::Replay(_) | Body::Summary(_) => return None,
        Body::Log(log) => EventKind::Notice(log.notice()),
        Body::Notice(notice) => EventKind::Notice(notice.notice()),
        Body::Answer(answer) => EventKind::Answer(answer.answer()),
        Body::Session(session) => session.change(|reason| reason.into_bytes().into()),
        Body::Datagram(datagram) => datagram.datagram(),
        Body::Message(message) => EventKind::Connless(connless(message)?),
    };
    Some(Item::Event(Event {
        at,
        session: head.session.map(SessionId),
        what,
    }))
}

fn started(start: StartBody<'_>) -> Item {
    let wall = parse_rfc3339(&start.wall_clock).unwrap_or_default();
    // Only the time is known for captures by other programs.
    let known = (start.seed, start.target, start.server, start.listen);
    let run = match known {
        (Some(seed), Some(target), Some(server), Some(listen)) => Some(Run {
            version: start.version.into_owned(),
            wall,
            seed,
            target: target.into_owned(),
            server,
            listen,
        }),
        _ => None,
    };
    Item::Start { wall, run }
}

fn connless(message: MessageBody<'_>) -> Option<Connless> {
    let mut notes = message.notes.iter();
    let cut = notes.find(|note| note.code == Code::CutByCapture.name());
    Some(Connless {
        dir: message.dir.0,
        client: message.client?,
        bytes: message.hex?.0,
        cut: cut.map_or(0, |note| note.len),
        forwarded: !message
            .actions
            .iter()
            .any(|action| ["discard", "drop", "lose"].contains(&&*action.action)),
        sent: message.hex_out.into_iter().flatten().next().map(|hex| hex.0),
        link: message.link.iter().map(TransitBody::transit).collect(),
        ends: Ends {
            frame: message.frame,
            ..Ends::default()
        },
        placed: message.placed.map(|placed| placed.placed().into()),
        made: message.made.map(|made| made.made().into()),
    })
}

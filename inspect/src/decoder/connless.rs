//! Decodes datagrams outside a connection.

use std::sync::Arc;

use teetap_proxy::session::{Action, Connless, Origin, Time, Transit};
use teetap_rules::context::{MessageView, PacketView};
use teetap_wire::{
    Code, Dir, Note, Proto,
    connless::Connless as Parsed,
    def::{Class, Found, Record},
};

use super::Decoder;
use crate::{
    after::{After, Change},
    place::{SeenAt, done_view, link_view},
    reading::{Handling, Layer, Message, MessageOutcome, Reading, Visibility},
    transit::Transits,
};

impl Reading {
    /// Decodes a datagram outside a connection, which is a single message. Returns `None` if no watcher displays it.
    #[must_use]
    pub(crate) fn of_connless(at: Time, connless: &Connless, decoder: &mut Decoder) -> Option<Self> {
        let reading = self::connless(at, connless, decoder);
        decoder.keep_shown(reading)
    }
}

impl Decoder {
    /// Parses a datagram outside a connection. Appends its fields to `records` if they are decoded.
    fn connless(
        &mut self,
        at: Time,
        connless: &Connless,
        (parsed, handling): (Option<Parsed<'_>>, &Handling),
        records: &mut Vec<Record>,
    ) -> Message {
        let proto = match parsed {
            Some(Parsed::V7 { .. }) => Proto::V7,
            Some(Parsed::Plain { .. } | Parsed::Extended { .. }) | None => Proto::Ddnet,
        };
        let cut = [Note {
            code: Code::CutByCapture,
            at: connless.bytes.len(),
            len: connless.cut,
        }];
        let notes = if connless.cut > 0 { &cut[..] } else { &[] };
        let packet = PacketView {
            size: Some(connless.bytes.len()),
            notes,
            frame: connless.ends.frame,
            ..PacketView::default()
        };
        let place = SeenAt {
            at,
            session: None,
            proto,
            dir: connless.dir,
            leg: None,
            packet,
            done: done_view(
                handling,
                link_view(&connless.link, Transits::of_connless(connless).are_lost()),
            ),
        };
        let client = Some(connless.client);
        let Some(parsed) = parsed else {
            // The format is unknown, so only the raw bytes are shown.
            let view = MessageView {
                client,
                ..place.view(Class::Connless, None, &connless.bytes)
            };
            let (shown, subscribers) = self.select(&view, "connless.raw");
            let unknown = Note {
                code: Code::UnknownMessage,
                at: 0,
                len: connless.bytes.len(),
            };
            return Message {
                visibility: Visibility {
                    shown,
                    subscribers,
                    decoded: true,
                    ..Visibility::default()
                },
                notes: if notes.is_empty() {
                    vec![unknown]
                } else {
                    notes.to_vec()
                },
                ..Message::new(Layer::Connless, None)
            };
        };
        let data = parsed.data();
        let def = self.registry.connless(proto, data);
        let view = MessageView {
            body: 8,
            client,
            ..place.view(Class::Connless, def, data)
        };
        let mut message = Message::new(Layer::Connless, def);
        self.read(&mut message, &view, records);
        if message.visibility.decoded {
            message.notes.extend(notes);
        }
        message
    }
}

impl Decoder {
    /// Records the bytes that the receiver of a message outside a connection got.
    fn compare_connless(&self, reading: &mut Reading, dir: Dir, data: &[u8], change: Change) {
        let Some(message) = reading.messages.first() else {
            return;
        };
        let before = reading.before(message);
        if !message.visibility.decoded || before.data == data {
            return;
        }
        let proto = match Parsed::parse(&reading.bytes) {
            Some(Parsed::V7 { .. }) => Proto::V7,
            _ => Proto::Ddnet,
        };
        let def = self.registry.connless(proto, data);
        let found = def.filter(|def| def.way.allows(dir)).map(|def| Found {
            def,
            body: 8,
            unknown: false,
        });
        let after = After::new(&before, data, found, change);
        if let Some(message) = reading.messages.first_mut() {
            message.after = Some(Arc::new(after));
        }
    }
}

/// Decodes a datagram outside a connection.
fn connless(at: Time, connless: &Connless, decoder: &mut Decoder) -> Reading {
    let mut reading = decoder.lend_reading();
    reading.sizes.received = connless.received().map(<[u8]>::len);
    reading
        .sizes
        .sent
        .extend(connless.sent.as_deref().map(<[u8]>::len));
    reading.is_cut = connless.cut > 0;
    reading.bytes.extend_from_slice(&connless.bytes);
    let parsed = Parsed::parse(&connless.bytes);
    let handling = handling(connless, decoder);
    let mut message = decoder.connless(at, connless, (parsed, &handling), &mut reading.records);
    message.handling = handling;
    let len = parsed.map_or(connless.bytes.len(), |parsed| parsed.data().len());
    message.ranges.at = connless.bytes.len() - len;
    message.ranges.data = message.ranges.at..connless.bytes.len();
    let is_received = connless.made.is_none();
    if is_received && let Some(detail) = decoder.streams().connless(at, connless) {
        message.notes.push(detail.note(connless.bytes.len()));
        reading.details.push(detail);
    }
    let is_of_browser = message
        .name
        .is_some_and(|name| ["info", "info_64", "request_info", "request_info_64"].contains(&name));
    if let Some(token) = reading
        .int(&message, "token")
        .filter(|_| is_of_browser && is_received)
        && let Some(detail) = decoder.streams().info_token(connless, token)
    {
        message.notes.push(detail.note(connless.bytes.len()));
        reading.details.push(detail);
    }
    let is_info = message.name.is_some_and(|name| name.starts_with("info"));
    if is_info
        && connless.dir == Dir::S2c
        && let Some(version) = reading.text(&message, "version")
    {
        decoder.stated().learn(&version);
    }
    reading.messages.push(message);
    if let Some((data, change)) = as_sent(connless) {
        decoder.compare_connless(&mut reading, connless.dir, &data, change);
    }
    reading
}

/// Returns the handling of a datagram outside a connection.
fn handling(connless: &Connless, decoder: &mut Decoder) -> Handling {
    let mut handling = Handling {
        done: outcome(connless),
        ..Handling::default()
    };
    if let Some(placed) = connless.placed.as_deref() {
        handling.rules = decoder.rule_names(&placed.rules);
        handling.marks.clone_from(&placed.marks);
        handling.delay = placed.delay;
    }
    if let Some(made) = connless.made.as_deref() {
        handling.origin = Origin::Rule;
        handling.made = Some((made.how, made.waited));
        handling.rules = made.rule.as_deref().into_iter().map(Arc::from).collect();
    }
    handling
}

/// Returns the outcome of a datagram outside a connection.
fn outcome(connless: &Connless) -> MessageOutcome {
    let action = connless.placed.as_deref().map(|placed| placed.action);
    match (connless.forwarded, action) {
        (_, Some(action @ (Action::Drop | Action::Lose | Action::Hold))) => MessageOutcome::Placed(action),
        (false, _) => MessageOutcome::Discarded,
        (true, Some(action)) => MessageOutcome::Placed(action),
        (true, None) if edited(connless).is_some() => MessageOutcome::Placed(Action::Edit),
        (true, None) => MessageOutcome::Placed(Action::Pass),
    }
}

/// Returns the message that was sent in place of the received message; `None` if it was not sent, or is the same. The
/// proxy always changes the tokens in the header of 0.7.
fn edited(connless: &Connless) -> Option<&[u8]> {
    let data = |bytes| Parsed::parse(bytes).map(|parsed| parsed.data());
    let sent = data(connless.sent.as_deref()?)?;
    (connless.cut == 0 && data(&connless.bytes)? != sent).then_some(sent)
}

/// Returns the message as its receiver got it, if a rule or the link changed it.
fn as_sent(connless: &Connless) -> Option<(Vec<u8>, Change)> {
    let is_damaged = |transit: &&Transit| transit.lost.is_none() && !transit.corrupted.is_empty();
    let sent = connless.sent.as_deref();
    match (sent, connless.link.iter().find(is_damaged)) {
        (Some(sent), Some(transit)) => {
            let mut bytes = sent.to_vec();
            transit.damage(&mut bytes);
            let data = Parsed::parse(&bytes)?.data();
            Some((data.to_vec(), Change::Link))
        }
        _ => {
            let placed = connless.placed.as_deref();
            let made = connless.made.as_deref();
            let is_corrupted = placed.is_some_and(|placed| placed.action == Action::Corrupt)
                || made.is_some_and(|made| made.corrupted);
            let change = if is_corrupted {
                Change::Corrupt
            } else {
                Change::Edit
            };
            edited(connless).map(|data| (data.to_vec(), change))
        }
    }
}

//! Datagrams outside a connection.

use teetap_wire::{Code, Connless, Note, Proto, Token, counted};

use super::{
    Space, Span,
    message::Container,
    packet::{Walk, token_text},
    verdict::Doubt,
};

const CONNLESS: u8 = 0x20;
const VERSION: u8 = 0x03;

impl Walk {
    /// Adds the rows of a datagram whose first byte marks it as connless.
    pub(super) fn connless(&mut self, seen: &[u8]) {
        let first = seen.first().copied().unwrap_or(0);
        let seven = first & VERSION == 1;
        let need = if self.proto == Proto::V7 { 9 } else { 6 };
        let have = seen.len().min(need);
        let group = self
            .tree
            .group(0, Span::new(Space::Datagram, 0, have), "connless header", "");
        match (self.proto, Connless::parse(seen)) {
            (Proto::V7, _) => self.header7(seen, first),
            (_, Some(Connless::Extended { extra, .. })) => self.extended(extra),
            _ => {
                let text = "only bit 0x20 of the first one counts";
                let span = Span::new(Space::Datagram, 0, have);
                self.tree.bytes(1, span, "six bytes", text);
                if seen
                    .get(..have)
                    .is_some_and(|header| header.iter().any(|byte| *byte != 0xff))
                {
                    self.doubts.push(Doubt::new("a header other than six times ff"));
                }
            }
        }
        if have < need {
            self.tree.set_value(group, format!("{have} of {need} bytes"));
            let (code, at) = (Code::TooShort, 0);
            self.tree.note(group, Note { code, at, len: have });
            return;
        }
        if self.proto == Proto::V7 && !seven {
            let (code, at) = (Code::UnknownFlags, 0);
            self.tree.attach(0, Space::Datagram, Note { code, at, len: 1 });
            self.doubts
                .push(Doubt::new("the connless version is not 1: 0.7 drops it"));
        }
        self.facts.push("connless".to_owned());
        let data = seen.get(need..).unwrap_or_default();
        let proto = if self.proto == Proto::V7 {
            Proto::V7
        } else {
            Proto::Ddnet
        };
        let span = Span::new(Space::Datagram, need, data.len());
        let group = self.tree.group(0, span, "connless message", "");
        let name = self.message(1, span, data, Container::Connless(proto));
        self.tree
            .set_value(group, format!("{name}, {}", counted(data.len(), "byte")));
        self.facts.push(name);
    }

    fn header7(&mut self, seen: &[u8], first: u8) {
        let span = Span::new(Space::Datagram, 0, 1);
        self.tree.bytes(1, span, "flags and version", "");
        self.tree.bits(2, span, 0xdc, "unused", "");
        self.tree.bits(2, span, CONNLESS, "connless", "yes");
        self.tree
            .bits(2, span, VERSION, "version", (first & VERSION).to_string());
        for (label, at) in [("receiver's token", 1), ("sender's token", 5)] {
            let bytes = seen.get(at..).unwrap_or_default();
            let value = match bytes.first_chunk() {
                Some(token) => token_text(Token(*token)),
                None => format!("{} of 4 bytes", bytes.len()),
            };
            if !bytes.is_empty() {
                let span = Span::new(Space::Datagram, at, bytes.len().min(4));
                self.tree.bytes(1, span, label, value);
            }
        }
    }

    fn extended(&mut self, [a, b, c, d]: [u8; 4]) {
        let span = |at| Span::new(Space::Datagram, at, 2);
        self.tree.bytes(1, span(0), "DDNet's extended header", "xe");
        let token = u16::from_be_bytes([a, b]);
        let value = format!("{token}: the upper bits of the browser's token");
        self.tree.bytes(1, span(2), "extra token", value);
        let value = if [c, d] == [0, 0] { "" } else { "not zero" };
        self.tree.bytes(1, span(4), "reserved", value);
        if self.proto != Proto::Ddnet {
            self.doubts
                .push(Doubt::new("an extended header, a DDNet feature"));
        }
    }
}

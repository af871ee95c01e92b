//! Explains a packet of a connection: header, token, compression.

use teetap_wire::{
    Code, Control, Dir, Flags, HeaderBits, HeaderField, HeaderView, Layout, MAX_DATAGRAM, Note, Packet,
    Proto, RangeOf, Scratch, Token, TokenPlace, counted,
    def::{Decoded, Registry, Secrets},
    huffman, is_connless,
};

use super::{
    Explanation, Options, Space, Span,
    tree::Tree,
    verdict::{self, Doubt},
};

/// The state while a datagram is interpreted as one variant.
pub(super) struct Walk {
    pub(super) proto: Proto,
    pub(super) dir: Dir,
    pub(super) registry: &'static Registry,
    pub(super) secrets: Secrets,
    pub(super) tree: Tree,
    pub(super) decoded: Decoded,
    /// Recognized parts, which are the reasons for a fit.
    pub(super) facts: Vec<String>,
    pub(super) doubts: Vec<Doubt>,
    packed: Option<Span>,
}

/// The payload of a packet, without the token of its header.
pub(super) struct Payload<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) space: Space,
    /// Offset of the first byte in that space.
    pub(super) base: usize,
    /// True if the end of the payload is missing, including a token at the end.
    pub(super) cut: bool,
}

/// Reads `datagram` as `proto`, sent in direction `dir`.
pub(super) fn read(datagram: &[u8], proto: Proto, dir: Dir, options: Options) -> Explanation {
    let mut walk = Walk {
        proto,
        dir,
        registry: options.registry,
        secrets: options.secrets,
        tree: Tree::default(),
        decoded: Decoded::new(),
        facts: Vec::new(),
        doubts: Vec::new(),
        packed: None,
    };
    let seen = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
    let mut clear = Vec::new();
    if is_connless(seen) {
        walk.connless(seen);
        walk.oversized(datagram);
    } else {
        walk.packet(datagram, seen, &mut clear);
    }
    let Walk {
        mut tree,
        packed,
        facts,
        doubts,
        ..
    } = walk;
    tree.fill(datagram, &clear, options.secrets);
    let (weight, verdict, reasons) = verdict::weigh(&tree.rows, doubts, facts);
    let whole = |space, bytes: &[u8]| tree.hex(Span::new(space, 0, bytes.len()), bytes, options.secrets);
    let inflated = tree.rows.iter().any(|row| row.span.space == Space::Clear);
    Explanation {
        proto,
        dir,
        either: false,
        verdict,
        reasons,
        clear: inflated.then(|| whole(Space::Clear, &clear)),
        datagram: whole(Space::Datagram, datagram),
        rows: tree.rows,
        same_as: None,
        weight,
        secrets: tree.secrets,
        packed,
    }
}

impl Walk {
    fn packet(&mut self, datagram: &[u8], seen: &[u8], clear: &mut Vec<u8>) {
        let layout = self.proto.layout();
        let view = HeaderView::new(self.proto, seen);
        self.header(layout, &view);
        let (flags, header_len) = (view.flags(), view.len());
        let Some(rest) = seen.get(header_len..) else {
            self.oversized(datagram);
            return;
        };
        let payload = if flags.contains(Flags::COMPRESSION) {
            let cut = self.inflate(layout, rest, header_len, clear);
            self.oversized(datagram);
            Payload {
                bytes: clear,
                space: Space::Clear,
                base: 0,
                cut,
            }
        } else {
            self.facts.push("not compressed".to_owned());
            Payload {
                bytes: rest,
                space: Space::Datagram,
                base: header_len,
                cut: false,
            }
        };
        let (space, base) = (payload.space, payload.base);
        self.payload(layout, payload, flags, view.num_chunks().unwrap_or(0));
        if space == Space::Datagram {
            self.oversized(datagram);
        }
        let mut scratch = Scratch::new();
        if let Ok(packet) = Packet::parse(self.proto, datagram, &mut scratch) {
            for note in packet.notes.iter().filter(|note| !is_own(note.code)) {
                let (space, at) = match note.code.place() {
                    RangeOf::Datagram => (Space::Datagram, note.at),
                    RangeOf::Payload | RangeOf::Message => (space, base + note.at),
                };
                self.tree.attach(0, space, Note { at, ..note });
            }
        }
    }

    fn header(&mut self, layout: &Layout, view: &HeaderView<'_>) {
        let (need, have) = (view.len(), view.present());
        let group = self
            .tree
            .group(0, Span::new(Space::Datagram, 0, have), "packet header", "");
        for (field, range) in view.fields() {
            let span = Span::new(Space::Datagram, range.start, range.len());
            match field {
                HeaderField::First(_) => self.first_byte(view, span),
                HeaderField::Ack(ack) => {
                    let text = format!("{ack}: the last vital chunk that the sender has");
                    self.tree.bytes(1, span, "ack", text);
                }
                HeaderField::NumChunks(count) => {
                    self.tree.bytes(1, span, "number of chunks", count.to_string());
                }
                HeaderField::Token(token) => {
                    let text = token.map_or_else(|| format!("{} of 4 bytes", range.len()), token_text);
                    self.tree.bytes(1, span, "token", text);
                }
            }
        }
        if have < need {
            self.tree.set_value(group, format!("{have} of {need} bytes"));
            let (at, code) = (0, Code::TooShort);
            self.tree.note(group, Note { code, at, len: have });
        } else {
            self.token_facts(layout, view);
        }
    }

    fn token_facts(&mut self, layout: &Layout, view: &HeaderView<'_>) {
        let fact = match layout.token {
            TokenPlace::Nowhere => "no token",
            TokenPlace::PayloadTail => "a token after the payload",
            _ if view.has_token() => "a token in the header",
            TokenPlace::HeaderWhenFlag(_) if !view.flags().contains(Flags::CONTROL) => {
                self.doubts.push(Doubt::new(
                    "no token flag, which 0.6.5 sets in every packet but connect",
                ));
                return;
            }
            _ => "no token flag",
        };
        self.facts.push(fact.to_owned());
    }

    fn first_byte(&mut self, view: &HeaderView<'_>, span: Span) {
        let first = view.first();
        let set: Vec<&str> = view
            .bits()
            .filter(|(mask, bits)| *bits != HeaderBits::Ack && first & mask != 0)
            .map(|(_, bits)| bits_name(bits))
            .collect();
        let value = if set.is_empty() {
            "none".to_owned()
        } else {
            set.join(", ")
        };
        self.tree.bytes(1, span, "flags", value);
        for (mask, bits) in view.bits() {
            let value = match (bits, first & mask) {
                (HeaderBits::Unused | HeaderBits::Ack, 0) => String::new(),
                (HeaderBits::Ack, high) => format!("+{}", u16::from(high) << 8),
                (_, 0) => "no".to_owned(),
                _ => "yes".to_owned(),
            };
            self.tree.bits(2, span, mask, bits_name(bits), value);
        }
    }

    /// Inflates as much of the payload as possible. Returns true if some of it could not be inflated.
    fn inflate(&mut self, layout: &Layout, rest: &[u8], base: usize, clear: &mut Vec<u8>) -> bool {
        clear.resize(layout.max_inflated, 0);
        let stream = huffman::prefix(rest, clear);
        let surplus = huffman::decompress(rest, clear).map_or(0, |stream| stream.surplus);
        clear.truncate(stream.len);
        let used = rest.len() - surplus.min(rest.len());
        let span = Span::new(Space::Datagram, base, used);
        let cut = stream.error.is_some();
        let upto = if cut { " up to there" } else { "" };
        let text = format!(
            "{} ({} bits) inflate to {}{upto}",
            counted(used, "byte"),
            stream.bits,
            stream.len
        );
        let row = self.tree.bytes(0, span, "compressed payload", text);
        self.packed = Some(span);
        if let Some(error) = stream.error {
            self.tree.note(
                row,
                Note {
                    code: Code::BadHuffman,
                    at: base,
                    len: used,
                },
            );
            self.doubts.push(Doubt::new(error.to_string()));
        }
        if surplus > 0 {
            let span = Span::new(Space::Datagram, base + used, surplus);
            self.tree.bytes(0, span, "after the end of the stream", "");
        }
        self.facts
            .push(format!("{} inflate to {}", counted(used, "byte"), stream.len));
        cut
    }

    /// Adds a row for bytes beyond the maximum that receivers read.
    pub(super) fn oversized(&mut self, datagram: &[u8]) {
        let len = datagram.len().saturating_sub(MAX_DATAGRAM);
        if len > 0 {
            let span = Span::new(Space::Datagram, MAX_DATAGRAM, len);
            let row = self
                .tree
                .bytes(0, span, "not received", counted(len, "byte").to_string());
            let (code, at) = (Code::Oversized, MAX_DATAGRAM);
            self.tree.note(row, Note { code, at, len });
        }
    }

    fn payload(&mut self, layout: &Layout, mut payload: Payload<'_>, flags: Flags, num_chunks: u8) {
        let whole = payload.bytes;
        let mut tail = None;
        let has_none = flags.contains(Flags::CONTROL) && Control::is_close_without_token(whole);
        if layout.token == TokenPlace::PayloadTail && !payload.cut && !has_none {
            let at = payload.base + whole.len();
            tail = Some((Span::new(payload.space, at, 0), "missing".to_owned()));
            if let Some((rest, token)) = whole.split_last_chunk::<4>() {
                payload.bytes = rest;
                let span = Span::new(payload.space, payload.base + rest.len(), 4);
                tail = Some((span, token_text(Token(*token))));
            }
        }
        if flags.contains(Flags::CONTROL) {
            self.control(&payload);
        } else {
            self.chunks(&payload, num_chunks);
        }
        if let Some((span, text)) = tail {
            self.tree.bytes(0, span, "token", text);
        }
    }
}

/// Returns true for notes that this module adds.
const fn is_own(code: Code) -> bool {
    matches!(code, Code::Oversized)
}

const fn bits_name(bits: HeaderBits) -> &'static str {
    match bits {
        HeaderBits::Control => "control",
        HeaderBits::Resend => "resend",
        HeaderBits::Compression => "compressed",
        HeaderBits::Token => "token",
        HeaderBits::Connless => "connless",
        HeaderBits::Unused => "unused",
        HeaderBits::Ack => "ack, bits 9 and 8",
    }
}

pub(super) fn token_text(token: Token) -> String {
    match token {
        Token::NONE => format!("{token} (none yet)"),
        Token::TKEN => format!("{token} (TKEN)"),
        _ => token.to_string(),
    }
}

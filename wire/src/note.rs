//! Notes about oddities in bytes that can still be parsed.
//!
//! Law: a note never changes how a datagram is handled. It reports that bytes differ from the output of a reference
//! sender, or that some peers will drop them. Notes are stored inline in a list of limited size, because hostile peers
//! can cause any number of them.
//!
//! Parse errors are not notes: each module has an error type for input that cannot be parsed.

/// The importance of a note for debugging a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A harmless oddity: all receivers read the bytes the same way, or correct peers and networks cause it as well.
    Info,
    /// An oddity that receivers handle differently, or bytes that they ignore.
    Warning,
    /// An oddity that makes some or all receivers drop the datagram or a part of it.
    Error,
}

impl Severity {
    /// Returns `error`, `warning` or `info`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The data to which the range of a note refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeOf {
    /// The datagram as received.
    Datagram,
    /// The decompressed payload of the packet.
    Payload,
    /// The data of a chunk, control packet or connless datagram. For a snapshot item, its ints; for a snapshot, the
    /// joined data of its parts.
    Message,
}

/// An oddity and the range of the affected bytes. [`Code::place`] returns the data to which the range refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Note {
    /// The kind of oddity.
    pub code: Code,
    /// Offset of the first affected byte.
    pub at: usize,
    /// Number of affected bytes; 0 if bytes are missing at the offset.
    pub len: usize,
}

/// A property of a [`Code`]: the receiver's reaction, a possible cause, or how the oddity is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The receiver drops the datagram.
    DropsDatagram,
    /// The receiver drops the message. If it dropped the message because an earlier message is missing, it requests a
    /// retransmission.
    DropsMessage,
    /// Some receivers drop the datagram or read only a part of it, so its chunks may be lost.
    MayLoseChunks,
    /// Some releases of the games handle the datagram differently from others.
    ByRelease,
    /// The oddity is caused by loss, delay or reordering in the network, so no peer is at fault.
    OfNetwork,
    /// The oddity cannot be the cause of a later failure.
    Idle,
    /// The oddity may exist only because the recording truncated the datagram.
    MayComeFromCut,
    /// Detection requires all datagrams of a session, for sequence numbers, acks, copies, timing or the state of a
    /// join. Watchers detect such oddities, but rules do not.
    NeedsStream,
}

/// A row of the table of codes.
struct Row {
    name: &'static str,
    severity: Severity,
    place: RangeOf,
    properties: &'static [Property],
    text: &'static str,
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $place:ident [$($property:ident)*] $text:literal)*) => {
        /// The kinds of oddities. One table defines the name, severity, place, properties and text of each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $text] $variant,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        name: $name,
                        severity: Severity::$severity,
                        place: RangeOf::$place,
                        properties: &[$(Property::$property,)*],
                        text: $text,
                    },)*
                }
            }
        }
    };
}

codes! {
    TooShort            "too-short"            Error   Datagram [MayComeFromCut]
        "shorter than a header: the receiver drops the datagram"
    BadHuffman          "bad-huffman"          Error   Datagram [MayComeFromCut]
        "cannot be decompressed: the receiver drops the datagram"
    NotConnected        "not-connected"        Error   Datagram [DropsDatagram]
        "a connless datagram in place of a packet of the connection: the receiver does not accept it as one"
    OverlongInt         "overlong-int"         Info    Message  []
        "an int is longer than needed: receivers read the same value"
    IntPadding          "int-padding"          Warning Message  []
        "the fifth byte of an int has surplus bits: versions read different values"
    UnknownFlags        "unknown-flags"        Warning Datagram [MayLoseChunks ByRelease]
        "header bits that no sender of this version sets: DDNet since 19.4 drops the datagram, others interpret them differently"
    Oversized           "oversized"            Error   Datagram [MayLoseChunks]
        "longer than 1400 bytes: receivers see only the first 1400"
    PayloadOversized    "payload-oversized"    Error   Payload  [DropsDatagram]
        "more payload than receivers of this version accept"
    HuffmanSurplus      "huffman-surplus"      Warning Datagram [MayLoseChunks Idle]
        "bytes after the end of the compressed data: receivers ignore them"
    ControlCompressed   "control-compressed"   Warning Datagram [ByRelease]
        "a compressed control packet: DDNet drops it"
    ControlWithChunks   "control-with-chunks"  Warning Datagram [ByRelease]
        "a control packet that announces chunks: DDNet since 19.4 drops it, others read chunks from it"
    ControlEmpty        "control-empty"        Error   Payload  [ByRelease MayComeFromCut]
        "a control packet without an id: DDNet since 19.4 drops it, others may read a leftover byte"
    UnknownControl      "unknown-control"      Warning Payload  []
        "a control id that this version does not have: receivers ignore it"
    EmptyNoResend       "empty-without-resend" Warning Datagram [MayLoseChunks ByRelease]
        "announces no chunks and requests no resend: DDNet since 19.4 drops it"
    ChunkTruncated      "chunk-truncated"      Error   Payload  [MayLoseChunks MayComeFromCut]
        "a chunk runs past the end of the payload: it and all after it are lost"
    ChunkCountTooHigh   "chunk-count-too-high" Error   Datagram [MayLoseChunks MayComeFromCut]
        "fewer chunks than the header announces: the receiver reads those that are present"
    ChunkSizeCut        "chunk-size-cut"       Error   Payload  [MayLoseChunks]
        "1024 bytes follow the last chunk: its size did not fit in 10 bits, so receivers see only its start"
    ChunkCountCut       "chunk-count-cut"      Error   Datagram [MayLoseChunks]
        "256 more chunks than the header announces: their number did not fit in a byte, so receivers miss them"
    ChunkOfOtherVersion "chunk-of-other-version" Error   Datagram [NeedsStream]
        "chunk headers of the other version: the receiver splits the payload in other places"
    ChunkSizeWithHeader "chunk-size-with-header" Error   Datagram [NeedsStream]
        "chunk sizes that include the chunk header: the receiver reads each chunk too far"
    ChunkHeaderLength   "chunk-header-length"  Error   Datagram [NeedsStream]
        "chunk headers with a number in chunks that are not vital, or without one in vital chunks: the receiver splits the payload in other places"
    ChunkCountTooLow    "chunk-count-too-low"  Error   Datagram [NeedsStream]
        "more chunks than the header announces: the receiver reads only the announced ones"
    CompressionUnmarked "compression-unmarked" Error   Datagram [NeedsStream]
        "a compressed payload without the compression flag: the receiver parses the compressed bytes"
    TrailingBytes       "trailing-bytes"       Warning Payload  []
        "bytes after the last announced chunk: receivers ignore them"
    MissingToken        "missing-token"        Error   Payload  [DropsDatagram MayComeFromCut]
        "the token that this version requires is missing: the receiver drops the datagram"
    TokenReversed       "token-reversed"       Info    Payload  [NeedsStream]
        "the token with its bytes reversed: the games do not read it here, other programs may"
    WrongToken          "wrong-token"          Error   Datagram [DropsDatagram]
        "the token does not belong to this leg: the receiver drops the datagram"
    AckAhead            "ack-ahead"            Error   Datagram [DropsDatagram]
        "acks a chunk that was never sent: the receiver drops the datagram"
    AckBehind           "ack-behind"           Error   Datagram [DropsDatagram]
        "acks fewer chunks than before: the receiver drops the datagram"
    AckGap              "ack-gap"              Warning Datagram [NeedsStream]
        "acks beyond a number that was not received: its sender never retransmits that chunk"
    AckStuck            "ack-stuck"            Error   Datagram [NeedsStream]
        "does not ack vital chunks that it receives: their sender retransmits them and ends the connection"
    NotInflated         "not-inflated"         Error   Datagram [NeedsStream]
        "acks no vital chunk that was sent compressed, only others: does it inflate datagrams?"
    Overtaken           "overtaken"            Info    Datagram [DropsDatagram OfNetwork NeedsStream]
        "older than the datagrams received before it: the network changed the order, the receiver drops it"
    SeqAhead            "seq-ahead"            Info    Payload  [DropsMessage OfNetwork NeedsStream]
        "ahead of a missing number: the receiver drops the chunk and requests a resend"
    SeqAgain            "seq-again"            Info    Payload  [OfNetwork NeedsStream]
        "a number that was sent before: a receiver that has the chunk drops the copy"
    SeqBehind           "seq-behind"           Error   Payload  [DropsMessage NeedsStream]
        "a new message with an old number: the receiver mistakes it for a retransmission and drops it"
    SeqGap              "seq-gap"              Error   Datagram [NeedsStream]
        "a number is never sent: the receiver drops all vital chunks after it"
    ResendRequest       "resend-request"       Info    Datagram [OfNetwork NeedsStream]
        "requests all vital chunks after its ack"
    ResendUnmarked      "resend-unmarked"      Warning Payload  [NeedsStream]
        "retransmitted without the resend flag: some receivers count it as a new chunk"
    ResendChanged       "resend-changed"       Error   Payload  [DropsMessage NeedsStream]
        "another message with a number that was sent before: the receiver drops it as a retransmission"
    ResendStorm         "resend-storm"         Warning Payload  [Idle NeedsStream]
        "retransmitted more often than the game's timer and requests explain: the receiver drops each copy"
    ResendNeedless      "resend-needless"      Warning Datagram [Idle NeedsStream]
        "requests more resends than missing chunks explain: the receiver answers each with all unacked chunks"
    ResendMissing       "resend-missing"       Warning Datagram [NeedsStream]
        "does not retransmit an unacked vital chunk: the receiver waits for it and drops all later ones"
    ResendAcked         "resend-acked"         Warning Payload  [Idle NeedsStream]
        "retransmits a chunk that was acked: the receiver drops each copy"
    Amplified           "amplified"            Warning Datagram [Idle NeedsStream]
        "a reply much larger than its request: requests with a forged address flood that address"
    OtherSession        "other-session"        Error   Datagram [NeedsStream]
        "a part of another session: the receiver drops it"
    MapAgain            "map-again"            Warning Payload  [NeedsStream]
        "the same map change under a new number while the client loads the map: the client starts over"
    BadHandshake        "bad-handshake"        Error   Datagram [NeedsStream]
        "a handshake packet with a wrong token or size: its receiver ignores it, or answers in a way that does not fit the client"
    MapPartWrong        "map-part-wrong"       Error   Payload  [NeedsStream]
        "a part of the map that does not fit the announced map: the client does not get the whole map"
    MapDiffers          "map-differs"          Error   Payload  [NeedsStream]
        "the parts of the map are not the announced map: a client that compares them closes the connection"
    MapDetailsDiffer    "map-details-differ"   Warning Payload  [NeedsStream]
        "another map than in map_details: a client of DDNet ignores the details, so it does not check the digest"
    MapRequestWrong     "map-request-wrong"    Warning Payload  [NeedsStream]
        "a request for a part of the map that clients of the games do not send at this point"
    MapReadyEarly       "map-ready-early"      Warning Payload  [NeedsStream]
        "ready without the whole map that it has requested: the server lets the client go on without the map"
    OutOfTurn           "out-of-turn"          Warning Payload  [NeedsStream]
        "a message of a join at a point where the games ignore it, or never send it"
    WrongVersion        "wrong-version"        Warning Payload  [NeedsStream]
        "another version of the game: servers of the games close the connection"
    RconUnauthed        "rcon-unauthed"        Warning Payload  [NeedsStream]
        "a command of the console without a login: servers of the games ignore it"
    LateReply           "late-reply"           Warning Payload  [Idle NeedsStream]
        "a reply half a second late: it waited until its connection was flushed, or its sender was busy"
    KeepaliveLate       "keepalive-late"       Info    Datagram [OfNetwork NeedsStream]
        "no datagram from this peer for longer than the interval between two keepalives"
    CutByCapture        "cut-by-capture"       Warning Datagram [OfNetwork]
        "the recording holds only the first bytes of the datagram"
    UnknownMessage      "unknown-message"      Warning Message  []
        "no definition has this id: most receivers ignore it"
    WrongId             "wrong-id"             Error   Payload  [NeedsStream]
        "the bytes of another message than its id says: the receiver reads them as the message of the id, or ignores them"
    FieldsOfOtherVersion "fields-of-other-version" Error   Payload  [NeedsStream]
        "the fields of the other version: the receiver reads other values, or drops the message"
    FieldsMisplaced     "fields-misplaced"     Error   Payload  [NeedsStream]
        "a field left out or fields in another order: the receiver reads other values, or drops the message"
    OtherEncoding       "other-encoding"       Error   Payload  [NeedsStream]
        "ints or texts in another encoding: the receiver reads other values, or drops the message"
    WrongDirection      "wrong-direction"      Warning Message  [DropsMessage]
        "a message of the other direction: the receiver ignores it or reads it as another one"
    NotVital            "not-vital"            Warning Message  []
        "not vital: the receiver ignores it"
    UnexpectedVital     "unexpected-vital"     Warning Message  []
        "vital, unlike the reference: some receivers ignore it"
    MissingField        "missing-field"        Error   Message  [DropsMessage MayComeFromCut]
        "the message ends before this field: most receivers drop it"
    SurplusBytes        "surplus-bytes"        Info    Message  []
        "bytes after the last known field: receivers ignore them"
    UnterminatedText    "unterminated-text"    Error   Message  [DropsMessage MayComeFromCut]
        "text without a NUL: the receiver drops the message"
    InvalidUtf8         "invalid-utf8"         Warning Message  [MayComeFromCut]
        "text that is not UTF-8: DDNet since 18.0 drops the message"
    TextCleaned         "text-cleaned"         Info    Message  []
        "text with bytes that the receiver replaces or skips"
    TextTooLong         "text-too-long"        Info    Message  []
        "text longer than the receiver keeps"
    OutOfRange          "out-of-range"         Warning Message  []
        "a value outside its range: receivers may drop it"
    UnknownValue        "unknown-value"        Info    Message  []
        "a value without a name"
    UnknownBits         "unknown-bits"         Info    Message  []
        "flags without a name"
    BadDecimal          "bad-decimal"          Warning Message  [MayComeFromCut]
        "not a plain decimal number: receivers read what they can, or 0"
    UnexpectedBytes     "unexpected-bytes"     Warning Message  []
        "bytes that differ from the fixed value of this field: the receiver assumes another version"
    ObjectShort         "object-short"         Warning Message  []
        "an object with fewer ints than its fields need: receivers drop it, or read it as zeros"
    ObjectLong          "object-long"          Info    Message  []
        "an object with more ints than it has known fields"
    TooManyFields       "too-many-fields"      Warning Message  [Idle]
        "more values than teetap lists: receivers read them all"
    SnapIgnored         "snap-ignored"         Error   Message  []
        "an invalid part number: the client ignores the part"
    SnapPartAgain       "snap-part-again"      Info    Message  [OfNetwork]
        "a part that was received before"
    SnapPartShort       "snap-part-short"      Error   Message  []
        "a part of less than 900 bytes before the last one: the client reads leftover bytes"
    SnapPartsDiffer     "snap-parts-differ"    Warning Message  []
        "differs from the other parts of the snapshot: the client takes the value of the last one"
    SnapPartsMissing    "snap-parts-missing"   Warning Message  [OfNetwork]
        "the previous snapshot is incomplete: the client drops it"
    SnapLate            "snap-late"            Info    Message  [OfNetwork]
        "older than the newest snapshot: a client that has received the newest ignores it"
    SnapAgain           "snap-again"           Info    Message  [OfNetwork]
        "a snapshot that was received before"
    SnapEmptyUnacked    "snap-empty-unacked"   Warning Message  [Idle]
        "has acked none of at least 25 empty snapshots: the server assumes that they are lost"
    SnapUnacked         "snap-unacked"         Warning Message  [Idle]
        "has acked none of the sent snapshots in at least 25 inputs: the server sends complete snapshots"
    InputLate           "input-late"           Warning Message  [Idle]
        "inputs for past ticks: the server applies each in its next tick, so jumps and shots are late"
    InputAhead          "input-ahead"          Error   Payload  [NeedsStream]
        "inputs for ticks that are far ahead: the server overwrites each before its tick, so the player does not move"
    InputStuck          "input-stuck"          Warning Payload  [Idle NeedsStream]
        "the tick of the inputs never advances: the server applies each in its next tick, so jumps and shots are late"
    SnapAckAhead        "snap-ack-ahead"       Error   Payload  [NeedsStream]
        "acks snapshots that were not sent yet: DDNet since 19.9 drops the input, other servers send complete snapshots"
    SnapAckOld          "snap-ack-old"         Warning Payload  [Idle NeedsStream]
        "acks an old snapshot or none although it can read newer ones: the server drops that snapshot and sends complete ones"
    SnapAckIgnored      "snap-ack-ignored"     Warning Payload  [Idle NeedsStream]
        "complete snapshots although the client acks them: they are larger than differences"
    SnapTickBack        "snap-tick-back"       Error   Payload  [NeedsStream]
        "the ticks of snapshots go back: the client ignores every snapshot before the newest"
    SnapPartNever       "snap-part-never"      Error   Payload  [NeedsStream]
        "a part of each snapshot is never sent: the client drops all of them"
    SnapNoBase          "snap-no-base"         Error   Message  []
        "relative to an unknown snapshot: a client that lacks it requests a complete one"
    SnapBadCrc          "snap-bad-crc"         Error   Message  []
        "the sum of all ints is wrong: the client discards the snapshot"
    SnapTruncated       "snap-truncated"       Error   Message  []
        "the snapshot ends too early: the client discards it"
    SnapTooLarge        "snap-too-large"       Error   Message  []
        "more than 1024 items or 64 KiB: the client discards the snapshot"
    SnapBadItem         "snap-bad-item"        Error   Message  []
        "an invalid type, id or size: the client discards the snapshot"
    SnapItemAgain       "snap-item-again"      Warning Message  [Idle]
        "an item that is changed or deleted more than once: the client applies the last change"
    SnapNotThere        "snap-not-there"       Warning Message  [Idle]
        "deletes an item that does not exist: the client ignores that"
    SnapItemResized     "snap-item-resized"    Error   Message  []
        "an item of another size than before: DDNet discards the snapshot"
    SnapIdReused        "snap-id-reused"       Warning Message  [Idle]
        "an id that another item had shortly before: clients treat both as the same item"
    SnapUndeclared      "snap-undeclared"      Info    Message  []
        "an extended type that its snapshot does not declare: clients ignore the item"
    SnapNearLimit       "snap-near-limit"      Warning Message  [Idle]
        "near 1024 items, 64 KiB or 64 parts: beyond them senders drop items silently"
    UnknownObject       "unknown-object"       Info    Message  []
        "no definition has this type: clients ignore the item"
}

impl Code {
    /// Returns the kebab-case name, which is stable for scripts.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the severity.
    pub const fn severity(self) -> Severity {
        self.row().severity
    }

    /// Returns the data to which the ranges of notes with this code refer.
    pub const fn place(self) -> RangeOf {
        self.row().place
    }

    /// Returns true if the code has the given property.
    pub fn has(self, property: Property) -> bool {
        self.row().properties.contains(&property)
    }

    /// Returns a one-line description.
    pub const fn text(self) -> &'static str {
        self.row().text
    }
}

/// A list of notes, stored inline. Keeps the first eight notes, and records whether there were more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notes {
    // Ranges are stored in 16 bits, which suffice for a UDP datagram and keep packets small, since they are moved
    // often.
    items: [(Code, u16, u16); Self::CAPACITY],
    len: u8,
    overflowed: bool,
}

impl Notes {
    /// Maximum number of stored notes. Further notes only set [`Notes::overflowed`].
    pub(crate) const CAPACITY: usize = 8;

    /// Creates an empty list.
    pub const fn new() -> Self {
        Self {
            items: [(Code::OverlongInt, 0, 0); Self::CAPACITY],
            len: 0,
            overflowed: false,
        }
    }

    /// Adds a note, or marks the list as overflowed. Ranges saturate at 65535.
    pub fn push(&mut self, note: Note) {
        let short = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        match self.items.get_mut(usize::from(self.len)) {
            Some(slot) => {
                *slot = (note.code, short(note.at), short(note.len));
                self.len += 1;
            }
            None => self.overflowed = true,
        }
    }

    /// Adds a note that hostile bytes can cause repeatedly. Leaves two places free for more important notes.
    pub(crate) fn push_lesser(&mut self, note: Note) {
        if self.len() + 2 < Self::CAPACITY {
            self.push(note);
        } else {
            self.overflowed = true;
        }
    }

    /// Adds all notes of `other`.
    pub fn extend(&mut self, other: &Self) {
        other.iter().for_each(|note| self.push(note));
        self.overflowed |= other.overflowed;
    }

    /// Returns the notes in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = Note> + '_ {
        let kept = self.items.iter().take(usize::from(self.len));
        kept.map(|&(code, at, len)| Note {
            code,
            at: usize::from(at),
            len: usize::from(len),
        })
    }

    /// Returns true if there are no notes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of stored notes, 0 to eight.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns true if there were more notes than the list keeps.
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Returns true if a stored note has this code.
    pub fn contains(&self, code: Code) -> bool {
        self.iter().any(|note| note.code == code)
    }
}

impl Default for Notes {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(code: Code, at: usize, len: usize) -> Note {
        Note { code, at, len }
    }

    #[test]
    fn names_are_kebab_case_and_unique() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        }));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn keeps_eight_and_marks_more() {
        let mut notes = Notes::new();
        assert!(notes.is_empty());
        for at in 0..8 {
            notes.push(note(Code::TrailingBytes, at, 1));
        }
        assert!(!notes.overflowed());
        notes.push(note(Code::WrongToken, 0, 4));
        assert!(notes.overflowed() && notes.len() == 8 && !notes.contains(Code::WrongToken));
        assert_eq!(
            notes.iter().map(|note| note.at).collect::<Vec<_>>(),
            (0..8).collect::<Vec<_>>()
        );
    }

    #[test]
    fn extend_keeps_order_and_overflow() {
        let mut one = Notes::new();
        one.push(note(Code::AckAhead, 0, 2));
        let mut two = Notes::new();
        two.push(note(Code::AckBehind, 70_000, 2));
        one.extend(&two);
        let got: Vec<_> = one.iter().map(|note| (note.code, note.at)).collect();
        assert_eq!(got, [(Code::AckAhead, 0), (Code::AckBehind, 65_535)]);
        let mut full = Notes::new();
        (0..9).for_each(|at| full.push(note(Code::TrailingBytes, at, 0)));
        one.extend(&full);
        assert!(one.overflowed() && one.len() == 8);
    }
}

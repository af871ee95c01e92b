//! The possible actions of a receiver on a datagram, a control message or a chunk.

/// One action of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Drops the datagram, or the rest of it, silently.
    Drops,
    /// Accepts the ack of the header and releases the chunks that it covers.
    TakesAck,
    /// Retransmits all its unacked vital chunks.
    Resends,
    /// Hands a datagram outside a connection to the server browser.
    HandsOver,
    /// Sends an answer.
    Answers(Answer),
    /// Sends a CLOSE with this reason and keeps no connection.
    Refuses(Refusal),
    /// Gives the client a slot.
    Opens,
    /// Treats the connection as established.
    GoesOnline,
    /// Restarts its numbering and the join.
    Restarts,
    /// Writes another token into its datagrams from now on.
    TakesToken,
    /// Ends the connection, without an answer.
    Ends,
    /// Does nothing with a control message; the datagram counts as a sign of life.
    Ignores,
    /// Reads a byte of an earlier datagram as the id of an empty control packet.
    ReadsLeftover,
    /// May end the program.
    Crashes,
    /// Accepts a chunk. If the chunk is vital, later datagrams ack it.
    Accepts,
    /// Drops a vital chunk that it already has.
    DropsRepeat,
    /// Drops a vital chunk after a gap, and asks for a resend with its next datagram.
    AsksResend,
    /// Ignores the rest of the datagram.
    IgnoresRest,
}

impl Verdict {
    /// Returns a description, such as `drops the datagram`.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Drops => "drops the datagram",
            Self::TakesAck => "accepts the ack",
            Self::Resends => "retransmits all unacked chunks",
            Self::HandsOver => "hands it to the server browser",
            Self::Answers(answer) => answer.text(),
            Self::Refuses(refusal) => refusal.text(),
            Self::Opens => "gives the client a slot",
            Self::GoesOnline => "goes online",
            Self::Restarts => "restarts the join and the numbering",
            Self::TakesToken => "switches to the token of the message",
            Self::Ends => "ends the connection silently",
            Self::Ignores => "ignores the message",
            Self::ReadsLeftover => "reads a leftover byte as the id",
            Self::Crashes => "may crash",
            Self::Accepts => "accepts the chunk",
            Self::DropsRepeat => "drops the chunk, which it already has",
            Self::AsksResend => "drops the chunk and requests a resend",
            Self::IgnoresRest => "ignores the rest",
        }
    }
}

/// An answer of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// CONNECTACCEPT; 0.7 calls it ACCEPT.
    ConnectAccept,
    /// ACCEPT of a client of 0.6.
    Accept,
    /// CONNECT of a client of 0.7 that has received its token.
    Connect,
    /// TOKEN of a server of 0.7.
    Token,
    /// CONNECTACCEPT without a token, and a datagram with a map and three empty snapshots whose tick is a secret.
    Challenge,
}

impl Answer {
    const fn text(self) -> &'static str {
        match self {
            Self::ConnectAccept => "answers with CONNECTACCEPT",
            Self::Accept => "answers with ACCEPT",
            Self::Connect => "answers with CONNECT",
            Self::Token => "answers with TOKEN",
            Self::Challenge => "answers with a challenge in empty snapshots",
        }
    }
}

/// The reason of a CLOSE with which a server refuses a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The address is banned. The text names the reason and the time.
    Banned,
    /// All slots are in use.
    Full,
    /// Too many clients have the same address.
    PerAddress,
    /// Too many connections were opened in a short time.
    TooFast,
    /// The server accepts no clients of 0.7.
    NoSeven,
}

impl Refusal {
    /// Returns the reason in the CLOSE, with `N` for a number; for a ban, a word that all reasons contain.
    pub(super) fn reason(self) -> &'static str {
        self.text().split('"').nth(1).unwrap_or("banned")
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Banned => "answers with CLOSE and the ban",
            Self::Full => "answers with CLOSE \"This server is full\"",
            Self::PerAddress => "answers with CLOSE \"Only N players with the same IP are allowed\"",
            Self::TooFast => "answers with CLOSE \"Too many connections in a short time\"",
            Self::NoSeven => "answers with CLOSE \"0.7 connections are not accepted at this time\"",
        }
    }
}

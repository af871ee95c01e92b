//! Notices: what the proxy reports besides the traffic.
//!
//! One table has the kind, the level, the values and the sentence of each. The kind and the names of the values are the
//! names in recordings and JSON lines: they are stable, kinds and values may be added.

use std::{borrow::Cow, fmt, net::SocketAddr, num::NonZeroU32, time::Duration};

use teetap_wire::{Dir, Proto, Side, def::Secrets, printable};

use super::{
    datagram::readable,
    family::Family,
    stranger::{Sentence, Stranger, start},
    waiting::Gone,
};
use crate::words::{Word, Words};

/// The level of a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// An event that explains what follows.
    #[default]
    Info,
    /// Something is probably wrong.
    Warning,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
        })
    }
}

impl Words for Level {
    const ALL: &'static [Self] = &[Self::Info, Self::Warning];
}

/// Makes the enum of a table: `Variant "kind" Level { values } => "sentence", arguments;`.
macro_rules! notices {
    ($(
        $(#[$doc:meta])*
        $variant:ident $kind:literal $level:ident
        $({ $($(#[$meta:meta])* $field:ident: $type:ty,)* })?
        => $text:literal $(, $name:ident = $arg:expr)*;
    )*) => {
        /// One thing that the proxy reports besides the traffic.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize), serde(tag = "kind"))]
        pub enum Notice {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "io", serde(rename = $kind))]
                $variant $({ $($(#[$meta])* $field: $type,)* })?,
            )*
            /// A notice that was recorded by another version: of a kind that is not known here, or from before there
            /// were kinds.
            #[cfg_attr(feature = "io", serde(untagged))]
            Other {
                /// The kind; `None` in recordings from before there were kinds.
                kind: Option<Box<str>>,
                /// The level.
                #[cfg_attr(feature = "io", serde(skip))]
                level: Level,
                /// The sentence.
                #[cfg_attr(feature = "io", serde(skip))]
                text: Box<str>,
            },
        }

        impl Notice {
            /// Every kind with its level and its sentence, in which the values are in braces.
            pub const KINDS: &'static [(&'static str, Level, &'static str)] =
                &[$(($kind, Level::$level, $text),)*];

            /// The name of its kind; `None` for one that was recorded before there were kinds.
            #[must_use]
            pub fn kind(&self) -> Option<&str> {
                match self {
                    $(Self::$variant { .. } => Some($kind),)*
                    Self::Other { kind, .. } => kind.as_deref(),
                }
            }

            /// The level of its kind.
            #[must_use]
            pub fn level(&self) -> Level {
                match self {
                    $(Self::$variant { .. } => Level::$level,)*
                    Self::Other { level, .. } => *level,
                }
            }
        }

        /// The sentence of its kind. Texts of peers and rules in it are in a form safe to show.
        impl fmt::Display for Notice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let sentence = match self {
                    $(Self::$variant { $($($field,)*)? } => {
                        // A sentence need not name every value.
                        $($(let _ = $field;)*)?
                        format!($text $(, $name = $arg)*)
                    })*
                    Self::Other { text, .. } => text.to_string(),
                };
                f.write_str(&printable(sentence.as_bytes()))
            }
        }
    };
}

notices! {
    /// The server has not answered for this long: it answers no CONNECT, or has stopped sending.
    UpstreamSilent "upstream_silent" Warning {
        /// For how long.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        time: Duration,
    } => "the server has not answered for {for_s} s", for_s = time.as_secs();

    /// No program listens on the server's port, or the network fails.
    UpstreamUnreachable "upstream_unreachable" Warning {
        /// The error of the operating system.
        error: Box<str>,
    } => "the server is unreachable: {error}";

    /// No upstream socket could be opened.
    UpstreamFailed "upstream_failed" Warning {
        /// The error of the operating system.
        error: Box<str>,
    } => "cannot open a socket to the server: {error}";

    /// A datagram from an address without a session, which opens none.
    UnknownSender "unknown_sender" Info {
        /// The sender.
        client: SocketAddr,
        /// Bytes received.
        len: usize,
        /// The kind of datagram.
        #[cfg_attr(feature = "io", serde(default, with = "crate::words"))]
        what: Stranger,
        /// The first bytes in hex, at most 16; empty if a recording lacks them.
        #[cfg_attr(feature = "io", serde(default))]
        start: Box<str>,
        /// The bytes that receivers would read; empty where a recording lacks them.
        #[cfg_attr(feature = "io", serde(skip))]
        bytes: Box<[u8]>,
    } => "{client} sent {sentence}", sentence = Sentence { what: *what, len: *len, start };

    /// A client requested a protocol that `--proto` refuses.
    ProtocolRefused "protocol_refused" Warning {
        /// The client.
        client: SocketAddr,
        /// The protocol that it requested.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
    } => "{client} requested {proto}, which --proto refuses";

    /// A client whose requests the server does not understand.
    OtherProtocol "other_protocol" Warning {
        /// The client.
        client: SocketAddr,
        /// The protocol of the client.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        client_speaks: Family,
        /// The only protocol of the server.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        server_speaks: Family,
    } => "{client} speaks {client_speaks}; the server speaks only {server_speaks}, and does not answer";

    /// A CONNECT or TOKEN on a session that is online; the new session waits beside the old one until it proves itself.
    Candidate "candidate" Info
        => "CONNECT during a session: its new session waits beside the old one until it proves itself";

    /// The client restarted on its port; the candidate replaces the session.
    Restart "restart" Info => "the client restarted on the same port: its new session replaces the old one";

    /// A CONNECT of 0.7 names another token than the TOKEN request of its client.
    OtherName "other_name" Info
        => "CONNECT names another token than the TOKEN request: the server sends everything to that one";

    /// A join with a legacy or anti-spoof handshake: nothing is changed until it is over.
    LegacyJoin "legacy_join" Info
        => "the server begins with a challenge: rules change nothing, and nothing is injected, until it acks the client";

    /// The lone ACCEPT of a DDNet client was sent to the server again.
    AcceptRepeated "accept_repeated" Warning => "the server has not answered: ACCEPT was sent again";

    /// A direction is renumbered from now on.
    Renumbered "renumbered" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
    } => "{dir} is renumbered from now on";

    /// A message is held by `pause`: a command releases, edits or drops it.
    Held "held" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
        /// The number under which it is held.
        held: NonZeroU32,
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The longest time.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        max: Duration,
    } => "rule {rule:?} holds message {held} of {dir} for up to {for_s} s", for_s = max.as_secs_f64();

    /// A message is held no more: it goes on, or it was dropped. For messages of `pause`, those that a command released,
    /// edited or dropped, and those for which nothing came that `hold` waited for.
    Released "released" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
        /// The number under which it was held.
        held: NonZeroU32,
        /// The reason.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        why: Gone,
        /// True if its bytes were replaced.
        edited: bool,
    } => "message {held} of {dir} is held no more: {why}{how}", how = if *edited { ", edited" } else { "" };

    /// The hold queue of a direction is full; messages are neither held nor acked, so their sender sends them again.
    HoldFull "hold_full" Warning {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
    } => "the hold queue of {dir} is full: messages are refused until it has room";

    /// Too many bytes wait in the link of a direction; datagrams are dropped.
    LinkFull "link_full" Warning {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
    } => "the link of {dir} is full: datagrams are dropped until it has room";

    /// A message could not be injected.
    InjectRefused "inject_refused" Warning {
        /// The cause.
        why: Cow<'static, str>,
    } => "cannot inject a message: {why}";

    /// Rules are set. Messages refer to them by their index.
    RulesSet "rules_set" Info {
        /// The name of each rule, or its text, in the order in which they are tried.
        rules: Vec<Box<str>>,
    } => "{count} set", count = match rules.len() {
        1 => "1 rule is".to_owned(),
        count => format!("{count} rules are"),
    };

    /// A rule could not do its action. The message passes without it.
    RuleFailed "rule_failed" Warning {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The cause.
        why: Box<str>,
    } => "rule {rule:?}: {why}";

    /// A rule reports a text.
    RuleLog "rule_log" Info {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The text of the rule, with dots for secrets.
        logged: Box<str>,
        /// The text with its secrets, if it has any. No file has it.
        #[cfg_attr(feature = "io", serde(skip))]
        whole: Option<Box<str>>,
    } => "rule {rule:?}: {logged}";

    /// A rule has failed the run: `fail`, or a message that it expected did not come.
    AssertionFailed "assertion_failed" Warning {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// True if an expected message did not come.
        expected: bool,
        /// The text of `fail`, or the sentence about the expected message.
        why: Box<str>,
        /// The direction of the message that the rule acted on; `None` for a rule without a condition.
        dir: Option<Word<Dir>>,
        /// The name of that message.
        message: Option<Box<str>>,
    } => "rule {rule:?} fails the run: {why}";

    /// A rule ends the run with an exit code: `exit`.
    ExitRequested "exit_requested" Info {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The exit code: 0, or 10 to 99.
        exit: u8,
        /// The direction of the message that the rule acted on; `None` for a rule without a condition.
        dir: Option<Word<Dir>>,
        /// The name of that message.
        message: Option<Box<str>>,
    } => "rule {rule:?} ends the run with exit code {exit}";

    /// The server is made to send a complete snapshot: acks are removed from the client's inputs.
    Resync "resync" Info
        => "resync: the acks of snapshots are removed from inputs until the server sends a complete one";

    /// The server sent a complete snapshot.
    Resynced "resynced" Info => "resync: the server sent a complete snapshot";

    /// The server sent no complete snapshot, or cannot be made to.
    ResyncRefused "resync_refused" Warning {
        /// The cause.
        why: Cow<'static, str>,
    } => "resync failed: {why}";

    /// CLOSE within a second of CONNECT: 0.6.4 and 0.7 servers ban the address for it.
    EarlyClose "early_close" Warning
        => "CLOSE within 1 s of CONNECT: 0.6.4 and 0.7 servers ban the address for that (not localhost)";

    /// A login stands still: nothing of the join has come for a second. Watchers find it in the events of the session; the core
    /// does not emit it.
    LoginStalled "login_stalled" Warning {
        /// The last message of the join; `None` if there was none.
        after: Option<Box<str>>,
        /// True if its receiver has acked it; `None` if it is not vital.
        acked: Option<bool>,
        /// The side that is to send the next message.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        from: Side,
        /// The name of that message.
        waits_for: Box<str>,
        /// The reason why it does not count, if it was sent.
        why: Option<Box<str>>,
        /// True if a rule or a link line kept it back.
        #[cfg_attr(feature = "io", serde(default))]
        kept: bool,
    } => "the login stands still: {place}", place = place(after.as_deref(), *acked, *from, waits_for, why.as_deref());

    /// Nothing has come from a peer for a while, although datagrams were sent to it. Watchers find it in the events of the session; the core
    /// does not emit it.
    PeerSilent "peer_silent" Warning {
        /// The peer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        side: Side,
        /// The length of the silence.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        time: Duration,
        /// The numbers that were sent to it and that it has not acked; `None` if there are none.
        unacked: Option<Box<str>>,
    } => "nothing came from the {side} for {for_s:.1} s, although datagrams were sent to it{unacked}", for_s = time.as_secs_f64(),
        unacked = unacked.as_ref().map_or(String::new(), |numbers| format!("; sent and not acked: {numbers}"));

    /// A session gave way to another one, since there are too many whose clients are not in the game.
    HalfOpenLimit "half_open_limit" Warning
        => "a limit of the proxy is reached: this session gave way to another one; the server has not ended it";

    /// A CONNECT for which there was no room: the proxy answered it without a session.
    AnsweredByProxy "answered_by_proxy" Warning {
        /// The client.
        client: SocketAddr,
        /// The protocol of the answer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
    } => "a limit of the proxy is reached: the proxy answered the CONNECT of {client} by itself; the server would have got it and {reaction}",
        reaction = if *proto == Proto::V6 { "decided about it" } else { "answered with a token of its own, as it did to others" };

    /// A request for a session, or the first packet after its answer, for which there was no room.
    DroppedByProxy "dropped_by_proxy" Warning {
        /// The client.
        client: SocketAddr,
    } => "a limit of the proxy is reached: the proxy dropped a datagram of {client} that may open a session; the server would have got it";

    /// Too many addresses send outside of sessions: the socket of one was closed before its answer may have come.
    RelayLimit "relay_limit" Warning {
        /// The client.
        client: SocketAddr,
    } => "too many senders outside of sessions: an answer to {client} may be dropped until it sends again; the server would have sent it there";

    /// There were more notices of a kind about strangers than are emitted.
    Suppressed "suppressed" Warning {
        /// The kind.
        of: Box<str>,
        /// The number of those that were not emitted.
        count: u64,
    } => "{count} more notices of the kind {of} in 5 s";

    /// A peer of 0.7 changed its token.
    NewToken "new_token" Info {
        /// The peer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        side: Side,
    } => "the {side} changed its token";

    /// A session of a recording whose handshake was not recorded.
    Guessed "guessed" Info {
        /// The protocol that its datagrams fit best.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
        /// The client.
        client: SocketAddr,
        /// The server.
        server: SocketAddr,
        /// True if its messages show which of the two is the server.
        sides_clear: bool,
    } => "no handshake was recorded: read as {proto}, client {client}, server {server}{guess}",
        guess = if *sides_clear { "" } else { "; the sides are a guess" };

    /// A recording in which datagrams of a session are missing: its acks show that its peers had them.
    Hole "hole" Warning => "the recording lacks datagrams of this session";

    /// A datagram of a recording that is not of this protocol, the first between two addresses.
    Foreign "foreign" Info {
        /// The sender.
        from: SocketAddr,
        /// The receiver.
        to: SocketAddr,
        /// Bytes.
        len: usize,
    } => "{from} sent {to} {len} bytes that are not understood; later ones between them are only counted";

    /// A redirect needed a listen socket, and it is open.
    ListenerOpened "listener_opened" Info {
        /// The server that the redirect named.
        server: SocketAddr,
        /// The proxy's listen socket in front of it.
        listen: SocketAddr,
    } => "redirect: {listen} leads to {server} from now on";

    /// A redirect goes to the client with the port of one of the proxy's listen sockets.
    Redirected "redirected" Info {
        /// The port that the server named.
        port: u16,
        /// The port that the client gets.
        listen: u16,
    } => "redirect to port {port}: the client gets port {listen}, where the proxy listens for it";

    /// A redirect goes to the client unchanged: sessions with that port do not pass the proxy.
    RedirectPasses "redirect_passes" Warning {
        /// The port that the server named.
        port: u16,
        /// Why the proxy has no listen socket for it.
        why: Box<str>,
    } => "redirect to port {port} passes unchanged, so the client may leave the proxy: {why}";
}

impl Notice {
    /// Returns the notice about a datagram of this kind that opens no session.
    #[must_use]
    pub fn unknown_sender(client: SocketAddr, bytes: &[u8], what: Stranger) -> Self {
        let (len, bytes) = (bytes.len(), readable(bytes));
        Self::UnknownSender {
            client,
            len,
            what,
            start: start(what, bytes),
            bytes: bytes.into(),
        }
    }

    /// Returns the notice as a viewer may see it: with the secrets in the text of a rule if they are to be shown.
    #[must_use]
    pub fn seen_with(&self, secrets: Secrets) -> Cow<'_, Self> {
        match self {
            Self::RuleLog {
                rule,
                whole: Some(whole),
                ..
            } if secrets == Secrets::Show => Cow::Owned(Self::RuleLog {
                rule: rule.clone(),
                logged: whole.clone(),
                whole: None,
            }),
            _ => Cow::Borrowed(self),
        }
    }
}

/// Returns the words for the place where a login stands still.
fn place(after: Option<&str>, acked: Option<bool>, from: Side, waits_for: &str, why: Option<&str>) -> String {
    let acked = match acked {
        Some(true) => " (acked)",
        Some(false) => " (not acked)",
        None => "",
    };
    let after = after.map_or(String::new(), |after| format!("after {after}{acked} "));
    let why = why.map_or(String::new(), |why| format!("; {why}"));
    format!(
        "{after}the {} waits for {waits_for} from the {from}{why}",
        from.other()
    )
}

#[cfg(all(test, feature = "io"))]
#[path = "notice_tests.rs"]
mod tests;

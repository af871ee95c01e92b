//! Notices: reports of the proxy that are not about a single datagram.
//!
//! One table defines the kind, level, values and sentence of each notice. Recordings and JSON lines use the
//! names of kinds and values, so these names are stable; new kinds and values may be added.

use std::{borrow::Cow, fmt, net::SocketAddr, num::NonZeroU32, time::Duration};

use teetap_wire::{Dir, Proto, Side, def::Secrets, printable};

use super::{
    datagram::readable,
    family::Family,
    stranger::{OpensNothing, Sentence, start},
    waiting::ReleaseReason,
};
use crate::words::Word;

/// The level of a notice.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Level {
    /// An event that explains later ones.
    #[default]
    Info,
    /// Something is probably wrong.
    Warning,
}

/// Defines the enum from a table: `Variant "kind" Level { values } => "sentence", arguments;`.
macro_rules! notices {
    ($(
        $(#[$doc:meta])*
        $variant:ident $kind:literal $level:ident
        $({ $($(#[$meta:meta])* $field:ident: $type:ty,)* })?
        => $text:literal $(, $name:ident = $arg:expr)*;
    )*) => {
        /// A report of the proxy that is not about a single datagram.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "io", derive(serde::Serialize, serde::Deserialize), serde(tag = "kind"))]
        pub enum Notice {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "io", serde(rename = $kind))]
                $variant $({ $($(#[$meta])* $field: $type,)* })?,
            )*
            /// A notice that another version recorded: its kind is unknown to this version, or it was
            /// recorded before kinds existed.
            #[cfg_attr(feature = "io", serde(untagged))]
            Other {
                /// The kind; `None` in recordings from before kinds existed.
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
            /// The kind, level and sentence of each notice. Values in a sentence are in braces.
            pub const KINDS: &'static [(&'static str, Level, &'static str)] =
                &[$(($kind, Level::$level, $text),)*];

            /// Returns the name of the kind; `None` for a notice that was recorded before kinds existed.
            #[must_use]
            pub fn kind(&self) -> Option<&str> {
                match self {
                    $(Self::$variant { .. } => Some($kind),)*
                    Self::Other { kind, .. } => kind.as_deref(),
                }
            }

            /// Returns the level of the kind.
            #[must_use]
            pub fn level(&self) -> Level {
                match self {
                    $(Self::$variant { .. } => Level::$level,)*
                    Self::Other { level, .. } => *level,
                }
            }
        }

        /// Writes the sentence of the kind. Texts of peers and rules in it are escaped so that they are safe
        /// to display.
        impl fmt::Display for Notice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let sentence = match self {
                    $(Self::$variant { $($($field,)*)? } => {
                        // A sentence may leave out values.
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
    /// The server has not answered a CONNECT, or has sent nothing, for this long.
    UpstreamSilent "upstream_silent" Warning {
        /// Duration of the silence.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        time: Duration,
    } => "the server has not answered for {for_s} s", for_s = time.as_secs();

    /// No program listens on the server's port, or the network fails.
    UpstreamUnreachable "upstream_unreachable" Warning {
        /// The error of the operating system.
        error: Box<str>,
    } => "the server is unreachable: {error}";

    /// An upstream socket could not be opened.
    UpstreamFailed "upstream_failed" Warning {
        /// The error of the operating system.
        error: Box<str>,
    } => "cannot open a socket to the server: {error}";

    /// A datagram that opens no session, from an address without one.
    UnknownSender "unknown_sender" Info {
        /// The sender.
        client: SocketAddr,
        /// Size of the datagram in bytes.
        len: usize,
        /// The kind of datagram.
        #[cfg_attr(feature = "io", serde(default, with = "crate::words"))]
        what: OpensNothing,
        /// The first bytes in hex, at most 16; empty if the recording lacks them.
        #[cfg_attr(feature = "io", serde(default))]
        start: Box<str>,
        /// The bytes that receivers would read; empty if the recording lacks them.
        #[cfg_attr(feature = "io", serde(skip))]
        bytes: Box<[u8]>,
    } => "{client} sent {sentence}", sentence = Sentence { what: *what, len: *len, start };

    /// A client requested a protocol that `--proto` refuses.
    ProtocolRefused "protocol_refused" Warning {
        /// The client.
        client: SocketAddr,
        /// The protocol that the client requested.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
    } => "{client} requested {proto}, which --proto refuses";

    /// A client requests a session in a protocol that the server does not speak.
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

    /// A CONNECT from a client that has a session. The new session waits beside the old one until its client
    /// proves its address.
    Candidate "candidate" Info
        => "CONNECT during a session: a new session waits beside the old one until its client proves its address";

    /// The client restarted on its port: a new session replaces the old one, or the sequence numbers of the
    /// session begin anew.
    Restart "restart" Info => "the client restarted on the same port: its new session replaces the old one";

    /// A CONNECT of 0.7 names another token than the TOKEN request of the same client.
    OtherName "other_name" Info
        => "CONNECT names another token than the TOKEN request: the server uses that token";

    /// The server opens the join with a legacy or anti-spoof challenge. Rules change nothing until the server
    /// acks the client.
    LegacyJoin "legacy_join" Info
        => "the server begins with a challenge: rules change nothing, and nothing is injected, until it acks the client";

    /// DDNet's ACCEPT, which the client sends once, was sent to the server again.
    AcceptRepeated "accept_repeated" Warning => "the server has not answered: ACCEPT was sent again";

    /// The proxy translates the sequence numbers of a direction from now on.
    Renumbered "renumbered" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
    } => "{dir} is renumbered from now on";

    /// A message is held by `pause` until a command releases, edits or drops it.
    Held "held" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
        /// Number of the held message.
        held: NonZeroU32,
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// Maximum time for which the message is held.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        max: Duration,
    } => "rule {rule:?} holds message {held} of {dir} for up to {for_s} s", for_s = max.as_secs_f64();

    /// A message is no longer held: it was sent or dropped. Reported for messages of `pause`, for messages
    /// that a command released, edited or dropped, and for messages of `hold` whose condition was not met in
    /// time.
    Released "released" Info {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
        /// Number of the message that was held.
        held: NonZeroU32,
        /// The reason.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        why: ReleaseReason,
        /// True if its bytes were replaced.
        edited: bool,
    } => "{outcome} message {held} ({dir}){how}",
        outcome = if *why == ReleaseReason::Dropped { "dropped" } else { "released" },
        how = match (*why == ReleaseReason::Timeout, *edited) {
            (true, true) => " after the maximum time, edited",
            (true, false) => " after the maximum time",
            (false, true) => ", edited",
            (false, false) => "",
        };

    /// The hold queue of a direction is full. Messages are neither held nor acked, so their sender
    /// retransmits them.
    HoldFull "hold_full" Warning {
        /// The direction.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        dir: Dir,
    } => "the hold queue of {dir} is full: messages are refused until it has room";

    /// The link queue of one direction is full: datagrams are dropped.
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

    /// The rules of the run were set. Events refer to a rule by its index.
    RulesSet "rules_set" Info {
        /// The name of each rule, or its text, in the order of evaluation.
        rules: Vec<Box<str>>,
    } => "{count} set", count = match rules.len() {
        1 => "1 rule is".to_owned(),
        count => format!("{count} rules are"),
    };

    /// A rule could not perform its action. The message is forwarded without that action.
    RuleFailed "rule_failed" Warning {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The cause.
        why: Box<str>,
    } => "rule {rule:?}: {why}";

    /// The text of a `log` action.
    RuleLog "rule_log" Info {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The text with its secrets masked.
        logged: Box<str>,
        /// The text with its secrets; `None` if it has none. It is never written to a file.
        #[cfg_attr(feature = "io", serde(skip))]
        whole: Option<Box<str>>,
    } => "rule {rule:?}: {logged}";

    /// A rule failed the run: by `fail`, or because an expected message was not received.
    AssertionFailed "assertion_failed" Warning {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// True if an expected message was not received.
        expected: bool,
        /// The text of `fail`, or the sentence about the expected message.
        why: Box<str>,
        /// The direction of the message that the rule acted on; `None` for a rule without a condition.
        dir: Option<Word<Dir>>,
        /// Name of the message that the rule acted on.
        message: Option<Box<str>>,
    } => "rule {rule:?} fails the run: {why}";

    /// A rule ends the run with an exit code, by `exit`.
    ExitRequested "exit_requested" Info {
        /// The name of the rule, or its text.
        rule: Box<str>,
        /// The exit code: 0, or 10 to 99.
        exit: u8,
        /// The direction of the message that the rule acted on; `None` for a rule without a condition.
        dir: Option<Word<Dir>>,
        /// Name of the message that the rule acted on.
        message: Option<Box<str>>,
    } => "rule {rule:?} ends the run with exit code {exit}";

    /// A user requested a complete snapshot: the proxy removes the snapshot acks from the client's inputs
    /// until the server sends one.
    Resync "resync" Info
        => "resync: snapshot acks are removed from inputs until the server sends a complete snapshot";

    /// The server sent a complete snapshot.
    Resynced "resynced" Info => "resync: the server sent a complete snapshot";

    /// The server sent no complete snapshot, or the request was refused.
    ResyncRefused "resync_refused" Warning {
        /// The cause.
        why: Cow<'static, str>,
    } => "resync failed: {why}";

    /// CLOSE within a second of CONNECT: 0.6.4 and 0.7 servers ban the address for it.
    EarlyClose "early_close" Warning
        => "CLOSE within 1 s of CONNECT: 0.6.4 and 0.7 servers ban the address for that (not localhost)";

    /// A login stalled: no message of the join was sent for a second. Watchers derive this notice from the
    /// events of a session; the core does not emit it.
    LoginStalled "login_stalled" Warning {
        /// The last message of the join; `None` if there was none.
        after: Option<Box<str>>,
        /// True if the receiver has acked that message; `None` if the message is not vital.
        acked: Option<bool>,
        /// The side that has to send the next message.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        from: Side,
        /// Name of the next message.
        waits_for: Box<str>,
        /// The reason why the next message does not count, or was not sent; `None` if unknown.
        why: Option<Box<str>>,
        /// True if the next message was sent, but had no effect for the reason in `why`.
        #[cfg_attr(feature = "io", serde(default))]
        in_vain: bool,
        /// True if a rule or a link line held the next message back.
        #[cfg_attr(feature = "io", serde(default))]
        kept: bool,
    } => "login stalled: {place}", place = place(after.as_deref(), *acked, *from, waits_for, why.as_deref());

    /// A peer has sent nothing for a while, although datagrams were sent to it. Watchers derive this notice
    /// from the events of a session; the core does not emit it.
    PeerSilent "peer_silent" Warning {
        /// The peer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        side: Side,
        /// The length of the silence.
        #[cfg_attr(feature = "io", serde(rename = "for_s", with = "crate::words::seconds"))]
        time: Duration,
        /// Sequence numbers that were sent to the peer and that it has not acked; `None` if there are none.
        unacked: Option<Box<str>>,
    } => "no datagram from the {side} for {for_s:.1} s, although datagrams were sent to it{unacked}", for_s = time.as_secs_f64(),
        unacked = unacked.as_ref().map_or(String::new(), |numbers| format!("; sent and not acked: {numbers}"));

    /// A session was ended to make room for another one, since too many sessions have clients that are not in
    /// the game, or the sockets are used up.
    HalfOpenLimit "half_open_limit" Warning
        => "a limit of the proxy is reached: the proxy ended this session to make room for another one; the server did not end it";

    /// There was no room for the session of a CONNECT, so the proxy answered it without a session.
    AnsweredByProxy "answered_by_proxy" Warning {
        /// The client.
        client: SocketAddr,
        /// The protocol of the answer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
    } => "a limit of the proxy is reached: the proxy answered the CONNECT of {client} by itself; the server would have received it and {reaction}",
        reaction = if *proto == Proto::V6 { "decided about it" } else { "answered with a token of its own, as it did to others" };

    /// A request for a session, or the first packet after its answer, was dropped because there was no room
    /// for the session.
    DroppedByProxy "dropped_by_proxy" Warning {
        /// The client.
        client: SocketAddr,
    } => "a limit of the proxy is reached: the proxy dropped a datagram of {client} that may open a session; the server would have received it";

    /// Too many addresses send outside of sessions. The socket of one was closed, maybe before the answer to
    /// it was received.
    RelayLimit "relay_limit" Warning {
        /// The client.
        client: SocketAddr,
    } => "too many senders outside of sessions: an answer to {client} may be dropped until it sends again; the server would have sent it there";

    /// More notices of a kind about strangers occurred than are emitted.
    Suppressed "suppressed" Warning {
        /// The kind of the suppressed notices.
        of: Box<str>,
        /// Number of suppressed notices.
        count: u64,
    } => "{count} more notices of the kind {of} in 5 s";

    /// A peer of 0.7 changed its token.
    NewToken "new_token" Info {
        /// The peer.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        side: Side,
    } => "the {side} changed its token";

    /// A session of a recording that lacks its handshake.
    Guessed "guessed" Info {
        /// The protocol that fits the recorded datagrams best.
        #[cfg_attr(feature = "io", serde(with = "crate::words"))]
        proto: Proto,
        /// The client.
        client: SocketAddr,
        /// The server.
        server: SocketAddr,
        /// True if the messages show which of the two addresses is the server.
        sides_clear: bool,
    } => "no handshake was recorded: read as {proto}, client {client}, server {server}{guess}",
        guess = if *sides_clear { "" } else { "; the sides are a guess" };

    /// A recording lacks datagrams of a session: acks show that the peers received them.
    Hole "hole" Warning => "the recording lacks datagrams of this session";

    /// The first datagram between two addresses of a recording that is not in this protocol.
    Foreign "foreign" Info {
        /// The sender.
        from: SocketAddr,
        /// The receiver.
        to: SocketAddr,
        /// Size of the datagram in bytes.
        len: usize,
    } => "{from} sent {to} {len} bytes that cannot be parsed; later datagrams between these addresses are only counted";

    /// The listen socket that a redirect needed is open.
    ListenerOpened "listener_opened" Info {
        /// The server that the redirect names.
        server: SocketAddr,
        /// The proxy's listen socket for that server.
        listen: SocketAddr,
    } => "redirect: {listen} now forwards to {server}";

    /// A redirect is forwarded with the port of one of the proxy's listen sockets.
    Redirected "redirected" Info {
        /// The port that the server named.
        port: u16,
        /// The port in the redirect that the client receives.
        listen: u16,
    } => "redirect to port {port}: the client receives port {listen}, where the proxy listens for it";

    /// A redirect is forwarded unchanged, so the client may bypass the proxy.
    RedirectPasses "redirect_passes" Warning {
        /// The port that the server named.
        port: u16,
        /// The reason why the proxy has no listen socket for the port.
        why: Box<str>,
    } => "redirect to port {port} is forwarded unchanged, so the client may bypass the proxy: {why}";
}

impl Notice {
    /// Returns the notice about a datagram of kind `what` that opens no session.
    #[must_use]
    pub fn unknown_sender(client: SocketAddr, bytes: &[u8], what: OpensNothing) -> Self {
        let (len, bytes) = (bytes.len(), readable(bytes));
        Self::UnknownSender {
            client,
            len,
            what,
            start: start(what, bytes),
            bytes: bytes.into(),
        }
    }

    /// Returns the notice for a viewer. Secrets in the text of a rule are included if `secrets` allows it.
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

/// Returns the part of the sentence that says where a login stalled.
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

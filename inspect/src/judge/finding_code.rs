//! The kinds of findings: note codes, and oddities of a session as a whole.

use std::fmt;

use teetap_proxy::session::{Notice, OpensNothing};
use teetap_wire::{Code, Property, Severity, def::suggest};

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// A note of a datagram or a message.
    Note(Code),
    /// An oddity that no single datagram shows.
    FindingCode(FindingCode),
}

/// The faults that may have led to a consequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PossibleCause {
    /// Any earlier fault, except a harmless warning.
    #[default]
    Any,
    /// Any error, and warnings with this topic: it explains why the awaited message failed.
    Only(Topic),
    /// Errors only, because the proxy itself held the message back.
    Proxy,
}

/// The kind of cause of a finding: a mistake of a peer, an earlier mistake, or the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A peer did something wrong.
    Fault,
    /// A failure that an earlier fault may have caused.
    Consequence,
    /// A loss, delay or reordering in the network or the recording; no peer is at fault.
    Network,
    /// The usual end of a session; nobody is at fault.
    End,
}

macro_rules! finding_codes {
    ($($variant:ident $name:literal $severity:ident $role:ident;)*) => {
        /// An oddity that no single datagram shows. One table defines the name, severity and role of each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FindingCode {
            $(#[doc = $name] $variant,)*
        }

        impl FindingCode {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn row(self) -> (&'static str, Severity, Role) {
                match self {
                    $(Self::$variant => ($name, Severity::$severity, Role::$role),)*
                }
            }
        }
    };
}

finding_codes! {
    ShortTokenRequest   "short-token-request"  Error   Fault;
    ForeignToken        "foreign-token"        Warning Fault;
    OpensNothing        "opens-nothing"        Error   Fault;
    NoSession           "no-session"           Info    Network;
    OtherProtocol       "other-protocol"       Warning Fault;
    ProtocolRefused     "protocol-refused"     Warning Fault;
    EarlyClose          "early-close"          Warning Fault;
    LoginStalled        "login-stalled"        Warning Consequence;
    NeverOnline         "never-online"         Error   Consequence;
    NeverEntered        "never-entered"        Error   Consequence;
    PeerSilent          "peer-silent"          Warning Fault;
    Unanswered          "unanswered"           Warning Fault;
    TimedOut            "timed-out"            Warning Consequence;
    Kicked              "kicked"               Warning Consequence;
    SessionEnd          "session-end"          Info    End;
    UpstreamSilent      "upstream-silent"      Warning Consequence;
    UpstreamUnreachable "upstream-unreachable" Warning Network;
    Hole                "hole"                 Warning Network;
    AnsweredByProxy     "answered-by-proxy"    Warning Network;
    DroppedByProxy      "dropped-by-proxy"     Warning Network;
    HalfOpenLimit       "half-open-limit"      Warning Network;
    RelayLimit          "relay-limit"          Warning Network;
}

impl FindingCode {
    /// Returns the name, which is stable for scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the code with this name; `None` if there is none.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|finding_code| finding_code.row().0 == name)
    }

    /// Returns true for an action that the proxy took because of one of its own limits.
    pub(super) const fn is_limit(self) -> bool {
        matches!(
            self,
            Self::AnsweredByProxy | Self::DroppedByProxy | Self::HalfOpenLimit | Self::RelayLimit
        )
    }

    /// Returns true for a login that stalled or never finished.
    #[must_use]
    pub const fn is_about_login(self) -> bool {
        matches!(self, Self::LoginStalled | Self::NeverOnline | Self::NeverEntered)
    }

    /// Returns the code for a notice; `None` if the notice is not a finding.
    #[must_use]
    pub(super) const fn from_notice(notice: &Notice) -> Option<Self> {
        Some(match notice {
            Notice::UnknownSender { what, .. } => match what {
                OpensNothing::ShortTokenRequest => Self::ShortTokenRequest,
                OpensNothing::ForeignToken | OpensNothing::BrowserToken => Self::ForeignToken,
                OpensNothing::RefusedTokenRequest => Self::ProtocolRefused,
                OpensNothing::Running | OpensNothing::Close => Self::NoSession,
                _ => Self::OpensNothing,
            },
            Notice::OtherProtocol { .. } => Self::OtherProtocol,
            Notice::ProtocolRefused { .. } => Self::ProtocolRefused,
            Notice::EarlyClose => Self::EarlyClose,
            Notice::PeerSilent { .. } => Self::PeerSilent,
            Notice::UpstreamSilent { .. } => Self::UpstreamSilent,
            Notice::UpstreamUnreachable { .. } => Self::UpstreamUnreachable,
            Notice::Hole => Self::Hole,
            Notice::AnsweredByProxy { .. } => Self::AnsweredByProxy,
            Notice::DroppedByProxy { .. } => Self::DroppedByProxy,
            Notice::HalfOpenLimit => Self::HalfOpenLimit,
            Notice::RelayLimit { .. } => Self::RelayLimit,
            _ => return None,
        })
    }
}

impl Topic {
    /// Returns all kinds of findings.
    pub fn all() -> impl Iterator<Item = Self> {
        let notes = Code::ALL.iter().copied().map(Self::Note);
        notes.chain(FindingCode::ALL.iter().copied().map(Self::FindingCode))
    }

    /// Parses the name of a topic: `wrong-token`, `lint.wrong_token` and `!wrong-token` are equivalent.
    ///
    /// # Errors
    /// Returns a similar existing name if the name is unknown; `None` if no name is similar.
    pub(super) fn named(word: &str) -> Result<Self, Option<&'static str>> {
        let word = word.trim().trim_start_matches('!');
        let name = word.strip_prefix("lint.").unwrap_or(word);
        let name = name.replace('_', "-").to_ascii_lowercase();
        let found = Self::all().find(|topic| topic.name() == name);
        found.ok_or_else(|| suggest(&name, Self::all().map(Self::name)))
    }

    /// Returns the name, which is stable for scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note(code) => code.name(),
            Self::FindingCode(finding_code) => finding_code.name(),
        }
    }

    /// Returns the severity for a finding with this role. Network findings are at most warnings.
    #[must_use]
    pub fn severity_as(self, role: Role) -> Severity {
        let severity = match self {
            Self::Note(code) => code.severity(),
            Self::FindingCode(finding_code) => finding_code.row().1,
        };
        match role {
            Role::Network => severity.min(Severity::Warning),
            Role::Fault | Role::Consequence | Role::End => severity,
        }
    }

    /// Returns the default role of a finding with this topic.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Note(code) if code.has(Property::OfNetwork) => Role::Network,
            Self::Note(_) => Role::Fault,
            Self::FindingCode(finding_code) => finding_code.row().2,
        }
    }

    /// Returns true if the oddity may cause later failures because the receiver may drop or misread the affected bytes.
    /// Errors may cause failures regardless of this value.
    #[must_use]
    pub(super) fn leads(self) -> bool {
        !matches!(self, Self::Note(code) if code.has(Property::Idle))
    }

    /// Returns a filter expression for the datagrams with this note; `None` if no single datagram shows the oddity.
    #[must_use]
    pub(super) fn filter(self) -> Option<String> {
        match self {
            Self::Note(code) => Some(format!("lint.{}", code.name().replace('-', "_"))),
            Self::FindingCode(_) => None,
        }
    }

    /// Returns the path of the book page that explains the topic, with an anchor if several topics share the page.
    #[must_use]
    pub(crate) fn page(self) -> String {
        match self {
            Self::Note(code) => format!("notes/{}.md", code.name()),
            Self::FindingCode(finding_code) if finding_code.is_about_login() => format!("joins.md#{self}"),
            Self::FindingCode(_) => format!("findings.md#{self}"),
        }
    }
}

impl Role {
    /// Returns `fault`, `consequence`, `network` or `end`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Consequence => "consequence",
            Self::Network => "network",
            Self::End => "end",
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

//! The kinds of findings: note codes, and oddities of a session as a whole.

use std::fmt;

use teetap_proxy::session::{Notice, Stranger};
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
pub(super) enum LedBy {
    /// All earlier faults that lead to anything.
    #[default]
    Any,
    /// All errors, but of the warnings only this topic, which the fate of the awaited message names.
    Only(Topic),
    /// No fault of a peer, because the proxy kept the message back.
    Proxy,
}

/// The role of a finding in an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A peer did something wrong.
    Fault,
    /// A state that an earlier fault may have led to.
    Consequence,
    /// A loss, delay or reordering in the network or the recording; no peer is at fault.
    Network,
}

macro_rules! matters {
    ($($variant:ident $name:literal $severity:ident $role:ident;)*) => {
        /// An oddity that no single datagram shows. One table defines the name, severity and role of each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FindingCode {
            $(#[doc = $name] $variant,)*
        }

        impl FindingCode {
            /// All matters.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn row(self) -> (&'static str, Severity, Role) {
                match self {
                    $(Self::$variant => ($name, Severity::$severity, Role::$role),)*
                }
            }
        }
    };
}

matters! {
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
    TimedOut            "timed-out"            Warning Consequence;
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

    /// Returns true if the proxy acted on its own because of a limit.
    pub(super) const fn is_limit(self) -> bool {
        matches!(
            self,
            Self::AnsweredByProxy | Self::DroppedByProxy | Self::HalfOpenLimit | Self::RelayLimit
        )
    }

    /// Returns true if the finding is about a login.
    #[must_use]
    pub const fn is_about_login(self) -> bool {
        matches!(self, Self::LoginStalled | Self::NeverOnline | Self::NeverEntered)
    }

    /// Returns the code of a notice; `None` if the notice is not about the traffic of peers.
    #[must_use]
    pub const fn of(notice: &Notice) -> Option<Self> {
        Some(match notice {
            Notice::UnknownSender { what, .. } => match what {
                Stranger::ShortTokenRequest => Self::ShortTokenRequest,
                Stranger::ForeignToken | Stranger::BrowserToken => Self::ForeignToken,
                Stranger::RefusedTokenRequest => Self::ProtocolRefused,
                Stranger::Running | Stranger::Close => Self::NoSession,
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

    /// Returns the topic with this name, which may be written `wrong-token`, `lint.wrong_token` or `!wrong-token`.
    ///
    /// # Errors
    /// Returns a similar name that may have been meant, if there is one.
    pub fn named(word: &str) -> Result<Self, Option<&'static str>> {
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

    /// Returns the severity in this role. A network finding is at most a warning.
    #[must_use]
    pub fn severity_as(self, role: Role) -> Severity {
        let severity = match self {
            Self::Note(code) => code.severity(),
            Self::FindingCode(finding_code) => finding_code.row().1,
        };
        match role {
            Role::Network => severity.min(Severity::Warning),
            Role::Fault | Role::Consequence => severity,
        }
    }

    /// Returns the usual role of such findings.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Note(code) if code.has(Property::OfNetwork) => Role::Network,
            Self::Note(_) => Role::Fault,
            Self::FindingCode(finding_code) => finding_code.row().2,
        }
    }

    /// Returns true if the affected bytes may be lost for their receiver or mislead it, so that later failures may be a
    /// consequence. An error may always lead to a consequence.
    #[must_use]
    pub fn leads(self) -> bool {
        !matches!(self, Self::Note(code) if code.has(Property::Idle))
    }

    /// Returns the filter condition that matches the datagrams of such findings; `None` if no datagram shows them.
    #[must_use]
    pub fn filter(self) -> Option<String> {
        match self {
            Self::Note(code) => Some(format!("lint.{}", code.name().replace('-', "_"))),
            Self::FindingCode(_) => None,
        }
    }

    /// Returns the page of the book that explains the topic, with an anchor if needed.
    #[must_use]
    pub fn page(self) -> String {
        match self {
            Self::Note(code) => format!("notes/{}.md", code.name()),
            Self::FindingCode(finding_code) if finding_code.is_about_login() => format!("joins.md#{self}"),
            Self::FindingCode(_) => format!("findings.md#{self}"),
        }
    }
}

impl Role {
    /// Returns `fault`, `consequence` or `network`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Consequence => "consequence",
            Self::Network => "network",
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

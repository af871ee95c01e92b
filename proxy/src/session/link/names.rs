//! The tokens that a client names, and their counterparts on the server leg.
//!
//! A client may name a different token in each CONNECT. Each of these tokens (a *name*) has its own counterpart
//! on the server leg, so that the server's answers show which of the client's names it has chosen.

use teetap_wire::Token;

/// Maximum number of names of a client. The oldest name except the first is forgotten for a new one.
const MAX_NAMES: usize = 8;
/// Maximum number of TOKEN requests that are remembered until the server answers.
const MAX_REQUESTS: usize = 4;

/// A token that the client names, and its counterpart on the server leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) client: Token,
    pub(super) own: Token,
}

impl Name {
    /// Returns the name with this counterpart. Reserved values (`ffffffff` and `00000000`) are their own
    /// counterpart, so that the server decides what they mean.
    pub(super) fn new(client: Token, own: Token) -> Self {
        let is_void = [Token::NONE, Token([0; 4])].contains(&client);
        Self {
            client,
            own: if is_void { client } else { own },
        }
    }
}

/// A forwarded TOKEN request. A server with a slot for the client does not answer it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenRequest {
    pub(super) name: Name,
    /// Size of the request in bytes.
    pub(super) size: usize,
    /// True if the server had let the client in before the request.
    pub(super) was_in: bool,
}

/// The names of one client.
#[derive(Debug)]
pub(super) struct Names {
    /// Starts with the token of the CONNECT that opened the session.
    names: Vec<Name>,
    /// TOKEN requests that were forwarded during the session and are not answered yet.
    requests: Vec<TokenRequest>,
    /// True once the server has answered a request that the client sent after it was let in. The answer shows
    /// that the server no longer has a slot for the client.
    is_renewed: bool,
}

impl Names {
    pub(super) fn new(first: Option<Name>) -> Self {
        Self {
            names: first.into_iter().collect(),
            requests: Vec::new(),
            is_renewed: false,
        }
    }

    /// Returns the counterpart of a token that the client names. If the token is new, its counterpart is the
    /// result of `own`.
    pub(super) fn counterpart(&mut self, client: Token, own: impl FnOnce() -> Token) -> Token {
        if let Some(name) = self.names.iter().find(|name| name.client == client) {
            return name.own;
        }
        if self.names.len() == MAX_NAMES {
            self.names.remove(1);
        }
        let name = Name::new(client, own());
        self.names.push(name);
        name.own
    }

    /// Returns the name with the counterpart `shown`; `None` if there is none.
    pub(super) fn named_by(&self, shown: Option<Token>) -> Option<Name> {
        self.names.iter().copied().find(|name| Some(name.own) == shown)
    }

    /// Returns true if the client has named more than one token.
    pub(super) fn are_many(&self) -> bool {
        self.names.len() > 1
    }

    /// Records a forwarded TOKEN request.
    pub(super) fn requested(&mut self, request: TokenRequest) {
        if self.requests.len() == MAX_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push(request);
    }

    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Removes and returns the request that the server answers with the token `shown`.
    pub(super) fn take_answered(&mut self, shown: Option<Token>) -> Option<TokenRequest> {
        let mut requests = self.requests.iter();
        let at = requests.position(|request| Some(request.name.own) == shown)?;
        let request = self.requests.remove(at);
        self.is_renewed |= request.was_in;
        Some(request)
    }

    /// Returns true if the server has answered a TOKEN request that the client sent after it was let in.
    pub(super) fn is_renewed(&self) -> bool {
        self.is_renewed
    }
}

//! The facts that a session learns about its server.

use teetap_wire::Proto;

/// The kinds of CONNECT of one client that request tokens and that the server answered without tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenlessAnswers {
    v65: bool,
    ddnet: bool,
}

impl TokenlessAnswers {
    fn add(&mut self, proto: Proto) {
        self.v65 |= proto == Proto::V65;
        self.ddnet |= proto == Proto::Ddnet;
    }

    pub(crate) fn contains(self, proto: Proto) -> bool {
        match proto {
            Proto::V65 => self.v65,
            Proto::Ddnet => self.ddnet,
            Proto::V6 | Proto::V7 => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct ServerTraits {
    /// The protocol in which the server has answered; `None` before the answer.
    pub(super) answer: Option<Proto>,
    /// Further kinds of CONNECT that the server has answered without tokens.
    tokenless: TokenlessAnswers,
    /// True once the server has sent a message that exists only in DDNet.
    pub(super) is_ddnet: bool,
}

impl ServerTraits {
    /// Returns true if the server has answered without tokens.
    pub(super) fn is_tokenless(&self) -> bool {
        self.answer == Some(Proto::V6)
    }

    /// Records that the server answers CONNECTs of the kind `requested` without tokens as well.
    pub(super) fn answers_without_tokens(&mut self, requested: Proto) {
        self.tokenless.add(requested);
    }

    /// Returns the kinds of CONNECT that the server is known to answer without tokens. `requested` is the kind of the
    /// client's CONNECT.
    pub(super) fn tokenless_answers(&self, requested: Proto) -> TokenlessAnswers {
        let mut answers = self.tokenless;
        if self.is_tokenless() {
            answers.add(requested);
        }
        answers
    }
}

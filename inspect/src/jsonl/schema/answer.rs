//! The answers to commands.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use teetap_proxy::session::{Answer, CommandId, HeldMessage};
use teetap_wire::def::{Registry, Secrets};

use super::{ResultBody, WaitingBody};

/// The answer to a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerBody {
    /// The number of the command as given by its sender; null if the command had none that can be read.
    id: Option<u64>,
    /// False if the command was refused.
    done: bool,
    /// The reason for the refusal; null if the command was done.
    why: Option<Cow<'static, str>>,
    /// The messages that the proxy holds; missing if the command did not list them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<Vec<WaitingBody>>,
    /// The result of a command on the control socket.
    #[serde(flatten, skip_deserializing)]
    result: ResultBody,
}

impl AnswerBody {
    /// Returns the fields of an answer.
    #[must_use]
    pub fn new(answer: &Answer) -> Self {
        Self {
            id: Some(answer.id.0),
            done: answer.result.is_ok(),
            why: answer.result.clone().err(),
            held: answer
                .held
                .as_ref()
                .map(|held| held.iter().map(WaitingBody::from).collect()),
            result: ResultBody::default(),
        }
    }

    /// Returns the fields of the answer to a command on the control socket. Held messages are decoded with `registry`.
    #[must_use]
    pub(crate) fn of_control(
        id: Option<u64>,
        result: Result<ResultBody, impl fmt::Display>,
        registry: &Registry,
        secrets: Secrets,
    ) -> Self {
        let (result, why) = match result {
            Ok(result) => (result, None),
            Err(why) => (ResultBody::default(), Some(why.to_string().into())),
        };
        Self {
            id,
            done: why.is_none(),
            why,
            held: result.held.as_ref().map(|held| {
                let body = |waiting| WaitingBody::decoded(waiting, registry, secrets);
                held.iter().map(body).collect()
            }),
            result,
        }
    }

    /// Returns the answer.
    #[must_use]
    pub fn answer(self) -> Answer {
        Answer {
            id: CommandId(self.id.unwrap_or_default()),
            result: if self.done {
                Ok(())
            } else {
                Err(self.why.unwrap_or_default())
            },
            held: self
                .held
                .map(|held| held.into_iter().map(HeldMessage::from).collect()),
        }
    }
}

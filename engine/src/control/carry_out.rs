//! Carries out commands, and parses the arguments of a subscription.

use teetap_inspect::{Verbosity, control::Command, jsonl::ResultBody};
use teetap_rules::Filter;
use teetap_wire::def::Registry;

use super::{Shared, error::SubscribeError};
use crate::commands::{Reply, lines};

/// Carries out a command that is not about the connection itself.
pub(super) fn carry_out(command: &Command, shared: &Shared) -> Reply {
    let mut reply = shared.parts.handle.carry_out(command);
    if let Ok(ResultBody {
        stats: Some(stats), ..
    }) = &mut reply.result
    {
        (stats.connections, stats.subscribers) = shared.load();
    }
    reply
}

/// Parses the filter of a subscription; `None` = all messages. Also returns warnings about the filter.
pub(super) fn filter(
    text: Option<&str>,
    registry: &Registry,
) -> Result<(Option<Filter>, Vec<String>), SubscribeError> {
    let Some(text) = text else {
        return Ok((None, Vec::new()));
    };
    match Filter::parse(text, registry) {
        Ok((filter, warnings)) => Ok((Some(filter), lines(&warnings))),
        Err(errors) => Err(SubscribeError::Filter(errors)),
    }
}

/// Returns the level of detail of a subscription.
pub(super) fn verbosity(verbose: u8) -> Result<Verbosity, SubscribeError> {
    match verbose {
        0 => Ok(Verbosity::Messages),
        1 => Ok(Verbosity::Datagrams),
        2 => Ok(Verbosity::Bytes),
        other => Err(SubscribeError::Verbosity(other)),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_has_three_levels_of_detail() {
        let found = [0, 1, 2].map(|verbose| verbosity(verbose).unwrap());
        assert_eq!(
            found,
            [Verbosity::Messages, Verbosity::Datagrams, Verbosity::Bytes]
        );
        assert_eq!(
            verbosity(3).unwrap_err().to_string(),
            "invalid verbose 3: expected 0, 1 or 2"
        );
    }

    #[test]
    fn a_filter_of_a_subscription_is_optional_and_its_warnings_are_lines() {
        let parsed = |text| {
            let parsed = filter(text, Registry::builtin());
            parsed.map(|(filter, warnings)| (filter.is_some(), warnings))
        };
        assert_eq!(parsed(None).unwrap(), (false, Vec::new()));
        assert_eq!(parsed(Some("cl_say")).unwrap(), (true, Vec::new()));
        let (is_filter, warnings) = parsed(Some("cl_say and s2c")).unwrap();
        assert!(is_filter);
        assert!(
            matches!(&*warnings, [one] if one.starts_with("[W301] ")),
            "{warnings:?}"
        );
        let refused = parsed(Some("cl_sya or sv_caht")).unwrap_err().to_string();
        assert!(refused.starts_with("invalid filter: [E101] "), "{refused}");
        assert_eq!(refused.matches("[E101] ").count(), 2, "{refused}");
    }
}

//! Joins of sessions in the summary: stopped joins with the reason, and with `-v` the time of each step.

use teetap_wire::counted;

use teetap_harness::outcome::Joins;
use teetap_inspect::joins::waterfall;

/// Maximum number of joins that are listed.
const MAX_LISTED: usize = 20;

/// Returns a line for each join that stopped by itself. With `details`, returns a line for every join and for each of
/// its steps.
pub(super) fn lines(joins: &Joins, details: bool) -> Vec<String> {
    let list = joins.list(details);
    let more = list.len().saturating_sub(MAX_LISTED) as u64 + joins.left_out();
    let mut lines = Vec::new();
    for join in list.into_iter().take(MAX_LISTED) {
        lines.push(format!("teetap: {join}"));
        if details {
            lines.extend(waterfall(join).iter().map(|line| format!("teetap:   {line}")));
        }
    }
    let is_full = lines.len() >= MAX_LISTED || details;
    if more > 0 && !lines.is_empty() && is_full {
        lines.push(format!("teetap: and {}", counted(more, "more join")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use teetap_inspect::joins::{Delayed, Ended, Join, JoinOutcome, PassedStep};
    use teetap_proxy::session::{SessionId, Time};
    use teetap_wire::{Side, receiver::JoinKind};

    use super::*;

    fn join(session: u32, outcome: JoinOutcome) -> Arc<Join> {
        let step = |name, from, at: u64, count| PassedStep {
            name,
            from,
            at: Time(at * 1000),
            took: Duration::from_millis(at / 2),
            count,
            delayed: None,
        };
        Arc::new(Join {
            session: SessionId(session),
            kind: JoinKind::Seven,
            begin: Time(u64::from(session)),
            end: Time(90_000_000),
            outcome,
            steps: vec![
                step("connect", Side::Client, 0, 1),
                step("map_data", Side::Server, 80_000, 1200),
                step("sv_ready_to_enter", Side::Server, 80_001, 1),
            ],
            stalls: 0,
            ended: Ended::Open,
            after: Some("sv_ready_to_enter"),
            acked: Some(true),
            awaited: Some(("enter_game", Side::Client)),
            kept: false,
            note: None,
            misstep: None,
            cause: None,
            is_by_loss: false,
            is_resent: false,
            parts: None,
            blamed: None,
        })
    }

    #[test]
    fn a_join_that_stopped_has_a_line_and_with_details_its_steps() {
        let mut joins = Joins::default();
        joins.add(&join(2, JoinOutcome::NeverEntered));
        joins.add(&join(1, JoinOutcome::Entered));
        let stopped = "teetap: session 2 never entered the game: after sv_ready_to_enter (acked) the client never sent enter_game; \
                       the recording ends there";
        assert_eq!(lines(&joins, false), [stopped]);
        let lines = self::lines(&joins, true);
        let bar = "━".repeat(24);
        assert_eq!(
            lines[0],
            "teetap: session 1 entered the game after 89999 ms (0.7)"
        );
        assert_eq!(
            lines[4..],
            [
                stopped,
                "teetap:   connect                  client       0 ms",
                &format!("teetap:   map_data ×1200           server   40000 ms  {bar}"),
                &format!("teetap:   sv_ready_to_enter        server   40000 ms  {bar}"),
                "teetap:   enter_game               client    9999 ms  missing",
            ]
        );
        assert!(
            lines[1..4]
                .iter()
                .chain(&lines[5..])
                .all(|line| line.chars().count() < 80)
        );
    }

    #[test]
    fn a_delayed_step_names_its_rule_behind_its_bar() {
        let mut delayed = (*join(1, JoinOutcome::Entered)).clone();
        delayed.steps[1].delayed = Some(Delayed {
            rules: Some("slow".to_owned()),
            time: Duration::from_millis(700),
        });
        let mut joins = Joins::default();
        joins.add(&Arc::new(delayed));
        let line = &lines(&joins, true)[2];
        assert!(line.ends_with("━  delayed 700 ms (slow)"), "{line}");
        let body = &joins.bodies()[0].steps[1];
        assert_eq!(
            (body.delayed_by.as_deref(), body.delayed_ms),
            (Some("slow"), Some(700.0))
        );
    }

    #[test]
    fn joins_are_bounded_and_the_rest_is_counted() {
        let mut joins = Joins::default();
        (0..150).for_each(|session| joins.add(&join(session, JoinOutcome::NeverOnline)));
        let lines = self::lines(&joins, false);
        assert_eq!((lines.len(), joins.bodies().len()), (MAX_LISTED + 1, 100));
        assert_eq!(lines[MAX_LISTED], "teetap: and 130 more joins");
    }
}

//! Clients that reconnect.

use teetap_kit::script::{Message, Step};

use super::cells::Cell;
use super::target::Target;

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    let with = |name: &str, steps: &[&[Step]]| Cell::new(target, name, steps.concat());
    let join = target.join();
    let close = [Step::Send(Message::Close), Step::Pause(100)];
    let mut cells = Vec::new();
    for (at, stage) in [
        (Message::Connect, "Connect"),
        (Message::Info, "Info"),
        (Message::EnterGame, "EnterGame"),
    ] {
        let first = target.up_to(at);
        let name = |how: &str| format!("rejoin after {stage} {how}");
        cells.extend([
            with(&name("without Close"), &[&first, &[Step::Restart], &join]),
            with(
                &name("without Close, with the same token"),
                &[&first, &[Step::RestartWithToken], &join],
            ),
            with(&name("after Close"), &[&first, &close, &[Step::Restart], &join]),
            with(
                // Servers of 0.6 repeat their answer each 0.5 s, so that a CONNECT at such a time is before it or after it.
                &name("0.7 s later without Close"),
                &[&first, &[Step::Pause(700), Step::Restart], &join],
            ),
            with(
                &name("from another port"),
                &[&first, &[Step::Restart, Step::Port(1)], &join],
            ),
            with(
                &name("from another port after Close"),
                &[&first, &close, &[Step::Restart, Step::Port(1)], &join],
            ),
        ]);
    }
    cells.push(
        with(
            "rejoin without Close until the slot is free",
            &[
                &target.up_to(Message::Info),
                &[Step::Restart],
                &[Step::Send(target.handshake()[0].0), Step::Pause(500)].repeat(24),
                &[Step::Restart],
                &join,
            ],
        )
        .lasting(16),
    );
    cells
}

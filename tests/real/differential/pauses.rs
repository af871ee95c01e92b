//! Clients that wait between two steps of a join. Only in the long form.

use teetap_kit::script::{Message, Step};

use super::cells::Cell;
use super::target::{LASTS, Target, steps};

/// The pauses in seconds: shorter and longer than the times after which Teeworlds and DDNet (`conn_timeout` is 10 s
/// here) give up a client, tokens expire, and sessions of the proxy once ended.
const PAUSES: [u64; 6] = [4, 6, 9, 14, 20, 40];

/// Returns the cells of a kind of client.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    let messages: Vec<_> = target.handshake().into_iter().chain(target.rest()).collect();
    let of = |at: usize, (message, _): (Message, _), seconds: u64| {
        let pause = Step::Pause(u32::try_from(seconds * 1000).unwrap());
        let (before, after) = messages.split_at(at);
        let all = |messages: &[(Message, _)]| {
            let all = messages.iter().flat_map(|(message, got)| steps(*message, *got));
            all.collect::<Vec<_>>()
        };
        let steps = [all(before), vec![pause], all(after)].concat();
        let name = format!("waits {seconds} s before {message:?}");
        Cell::new(target, &name, steps).lasting(seconds + LASTS.as_secs())
    };
    let mut cells = Vec::new();
    for (at, message) in messages.iter().enumerate().skip(1) {
        cells.extend(PAUSES.map(|seconds| of(at, *message, seconds)));
    }
    let in_game = PAUSES.map(|seconds| {
        let game = [Step::Send(Message::Input), Step::Pause(100)].repeat(5);
        let pause = Step::Pause(u32::try_from(seconds * 1000).unwrap());
        let again = [Step::Send(Message::Say), Step::Pause(300)];
        let steps = [target.join(), game, vec![pause], again.to_vec()].concat();
        Cell::new(target, &format!("waits {seconds} s in the game"), steps).lasting(seconds + 3)
    });
    cells.extend(in_game);
    cells
}

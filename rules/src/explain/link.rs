//! Explains link lines as clauses.

use crate::impair::{Dirs, Jitter, LinkLine, Loss, Reorder, Shape};
use crate::units::{Share, percent, shown};

use super::{condition, ordinal};

/// Returns a link line as a clause.
pub(super) fn line(line: &LinkLine) -> String {
    let mut parts = Vec::new();
    match (line.delay, line.jitter) {
        (Some(delay), Some(jitter)) => {
            let order = match line.reorder {
                Some(Reorder {
                    share: Share::WHOLE,
                    gap: 0 | 1,
                }) => "",
                _ => {
                    "; a datagram waits for those before it, so that the mean is higher if they are sent closer together \
                      than the delay varies"
                }
            };
            parts.push(format!("delay by {}{}{order}", shown(delay), spread(jitter)));
        }
        (Some(delay), None) => parts.push(format!("delay by {}", shown(delay))),
        // The parser rejects jitter without a delay.
        (None, _) => {}
    }
    match line.loss {
        Some(Loss::Independent(share)) => parts.push(format!("lose {}", percent_of(share))),
        Some(Loss::Gemodel { p, r, bad, good }) => parts.push(format!(
            "lose bursts (a bad state begins with a chance of {} and ends with {}; {} are lost in it, {} outside)",
            percent_of(p),
            percent_of(r),
            percent_of(bad),
            percent_of(good),
        )),
        None => {}
    }
    if let Some(share) = line.dup {
        parts.push(format!("send {} twice", percent_of(share)));
    }
    if let Some(reorder) = line.reorder {
        let of_which = match reorder.gap {
            0 | 1 => String::new(),
            gap => format!(
                ": each one from the {} after the last that did, with a chance of {}",
                ordinal(gap),
                percent_of(reorder.share)
            ),
        };
        parts.push(format!(
            "let {} overtake those before{of_which}",
            percent_of(reorder.overall())
        ));
    }
    if let Some(share) = line.corrupt {
        parts.push(format!("flip one bit in {}", percent_of(share)));
    }
    if let Some(rate) = line.rate {
        let queue = line
            .queue
            .map_or(String::new(), |queue| format!(", with a queue of {queue} bytes"));
        parts.push(format!("let at most {rate} bits a second pass{queue}"));
    }
    if line.blackhole {
        parts.push("lose all".to_owned());
    }
    let to = match line.dirs {
        Dirs::C2s => "from the client to the server",
        Dirs::S2c => "from the server to the client",
        Dirs::Both => "in each direction, by itself",
    };
    let also = if line.connless {
        ", also outside connections"
    } else {
        ""
    };
    format!("{to}{also}{}: {}", window(line), parts.join("; "))
}

/// Returns the time in which a link line acts, as a clause that begins with a comma; empty if it always acts.
fn window(line: &LinkLine) -> String {
    let mut window = match (line.from, line.to) {
        (Some(from), Some(to)) => format!(", from {} to {} of the session", shown(from), shown(to)),
        (Some(from), None) => format!(", after the first {} of the session", shown(from)),
        (None, Some(to)) => format!(", in the first {} of the session", shown(to)),
        (None, None) => String::new(),
    };
    if let Some(after) = &line.after {
        window.push_str(&format!(", not before {}", condition::clause(after)));
    }
    if let Some(until) = &line.until {
        window.push_str(&format!(", no more once {}", condition::clause(until)));
    }
    window
}

fn percent_of(share: Share) -> String {
    format!("{} %", number(share))
}

/// Returns a share as a percentage.
pub(super) fn number(share: Share) -> String {
    percent(share.millionths())
}

fn spread(Jitter { spread, shape }: Jitter) -> String {
    let time = shown(spread);
    match shape {
        Shape::Uniform => format!(", plus or minus up to {time}"),
        _ => format!(" with a standard deviation of {time} ({shape})"),
    }
}

//! Link impairment: the effects of a bad network on the datagrams of one direction of one session.
//!
//! Law: pure. The fate of a datagram depends on the seed, the identity of the link line, the session, the direction,
//! and the number, time and length of the earlier datagrams in that direction. Every draw is a function of the number
//! of its datagram (`LineKey`), so that no other session, rule or line affects it.
//!
//! | module | part |
//! |---|---|
//! | `line` | the parameters of a link line |
//! | `draw` | counter-based random numbers |
//! | `shape` | the distributions of jitter |
//! | `impact` | the effect of one line on one datagram, and counts of effects |
//! | `set` | sets of link lines |
//! | `channel` | the state of one direction, and the fate of a datagram |

mod channel;
mod draw;
mod impact;
mod line;
mod set;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use teetap_wire::Dir;

pub use crate::units::Share;
pub use channel::{Channel, Copy, Fate, Sent};
pub(crate) use impact::LineFaults;
pub use impact::PassedDatagram;
pub use impact::{Impact, Lost, Tally};
pub use line::{Dirs, Jitter, LinkLine, Loss, Reorder};
pub(crate) use line::{MAX_DELAY, MAX_QUEUE};
pub use set::LineSet;
pub use shape::Shape;

use crate::opening::Opening;
use draw::LineKey;

/// Link lines of a program, in order. A datagram passes the lines of its direction one after the other.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<Arc<Named>>);

/// A line with its identity.
#[derive(Debug)]
struct Named {
    /// Canonical text, followed by the number of its occurrence unless it is the first.
    identity: Box<str>,
    line: LinkLine,
}

impl Links {
    /// Assigns an identity to each line.
    #[must_use]
    pub fn new(lines: impl IntoIterator<Item = LinkLine>) -> Self {
        let mut occurrences = BTreeMap::new();
        let named = lines.into_iter().map(|line| {
            let text = line.to_string();
            let count: &mut u32 = occurrences.entry(text.clone()).or_default();
            *count += 1;
            let identity = match *count {
                1 => text,
                count => format!("{text} #{count}"),
            };
            Arc::new(Named {
                identity: identity.into(),
                line,
            })
        });
        Self(named.collect())
    }

    /// Returns true if there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a line in this direction acts on datagrams outside a connection.
    pub(crate) fn browses(&self, dir: Dir) -> bool {
        let mut lines = self.0.iter().map(|named| &named.line);
        lines.any(|line| line.connless && line.dirs.has(dir))
    }

    /// Returns the identity of each line.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|named| &*named.identity)
    }

    /// Returns the index and the text of each line, for each of its directions.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = (u16, &str, Dir)> {
        let lines = (0..).zip(&self.0);
        lines.flat_map(|(at, named)| {
            let dirs = [Dir::C2s, Dir::S2c].into_iter();
            let dirs = dirs.filter(|dir| named.line.dirs.has(*dir));
            dirs.map(move |dir| (at, &*named.identity, dir))
        })
    }

    /// Creates the state of one direction of a session; `None` if no line acts in it. `before` is the state under the
    /// previous program: lines that both programs have continue with it.
    #[must_use]
    pub fn open(&self, session: &Opening, dir: Dir, before: Option<Channel>) -> Option<Channel> {
        self.repeat(session, dir, before, None)
    }

    /// Creates the same state. If `faults` contains effects of another run, they replace the decisions of the lines.
    pub(crate) fn repeat(
        &self,
        session: &Opening,
        dir: Dir,
        before: Option<Channel>,
        faults: Option<&[Arc<LineFaults>]>,
    ) -> Option<Channel> {
        let lines: Vec<(u16, _)> = (0..)
            .zip(&self.0)
            .filter(|(_, named)| named.line.dirs.has(dir))
            .collect();
        if lines.is_empty() {
            return None;
        }
        let lines = lines.into_iter().map(|(at, named)| {
            let given = faults.and_then(|faults| faults.get(usize::from(at)));
            let given = given.map(|faults| (Arc::clone(faults), (session.session, dir)));
            let key = LineKey::new(session.seed, &named.identity, session.session, dir);
            ((at, Arc::clone(named)), key, given)
        });
        Some(Channel::new(session.at, lines, before))
    }
}

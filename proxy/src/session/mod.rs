//! The sans-IO session core.
//!
//! # Driving the core
//!
//! ```text
//! hub.handle(time, input)                  once for each input
//! while let Some(output) = hub.poll() {}   until None: transmits first, then events
//! hub.deadline()                           when to call handle(time, Input::Timeout) next
//! ```
//!
//! # Law
//!
//! Time, the secret from which tokens derive, message definitions, rules and commands are inputs. The core
//! reads no clock, draws no randomness, touches no socket, has no global state and does not depend on the
//! order of a hash map, so the same inputs give the same outputs. Bytes of peers never cause an `Err` or a
//! panic: oddities become notes on events.

mod acks;
mod compose;
mod config;
mod datagram;
mod event;
mod family;
mod frame;
mod handshake;
mod held;
mod hub;
mod ids;
mod input;
mod lane;
mod lanes;
mod leg;
mod link;

mod notice;
mod outbox;
mod output;
mod redirect;
mod resync;
mod rewrites;
mod snapshots;
mod splice;
mod stranger;
mod time;
mod timers;
mod tokens;
mod waiting;

pub use acks::{AckWindow, RestartedNumbers};
pub use config::{Config, Events};
pub use datagram::{
    Action, Datagram, Ends, HeldId, MadeAt, MadeHow, Origin, Placed, SentAt, Transit, readable,
};
pub use event::{Answer, Connless, Event, EventKind, SessionChange, State};
pub use family::{Family, Speaks};
pub use hub::{Hub, Listed, Stats, Traffic};
pub use ids::{ClientAddr, ListenerId, Route, SessionId, UpstreamId};
pub use input::{Command, CommandId, Held, Input};
pub use notice::{Level, Notice};
pub use output::Output;
pub use stranger::OpensNothing;
pub use time::Time;
pub use waiting::{HeldMessage, ReleaseReason};

//! Snapshots of several messages.
//!
//! Law: a rule decides about a snapshot once, at the first part that matches. The decision and its values also apply to
//! later parts, even if the condition does not match them.

use teetap_wire::Dir;
use teetap_wire::def::Class;

use super::faults::Drawn;
use crate::context::MessageView;
use crate::eval::Lazy;

/// Decision of a rule about a snapshot.
#[derive(Debug, Clone)]
pub(super) struct SnapshotDecision {
    pub(super) tick: i32,
    /// Values that the rule drew; `None` if it does not act.
    pub(super) acts: Option<Drawn>,
}

/// Returns the tick of the snapshot if the message is one of its several parts; `None` for other messages.
pub(super) fn tick_of_part(view: &MessageView<'_>, fields: &Lazy<'_>) -> Option<i32> {
    let is_part = |def: &&_| {
        let def: &teetap_wire::def::Def = def;
        view.dir == Dir::S2c && def.class == Class::System && &*def.name == "snap"
    };
    let def = view.def.filter(is_part)?;
    let fields = fields.fields()?;
    let tick = fields.decoded.find(&def.path("tick").ok()?)?.int()?;
    i32::try_from(tick).ok()
}

//! The parts of a context that are needed.

use teetap_wire::Proto;

/// Parts of a context that are expensive. Snapshots are most of the work, so they are skipped unless a rule, a filter
/// or a displayed message needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The items of snapshots.
    pub snapshots: bool,
    /// Names of players, which are in messages in 0.7, otherwise in snapshots.
    pub names: Names,
}

/// The players whose names are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    /// No player.
    None,
    /// The client of the session, by its own name.
    Own,
    /// All players.
    All,
}

impl Needs {
    /// All parts.
    pub const ALL: Self = Self {
        snapshots: true,
        names: Names::All,
    };

    /// No parts.
    pub const NOTHING: Self = Self {
        snapshots: false,
        names: Names::None,
    };

    /// Returns true if snapshots of this protocol must be followed.
    #[must_use]
    pub fn follows(self, proto: Proto) -> bool {
        self.snapshots || self.names == Names::All && proto != Proto::V7
    }

    /// Returns true if snapshots of any protocol must be followed.
    #[must_use]
    pub fn follows_any(self) -> bool {
        self.follows(Proto::Ddnet)
    }
}

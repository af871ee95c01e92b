//! The joins of real peers, written out for each kind.

use teetap_wire::{Proto, Side, receiver::JoinKind};

/// A join as peers make it: `c` or `s`, the name, and `?` after one that need not come.
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) proto: Proto,
    pub(super) kind: JoinKind,
    lines: &'static [&'static str],
}

/// A line of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) from: Side,
    pub(super) is_needed: bool,
    /// True if it belongs to the join, and is not only sent beside it.
    is_step: bool,
}

const fn script(kind: JoinKind, proto: Proto, lines: &'static [&'static str]) -> Script {
    Script {
        name: kind.name(),
        proto,
        kind,
        lines,
    }
}

/// The joins that real peers were seen to make.
pub(super) const SCRIPTS: &[Script] = &[
    script(
        JoinKind::Plain,
        Proto::V6,
        &[
            "c connect",
            "s connect_accept",
            "c accept ?",
            "c info",
            "s map_change",
            "c ready",
            "s sv_motd -",
            "s con_ready",
            "c cl_start_info",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
    script(
        JoinKind::Token,
        Proto::V65,
        &[
            "c connect",
            "s connect_accept",
            "c info",
            "s map_change",
            "c ready",
            "s con_ready",
            "c cl_start_info",
            "s sv_vote_clear_options -",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
    script(
        JoinKind::Ddnet,
        Proto::Ddnet,
        &[
            "c connect",
            "s connect_accept",
            "c accept",
            "c client_version ?",
            "c info",
            "s capabilities -",
            "s map_details -",
            "s map_change",
            "c ready",
            "s con_ready",
            "c cl_start_info",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
    script(
        JoinKind::Seven,
        Proto::V7,
        &[
            "c connect",
            "s connect_accept",
            "c info",
            "s map_change",
            "c ready",
            "s sv_server_settings -",
            "s con_ready",
            "c cl_start_info",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
    script(
        JoinKind::DdnetSeven,
        Proto::V7,
        &[
            "c connect",
            "s connect_accept",
            "c client_version ?",
            "c info",
            "s capabilities -",
            "s map_change",
            "c ready",
            "s con_ready",
            "c cl_start_info",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
    script(
        JoinKind::Challenge,
        Proto::V6,
        &[
            "c connect",
            "s connect_accept",
            "s map_change -",
            "s con_ready -",
            "s snap_empty",
            "c accept -",
            "c ready -",
            "c cl_start_info -",
            "c input",
            "s map_change",
            "c ready",
            "s con_ready",
            "c cl_start_info",
            "s sv_ready_to_enter",
            "c enter_game",
            "s snap",
        ],
    ),
];

impl Script {
    pub(super) fn named(name: &str) -> &'static Self {
        SCRIPTS.iter().find(|script| script.name == name).unwrap()
    }

    /// Returns its lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = Step> + use<> {
        self.lines.iter().map(|line| {
            let mut words = line.split(' ');
            let from = if words.next() == Some("c") {
                Side::Client
            } else {
                Side::Server
            };
            let name = words.next().unwrap();
            let mark = words.next();
            Step {
                name,
                from,
                is_needed: mark.is_none(),
                is_step: mark != Some("-"),
            }
        })
    }

    /// Returns the lines that are steps, with their place in the script.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, Step)> {
        // A challenge is known by its snapshot only.
        let is_known = move |step: &Step| step.is_step;
        self.lines().enumerate().filter(move |(_, step)| {
            is_known(step) && !(self.kind == JoinKind::Challenge && step.name == "snap_empty")
        })
    }

    /// Returns the steps of a whole join.
    pub(super) fn passed(&self) -> Vec<(Side, &'static str)> {
        let steps = self.lines().filter(|step| step.is_step);
        steps.map(|step| (step.from, step.name)).collect()
    }

    /// Returns the place of the first line of this name that is a step.
    pub(super) fn index(&self, name: &str) -> usize {
        self.lines()
            .position(|step| step.is_step && step.name == name)
            .unwrap()
    }

    /// Returns the place of the line with which the session is online.
    pub(super) fn online(&self) -> usize {
        self.index("connect_accept")
    }
}

//! The joins of real peers, as one script for each kind.

use teetap_wire::{Proto, Side, receiver::JoinKind};

/// A join as peers make it. Each line has `c` or `s`, the name of a message, and `?` if the message is optional or `-`
/// if it is not a step.
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) proto: Proto,
    pub(super) kind: JoinKind,
    lines: &'static [&'static str],
}

/// A line of a script.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptLine {
    pub(super) name: &'static str,
    pub(super) from: Side,
    pub(super) is_needed: bool,
    /// True if the message is a step of the join, and not only sent during it.
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

/// The kinds of join observed with real peers.
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

    /// Returns the lines of the script.
    pub(super) fn lines(&self) -> impl Iterator<Item = ScriptLine> + use<> {
        self.lines.iter().map(|line| {
            let mut words = line.split(' ');
            let from = if words.next() == Some("c") {
                Side::Client
            } else {
                Side::Server
            };
            let name = words.next().unwrap();
            let mark = words.next();
            ScriptLine {
                name,
                from,
                is_needed: mark.is_none(),
                is_step: mark != Some("-"),
            }
        })
    }

    /// Returns the lines that are steps, with their index in the script.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, ScriptLine)> {
        // A challenge is recognized only by its snapshot.
        let is_known = move |step: &ScriptLine| step.is_step;
        self.lines().enumerate().filter(move |(_, step)| {
            is_known(step) && !(self.kind == JoinKind::Challenge && step.name == "snap_empty")
        })
    }

    /// Returns the steps of a whole join.
    pub(super) fn passed(&self) -> Vec<(Side, &'static str)> {
        let steps = self.lines().filter(|step| step.is_step);
        steps.map(|step| (step.from, step.name)).collect()
    }

    /// Returns the index of the first step with this name.
    pub(super) fn index(&self, name: &str) -> usize {
        self.lines()
            .position(|step| step.is_step && step.name == name)
            .unwrap()
    }

    /// Returns the index of the line with which the session comes online.
    pub(super) fn online(&self) -> usize {
        self.index("connect_accept")
    }
}

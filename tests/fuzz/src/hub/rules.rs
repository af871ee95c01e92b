//! Rules that decide at random.

use std::{sync::Arc, time::Duration};

use teetap_kit::{
    link::Random,
    rules::{BOTH, program},
};
use teetap_rules::{Decide, Fate, Made, Message, Order, Program, Shared, Verdict};
use teetap_wire::Dir;

/// Makes random decisions of the kinds whose bits are set in `kinds`.
#[derive(Debug)]
pub(super) struct Dice {
    kinds: u8,
    random: Random,
}

impl Dice {
    fn new(kinds: u8, seed: u64) -> Self {
        Self {
            kinds,
            random: Random::new(seed),
        }
    }

    /// Returns a program that decides at random in each session; `None` if no direction is selected.
    pub(super) fn program(kinds: u8, seed: u64) -> Option<Arc<Program>> {
        let dirs = BOTH.iter().copied();
        let acts = |dir: &Dir| kinds & if *dir == Dir::C2s { 1 } else { 2 } != 0;
        let dirs: Vec<Dir> = dirs.filter(acts).collect();
        program(&dirs, move |session| {
            Self::new(kinds, seed ^ u64::from(session.session))
        })
    }

    fn made(&mut self, dir: Dir) -> Vec<Made> {
        let len = usize::try_from(self.random.below(1500)).unwrap_or(0);
        vec![Made {
            dir: if self.random.chance(0.5) {
                dir
            } else {
                dir.reverse()
            },
            vital: self.random.chance(0.7),
            data: vec![0x55; if self.random.chance(0.9) { len % 40 } else { len }],
            rule: None,
        }]
    }

    fn fate(&mut self) -> Fate {
        let order = if self.random.chance(0.5) {
            Order::Kept
        } else {
            Order::Free
        };
        let for_ = Duration::from_millis(self.random.below(3000));
        match self.random.below(7) {
            0 => Fate::Drop,
            1 => Fate::Lose { times: 2 },
            2 => Fate::Delay { for_, order },
            3 => Fate::Hold {
                key: self.random.below(4),
                max: for_,
                order,
            },
            4 => Fate::Reorder { group: 1, after: 1 },
            5 => Fate::Pause { max: for_, order },
            _ => Fate::Pass,
        }
    }
}

impl Decide for Dice {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        let mut verdict = Verdict::PASS;
        if self.kinds & 4 != 0 && self.random.chance(0.3) {
            verdict.fate = self.fate();
        }
        if self.kinds & 8 != 0 && self.random.chance(0.2) {
            verdict.edit = self.made(message.dir).pop().map(|made| made.data);
        }
        if self.kinds & 16 != 0 && self.random.chance(0.2) {
            verdict.before = self.made(message.dir);
        }
        if self.kinds & 32 != 0 && self.random.chance(0.2) {
            verdict.after = self.made(message.dir);
        }
        if self.kinds & 64 != 0 && self.random.chance(0.1) {
            verdict.copies = vec![Duration::ZERO, Duration::from_millis(self.random.below(500))];
        }
        verdict
    }
}

//! Rules that decide at random and record their decisions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use teetap_kit::{link::Random, rules::made};
use teetap_rules::{Decide, Fate, Message, Order, Shared, Verdict};
use teetap_wire::Dir;

/// An action on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pass,
    Drop,
    /// Changes the bytes: prepends `M`.
    Edit,
    /// Sends another message (with `I` prepended) ahead of it.
    Before,
    /// Sends another message (with `J` prepended) after it.
    After,
    /// Delays it by 1.7 s; others overtake it.
    Late,
    /// Delays it by 2.5 s; others queue after it.
    Wait,
    /// Holds it until the maximum time; others queue after it.
    Held,
    /// Lets two messages overtake it.
    Reorder,
    /// Sends it twice, each with its own sequence number.
    Twice,
    /// Sends it again 300 ms later.
    TwiceLater,
    /// Suppresses the first two copies.
    Lose,
    /// Sends a message (with `R` prepended) in the opposite direction.
    Reply,
}

impl Kind {
    /// Returns a list with `passes` times [`Self::Pass`] and these kinds.
    pub(crate) fn mix(passes: usize, kinds: &[Self]) -> Vec<Self> {
        let mut mix = vec![Self::Pass; passes];
        mix.extend(kinds);
        mix
    }
}

/// The decisions so far, by direction (true for client to server) and message.
pub(crate) type Memo = Arc<Mutex<BTreeMap<(bool, Vec<u8>), Kind>>>;

/// The rules, with their random numbers and decisions.
#[derive(Clone)]
pub(crate) struct Dice {
    random: Random,
    kinds: Vec<Kind>,
    memo: Memo,
}

impl Dice {
    pub(crate) fn new(seed: u64, kinds: &[Kind]) -> (Self, Memo) {
        let memo = Memo::default();
        (
            Self {
                random: Random::new(seed ^ 0xd1ce),
                kinds: kinds.to_vec(),
                memo: memo.clone(),
            },
            memo,
        )
    }
}

impl Decide for Dice {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        if !message.vital {
            return Verdict::PASS;
        }
        let index = self.random.below(self.kinds.len() as u64);
        let kind = self.kinds[usize::try_from(index).unwrap()];
        let key = (message.dir == Dir::C2s, message.data.to_vec());
        let before = self.memo.lock().unwrap().insert(key, kind);
        assert!(
            before.is_none(),
            "decided twice: {}",
            String::from_utf8_lossy(message.data)
        );
        verdict(kind, message)
    }
}

fn verdict(kind: Kind, message: &Message<'_>) -> Verdict {
    let prefixed = |prefix: u8| {
        let mut data = vec![prefix];
        data.extend(message.data);
        data
    };
    let made = |prefix, dir| vec![made(dir, prefixed(prefix))];
    let ms = Duration::from_millis;
    let fate = match kind {
        Kind::Drop => Fate::Drop,
        Kind::Late => Fate::Delay {
            for_: ms(1700),
            order: Order::Free,
        },
        Kind::Wait => Fate::Delay {
            for_: ms(2500),
            order: Order::Kept,
        },
        Kind::Held => Fate::Hold {
            key: 1,
            max: ms(1500),
            order: Order::Kept,
        },
        Kind::Reorder => Fate::Reorder { group: 1, after: 2 },
        Kind::Lose => Fate::Lose { times: 2 },
        _ => Fate::Pass,
    };
    Verdict {
        fate,
        edit: (kind == Kind::Edit).then(|| prefixed(b'M')),
        before: if kind == Kind::Before {
            made(b'I', message.dir)
        } else {
            Vec::new()
        },
        after: match kind {
            Kind::After => made(b'J', message.dir),
            Kind::Reply => made(b'R', message.dir.reverse()),
            _ => Vec::new(),
        },
        copies: match kind {
            Kind::Twice => vec![Duration::ZERO],
            Kind::TwiceLater => vec![ms(300)],
            _ => Vec::new(),
        },
        ..Verdict::PASS
    }
}

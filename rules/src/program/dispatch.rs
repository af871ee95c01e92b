//! Finds the rules, and the windows of link lines, that a message visits.
//!
//! Law: a message skips only rules that would neither act on it nor remember anything about it. So a rule costs nothing
//! for unrelated messages. The same holds for windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use teetap_wire::def::{Class, Def, Id};
use teetap_wire::{Dir, Layer, MessageId, Proto};

use super::compile::Rules;
use crate::eval::{DefKey, Subject};

/// Number of message ids that are looked up by index.
const NUMBERS: usize = 128;

/// Marks an id that several messages share.
const SHARED: u16 = u16::MAX;

/// Rules and windows of link lines that a message visits, by index and in order.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visited {
    pub(super) rules: Box<[u16]>,
    pub(super) windows: Box<[u16]>,
}

impl Visited {
    pub(super) const fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.windows.is_empty()
    }
}

/// Rules and windows for each message, by protocol and direction. A table is built when the first message needs it.
#[derive(Debug, Default)]
pub(super) struct Dispatch {
    tables: [[Option<Table>; 2]; Proto::ALL.len()],
    /// Rules and windows that every message visits, for tests.
    #[cfg(test)]
    pub(super) every: Option<Arc<Visited>>,
}

/// Rules and windows for each message in one direction.
#[derive(Debug)]
struct Table {
    /// Index of a list for each message with a definition, sorted.
    known: Vec<(DefKey, usize)>,
    /// Index of a list plus one, by class and small id; 0 if no message has the id, [`SHARED`] if several have it.
    numbered: [[u16; NUMBERS]; Class::ALL.len()],
    /// Index of a list for messages without a definition, by class.
    unknown: [usize; Class::ALL.len()],
    /// Bits of the ids whose messages visit nothing and do not begin the game, by layer.
    ignored: [u128; 2],
    /// Distinct lists of rules and windows.
    lists: Vec<Arc<Visited>>,
}

impl Dispatch {
    /// Returns the rules and windows that a message visits; `None` if there are none.
    pub(super) fn visited(
        &mut self,
        rules: &Rules,
        (proto, dir): (Proto, Dir),
        subject: &Subject<'_>,
    ) -> Option<Arc<Visited>> {
        #[cfg(test)]
        if let Some(every) = &self.every {
            return Some(Arc::clone(every));
        }
        self.table(rules, (proto, dir))?
            .list(proto, subject)
            .filter(|list| !list.is_empty())
            .cloned()
    }

    /// Returns true if messages with this id visit nothing and do not begin the game. Returns false for UUIDs and large
    /// ids.
    pub(super) fn ignores(&mut self, rules: &Rules, place: (Proto, Dir), id: MessageId) -> bool {
        #[cfg(test)]
        if self.every.is_some() {
            return false;
        }
        let Some(table) = self.table(rules, place).filter(|_| id.uuid.is_none()) else {
            return false;
        };
        let bit = u32::try_from(id.id).ok().and_then(|id| 1u128.checked_shl(id));
        let [system, game] = table.ignored;
        let ignored = match id.layer {
            Layer::System => system,
            Layer::Game => game,
        };
        bit.is_some_and(|bit| ignored & bit != 0)
    }

    fn table(&mut self, rules: &Rules, (proto, dir): (Proto, Dir)) -> Option<&Table> {
        let tables = self.tables.get_mut(proto as usize);
        let table = tables.and_then(|tables| tables.get_mut(dir as usize))?;
        Some(table.get_or_insert_with(|| Table::new(rules, proto, dir)))
    }
}

impl Table {
    fn new(of: &Rules, proto: Proto, dir: Dir) -> Self {
        let mut lists: BTreeMap<Arc<Visited>, usize> = BTreeMap::new();
        let mut list = |class, def: Option<&Def>| {
            let rules = (0..).zip(&of.rules);
            let rules = rules.filter(|(_, rule)| rule.concerns(proto, dir, class, def));
            let windows = (0..).zip(&of.windows);
            let windows = windows.filter(|(_, window)| window.concerns(proto, dir, class, def));
            let visited = Arc::new(Visited {
                rules: rules.map(|(at, _)| at).collect(),
                windows: windows.map(|(at, _)| at).collect(),
            });
            let next = lists.len();
            *lists.entry(visited).or_insert(next)
        };
        let defs = of.registry.defs(proto.into());
        let mut known: Vec<_> = defs
            .map(|def| (DefKey::new(proto.into(), def), list(def.class, Some(def))))
            .collect();
        known.sort_unstable();
        let mut numbered = [[0; NUMBERS]; Class::ALL.len()];
        for (key, list) in &known {
            let entry = key
                .small()
                .and_then(|(class, number)| numbered.get_mut(class as usize)?.get_mut(number as usize));
            if let (Some(entry), Ok(list)) = (entry, u16::try_from(list + 1)) {
                *entry = if *entry == 0 { list } else { SHARED };
            }
        }
        let unknown = Class::ALL.map(|class| list(class, None));
        let mut lists: Vec<_> = lists.into_iter().collect();
        let empty = lists
            .iter()
            .find(|(visited, _)| visited.is_empty())
            .map(|(_, at)| *at);
        let ignored = [Layer::System, Layer::Game].map(|layer| {
            let numbers = (0i32..).take(NUMBERS).filter(|number| {
                let id = MessageId {
                    layer,
                    id: *number,
                    uuid: None,
                };
                let found = of.registry.identify(proto, dir, id);
                found.is_some_and(|def| {
                    let at = known.binary_search_by_key(&DefKey::new(proto.into(), def), |(key, _)| *key);
                    let list = at.ok().and_then(|at| known.get(at)).map(|(_, list)| *list);
                    list.is_some() && list == empty && !is_entry(dir, def)
                })
            });
            numbers.fold(0, |bits, number| bits | 1 << number)
        });
        lists.sort_unstable_by_key(|(_, at)| *at);
        Self {
            known,
            numbered,
            unknown,
            ignored,
            lists: lists.into_iter().map(|(list, _)| list).collect(),
        }
    }

    fn list(&self, proto: Proto, subject: &Subject<'_>) -> Option<&Arc<Visited>> {
        let of_known = |def| {
            let key = DefKey::new(proto.into(), def);
            let at = self.known.binary_search_by_key(&key, |(known, _)| *known).ok()?;
            self.known.get(at).map(|(_, list)| *list)
        };
        let of_number = |def: &Def| {
            let Id::Number(number) = def.id else { return None };
            let numbered = self.numbered.get(def.class as usize)?;
            let entry = usize::try_from(number)
                .ok()
                .and_then(|number| numbered.get(number));
            let entry = entry.filter(|entry| **entry != SHARED)?;
            usize::from(*entry).checked_sub(1)
        };
        let at = match subject.def {
            Some(def) => of_number(def).or_else(|| of_known(def)),
            None => self.unknown.get(subject.class? as usize).copied(),
        };
        self.lists.get(at?)
    }
}

/// Returns true if this message begins the game for its sender.
pub(super) fn is_entry(dir: Dir, def: &Def) -> bool {
    dir == Dir::C2s && def.class == Class::System && *def.name == *"enter_game"
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
mod tests {
    use teetap_wire::Seq;
    use teetap_wire::def::{Datum, Registry};

    use super::*;
    use crate::dice::{DrawKey as DiceKey, DrawRng};
    use crate::program::compile::compile;
    use crate::program::{Logic as _, Opening, Shared};
    use crate::verdict::{Message, Verdict};

    /// Rules whose conditions have all kinds of memory.
    const RULES: &str = "\
        drop when cl_say chance 30%\n\
        mark when count(cl_say) > 3 and sv_chat\n\
        mark when seen(sv_motd) and c2s every 2\n\
        mark when not cl_say skip 5\n\
        dup when s2c and last(cl_say).team == 0\n\
        mark when vital after sv_chat until count(sv_motd) > 4\n\
        hold until sv_motd max 1s when cl_emoticon\n\
        mark when unknown\n\
        mark when sys.77 or game.3\n\
        mark when since(sv_chat) > 1s and n > 2\n\
        swap when any_snap or sv_chat\n\
        mark when \"o\" or /b+/\n\
        link c2s loss 1% after count(cl_say) > 200 until sv_chat and t > 300s\n\
        link both loss 1% until sv_motd and last(cl_say).team == 0";

    #[test]
    fn only_rules_that_a_message_concerns_are_visited_and_nothing_else_changes() {
        let registry = Registry::builtin();
        let compiled = || compile(RULES, registry).unwrap().0;
        let every = Arc::new(Visited {
            rules: (0..12).collect(),
            windows: (0..2).collect(),
        });
        let mut states = [None, Some(every)].map(|every| {
            let rules = Arc::new(compiled());
            let mut shared = rules.share(Shared::default());
            shared.dispatch.every = every;
            let opening = Opening {
                seed: 3,
                session: 1,
                at: 0,
                is_new: true,
                client: None,
            };
            (rules.open(opening, None), shared)
        });
        let names = [
            "cl_say",
            "sv_chat",
            "sv_motd",
            "cl_emoticon",
            "cl_kill",
            "input",
            "snap_empty",
            "ready",
        ];
        let mut verdicts = 0;
        for ordinal in 0..3000 {
            let mut dice = DrawRng::new(DiceKey {
                seed: 5,
                rule: 0,
                session: 0,
                dir: Dir::C2s,
                name: 0,
                ordinal,
            });
            let [pick, way, vital] = [names.len() as u64 + 2, 10, 2].map(|end| dice.below(end));
            let name = usize::try_from(pick).ok().and_then(|pick| names.get(pick));
            let def = name.and_then(|name| registry.named(Proto::Ddnet, None, name).next());
            let mut data = vec![0x99, 0x02, 0x01];
            let mut dir = Dir::C2s;
            if let Some(def) = def {
                data.clear();
                def.encode(&Datum::Group(Vec::new()), &mut data).unwrap();
                if !def.way.allows(dir) || way == 0 {
                    dir = dir.reverse();
                }
            }
            let seq = (vital == 0).then_some(Seq::new(7));
            let message = Message::alone((1, dir, Proto::Ddnet), seq, &data, ordinal * 150_000);
            let [one, all] = states.each_mut().map(|(state, shared)| {
                let verdict = state.decide(&message, shared);
                (verdict, state.effects(), state.open_lines())
            });
            assert_eq!(one, all, "{ordinal}: {name:?}");
            verdicts += usize::from(!one.0.rules.is_empty());
        }
        assert!(verdicts > 1000, "{verdicts}");
    }

    /// Rules about few messages, which remember more than the messages that visit them.
    const RARE: &[&str] = &[
        "drop when sv_broadcast",
        "mark when cl_say chance 30%\ninject s2c sv_chat{client_id: -1, message: \"hi\"} every 1s",
        "mark when sv_chat after ready until cl_emoticon",
        "expect sv_motd within 2s when cl_say",
        "link s2c loss 1% after cl_say",
    ];

    #[test]
    fn nothing_comes_of_messages_that_are_ignored() {
        let registry = Registry::builtin();
        for text in RARE {
            let rules = Arc::new(
                compile(text, registry)
                    .unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
                    .0,
            );
            let opening = Opening {
                seed: 3,
                session: 1,
                at: 0,
                is_new: false,
                client: None,
            };
            let mut states = [(); 2].map(|()| {
                let shared = rules.share(Shared::default());
                (Arc::clone(&rules).open(opening, None), shared)
            });
            let mut ignored = 0;
            for (ordinal, name) in [
                "cl_say",
                "input",
                "sv_chat",
                "ready",
                "input",
                "snap",
                "sv_motd",
                "cl_emoticon",
                "input",
            ]
            .iter()
            .cycle()
            .take(90)
            .enumerate()
            {
                let def = registry.named(Proto::Ddnet, None, name).next().unwrap();
                let mut data = Vec::new();
                def.encode(&Datum::Group(Vec::new()), &mut data).unwrap();
                let dir = if def.way.allows(Dir::C2s) {
                    Dir::C2s
                } else {
                    Dir::S2c
                };
                let at = ordinal as u64 * 300_000;
                let message = Message::alone((1, dir, Proto::Ddnet), None, &data, at);
                let id = message.id.unwrap();
                let [(some, shared), (all, all_shared)] = &mut states;
                let is_ignored = some.ignores((Proto::Ddnet, dir), id, shared);
                ignored += usize::from(is_ignored);
                let verdict = if is_ignored {
                    Verdict::PASS
                } else {
                    some.decide(&message, shared)
                };
                let made = some.on_time(at + 1, shared);
                let expected = all.decide(&message, all_shared);
                assert_eq!(
                    (verdict, made, some.effects(), some.deadline(), some.open_lines()),
                    (
                        expected,
                        all.on_time(at + 1, all_shared),
                        all.effects(),
                        all.deadline(),
                        all.open_lines()
                    ),
                    "{text}: {ordinal}: {name}"
                );
            }
            assert_eq!(ignored > 0, !text.starts_with("expect"), "{text}: {ignored}");
        }
    }

    #[test]
    fn a_message_visits_few_rules() {
        let registry = Registry::builtin();
        let rules = compile(RULES, registry).unwrap().0;
        let mut dispatch = Dispatch::default();
        let mut visited = |dir, name: &str| {
            let def = registry.named(Proto::V7, None, name).next().unwrap();
            let subject = Subject {
                class: Some(def.class),
                id: crate::eval::Identity::Other,
                def: Some(def),
            };
            let visited = dispatch.visited(&rules, (Proto::V7, dir), &subject).unwrap();
            (visited.rules.to_vec(), visited.windows.to_vec())
        };
        assert_eq!(visited(Dir::C2s, "cl_kill"), (vec![2, 3, 5, 9], vec![0]));
        assert_eq!(
            visited(Dir::S2c, "sv_motd"),
            (vec![2, 3, 4, 5, 6, 9, 11], vec![0, 1])
        );
        assert_eq!(visited(Dir::C2s, "cl_say").1, [0]);
    }
}

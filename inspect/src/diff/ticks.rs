//! Compares inputs and snapshots by tick.
//!
//! Ticks are comparable only if both sides saw the same game, for example two legs of a run, or a recording and its
//! edited copy. Two runs have unrelated ticks, so there is nothing to compare by tick.

use std::collections::{BTreeMap, HashMap};

use teetap_proxy::session::Time;
use teetap_wire::{
    Dir,
    def::Decoded,
    snap::{Change, Completed, Item, ItemKey},
};

use super::{
    collect::SNAPSHOTS,
    difference::{DiffSettings, Difference, FieldDifference, How, add_rules, both_rules, differing},
    entry::{Exact, Field, object},
    lineage::Rules,
    side::{Input, Side, TimedSnapshot},
};
use crate::Layer;

/// Maximum number of snapshots examined to find out whether both sides saw the same game.
const SAMPLE: usize = 500;

/// Maximum number of fields listed in a difference that joins several objects.
const FIELDS: usize = 64;

/// The result of the comparison by ticks.
#[derive(Debug, Default)]
pub(super) struct ByTick {
    pub(super) same_game: Option<bool>,
    pub(super) alike: u64,
    pub(super) differences: Vec<Difference>,
}

/// Compares inputs and snapshots.
pub(super) fn compare(a: &Side, b: &Side, settings: &DiffSettings) -> ByTick {
    let shots = [a, b].map(|side| by_tick(&side.snapshots.list, |shot| shot.snapshot.tick().into()));
    let inputs = [a, b].map(|side| by_tick(&side.inputs.list, |input| input.tick));
    let same_game = same_game(&shots).or_else(|| same_inputs(&inputs));
    let mut found = Joined::new(settings);
    if same_game == Some(true) {
        for (tick, pair) in pairs(&inputs) {
            found.input(tick, pair);
        }
        for (tick, pair) in pairs(&shots) {
            found.snapshot(tick, pair);
        }
    }
    ByTick {
        same_game,
        alike: found.alike,
        differences: found.list,
    }
}

type Ticks<'s, T> = BTreeMap<i64, &'s T>;

fn by_tick<T>(list: &[T], tick: impl Fn(&T) -> i64) -> Ticks<'_, T> {
    list.iter().map(|one| (tick(one), one)).collect()
}

/// Returns the elements of both sides for each tick, in order of the ticks.
fn pairs<'s, T>([a, b]: &[Ticks<'s, T>; 2]) -> Vec<(i64, [Option<&'s T>; 2])> {
    let mut all: BTreeMap<i64, [Option<&'s T>; 2]> = BTreeMap::new();
    for (tick, one) in a {
        all.insert(*tick, [Some(*one), None]);
    }
    for (tick, other) in b {
        let [_, place] = all.entry(*tick).or_default();
        *place = Some(*other);
    }
    all.into_iter().collect()
}

/// Returns true if both sides have snapshots for most ticks, and most changes within them are equal. `None` if a side
/// has no snapshots.
fn same_game([a, b]: &[Ticks<'_, TimedSnapshot>; 2]) -> Option<bool> {
    let least = a.len().min(b.len());
    if least == 0 {
        return None;
    }
    let common = || a.iter().filter_map(|(tick, shot)| Some((*shot, *b.get(tick)?)));
    if common().count() * 2 < least {
        return Some(false);
    }
    // Counts of ints that change between snapshots, equal ints among them, equal snapshots, and all snapshots.
    let (mut changed, mut alike, mut whole, mut seen) = (0u64, 0u64, 0u64, 0u64);
    let mut before: Option<&TimedSnapshot> = None;
    for (shot, other) in common().take(SAMPLE) {
        let (now, other) = (shot.snapshot.view(), other.snapshot.view());
        seen += 1;
        whole += u64::from(now.snapshot().items().eq(other.snapshot().items()));
        let was = before.replace(shot).map(|before| before.snapshot.view());
        for (key, ints) in now.snapshot().items() {
            let was = was
                .as_ref()
                .and_then(|was| was.snapshot().get(key))
                .unwrap_or_default();
            let other = other.snapshot().get(key).unwrap_or_default();
            for (at, int) in ints.iter().enumerate() {
                if was.get(at).is_some_and(|was| was != int) {
                    changed += 1;
                    alike += u64::from(other.get(at) == Some(int));
                }
            }
        }
    }
    Some(if changed == 0 {
        whole * 2 >= seen
    } else {
        alike * 2 >= changed
    })
}

/// Returns true if most inputs are for the same ticks and equal. `None` if a side has no inputs.
fn same_inputs([a, b]: &[Ticks<'_, Input>; 2]) -> Option<bool> {
    let least = a.len().min(b.len());
    let is_alike = |entry: &(&i64, &&Input)| {
        let (tick, input) = entry;
        b.get(tick).is_some_and(|other| other.fields == input.fields)
    };
    let alike = a.iter().filter(is_alike).count();
    (least > 0).then_some(alike * 2 >= least)
}

/// Collects differences. Joins differences of the same kind and type of object, unless the settings list each of them.
struct Joined<'m> {
    settings: &'m DiffSettings,
    alike: u64,
    list: Vec<Difference>,
    /// Index of each joined difference in `list`.
    known: HashMap<(How, Box<str>), usize>,
    buffer: Decoded,
}

/// Where a difference is: its tick, and time and frame on each side that has the element.
#[derive(Clone, Copy)]
struct DifferencePlace<'r> {
    dir: Dir,
    tick: i64,
    at: [Option<(Time, Option<u64>)>; 2],
    rules: [Option<&'r Rules>; 2],
}

impl<'m> Joined<'m> {
    fn new(settings: &'m DiffSettings) -> Self {
        Self {
            settings,
            alike: 0,
            list: Vec::new(),
            known: HashMap::new(),
            buffer: Decoded::new(),
        }
    }

    /// Compares the inputs for one tick.
    fn input(&mut self, tick: i64, pair: [Option<&Input>; 2]) {
        let place = DifferencePlace {
            dir: Dir::C2s,
            tick,
            at: pair.map(|input| input.map(|input| (input.at, input.frame))),
            rules: pair.map(|input| input.map(|input| &input.rules)),
        };
        let fields = pair.map(|input| input.map(|input| &*input.fields));
        self.compare((Some(Layer::System), "input", None), place, fields, true);
    }

    /// Compares the snapshots of one tick.
    fn snapshot(&mut self, tick: i64, pair: [Option<&TimedSnapshot>; 2]) {
        let place = DifferencePlace {
            dir: Dir::S2c,
            tick,
            at: pair.map(|shot| shot.map(|shot| (shot.at, shot.frame))),
            rules: pair.map(|shot| shot.map(|shot| &shot.rules)),
        };
        let [Some(a), Some(b)] = pair else {
            let fields: [Option<&[Field]>; 2] = pair.map(|shot| shot.map(|_| &[][..]));
            self.compare((Some(Layer::System), SNAPSHOTS, None), place, fields, true);
            return;
        };
        let (a, b) = (a.snapshot.view(), b.snapshot.view());
        if a.snapshot().items().eq(b.snapshot().items()) {
            self.alike += 1;
            return;
        }
        let (items_a, items_b) = (items(&a), items(&b));
        let mut is_different = false;
        for (key, item) in &items_a {
            is_different |= self.item(place, [Some(item), items_b.get(key)]);
        }
        for (_, item) in items_b.iter().filter(|(key, _)| !items_a.contains_key(key)) {
            is_different |= self.item(place, [None, Some(item)]);
        }
        self.alike += u64::from(!is_different);
    }

    /// Compares an object. Returns true if it differs.
    fn item(&mut self, place: DifferencePlace<'_>, pair: [Option<&Item<'_>>; 2]) -> bool {
        let [a, b] = pair;
        let Some(item) = a.or(b) else { return false };
        if a.zip(b).is_some_and(|(a, b)| a.ints == b.ints) {
            return false;
        }
        let name = item
            .name()
            .map_or_else(|| format!("type {}", item.key.kind), str::to_owned);
        if self.settings.ignore.message(&name) || self.settings.ignore.message(SNAPSHOTS) {
            return false;
        }
        let fields = pair.map(|item| item.map(|item| self.fields(&name, item)));
        let [of_a, of_b] = &fields;
        let fields = [of_a.as_deref(), of_b.as_deref()];
        self.compare((None, &name, Some(item.key.id)), place, fields, false)
    }

    fn fields(&mut self, name: &str, item: &Item<'_>) -> Vec<Field> {
        let DiffSettings { ignore, secrets, .. } = self.settings;
        let mut fields = match item.read(&mut self.buffer) {
            Some(def) => object(def, self.buffer.view(), item.ints, *secrets),
            None => unnamed(item.ints),
        };
        fields.retain(|field| !ignore.field(name, &field.path));
        fields
    }

    /// Compares two elements. Returns true if they differ. Equal elements are counted if `is_whole`, for inputs and
    /// snapshots.
    fn compare(
        &mut self,
        (layer, name, id): (Option<Layer>, &str, Option<u16>),
        place: DifferencePlace<'_>,
        fields: [Option<&[Field]>; 2],
        is_whole: bool,
    ) -> bool {
        let (how, fields) = match fields {
            [Some(a), Some(b)] => {
                let fields = differing(a, b);
                if fields.is_empty() {
                    self.alike += u64::from(is_whole);
                    return false;
                }
                (How::Changed, fields)
            }
            [Some(_), None] => (How::OnlyA, Vec::new()),
            [None, Some(_)] => (How::OnlyB, Vec::new()),
            [None, None] => return false,
        };
        let known = (!self.settings.each).then(|| self.known.get(&(how, name.into())).copied());
        if let Some(known) = known.flatten().and_then(|at| self.list.get_mut(at)) {
            known.count += 1;
            join(&mut known.fields, fields);
            add_rules(
                &mut known.rules,
                place.rules.into_iter().flatten().flat_map(|rules| rules.iter()),
            );
            return true;
        }
        self.known.insert((how, name.into()), self.list.len());
        self.list.push(Difference {
            how,
            dir: place.dir,
            layer,
            name: name.into(),
            at: place.at.map(|at| at.map(|(at, _)| at)),
            frame: place.at.map(|at| at.and_then(|(_, frame)| frame)),
            tick: Some(place.tick),
            id,
            count: 1,
            fields,
            rules: both_rules(place.rules),
        });
        true
    }
}

/// Adds the fields that are not listed yet.
fn join(known: &mut Vec<FieldDifference>, fields: Vec<FieldDifference>) {
    for field in fields {
        if known.len() < FIELDS && known.iter().all(|known| known.path != field.path) {
            known.push(field);
        }
    }
}

/// Returns the objects of a snapshot.
fn items<'s>(completed: &Completed<'s>) -> BTreeMap<ItemKey, Item<'s>> {
    let items = completed.items();
    items
        .filter(|item| item.change != Change::Deleted)
        .map(|item| (item.key, item))
        .collect()
}

/// Returns the ints of an object without a definition, named by index.
fn unnamed(ints: &[i32]) -> Vec<Field> {
    let fields = ints.iter().enumerate().map(|(at, int)| Field {
        path: at.to_string().into(),
        exact: Exact::Int((*int).into()),
        text: int.to_string().into(),
    });
    fields.collect()
}

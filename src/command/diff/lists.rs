//! Fields of a list on one line.

use std::collections::HashMap;

use teetap_inspect::diff::FieldDifference;

/// Shown for a field that a side lacks.
pub(super) const NONE: &str = "(none)";

/// Joins fields that differ only by an index in a list: `clients[1,4].name: "a", "b" | "c", "d"`. Leaves out the length of
/// such a list.
pub(super) fn with_lists_joined(fields: &[FieldDifference]) -> Vec<FieldDifference> {
    let mut out: Vec<FieldDifference> = Vec::with_capacity(fields.len());
    let mut known: HashMap<(&str, &str), (usize, Vec<&FieldDifference>)> = HashMap::new();
    for field in fields {
        match element(&field.path) {
            Some((list, _, rest)) => {
                let place = known.entry((list, rest)).or_insert_with(|| {
                    out.push(field.clone());
                    (out.len() - 1, Vec::new())
                });
                place.1.push(field);
            }
            None => out.push(field.clone()),
        }
    }
    let mut lists: Vec<&str> = Vec::new();
    for ((list, rest), (at, elements)) in known {
        lists.push(list);
        let indices = elements.iter().filter_map(|field| Some(element(&field.path)?.1));
        let values = [0, 1].map(|side| {
            let values = elements.iter().map(|field| field.values.get(side)?.as_deref());
            let values: Vec<Option<&str>> = values.collect();
            let has_any = values.iter().any(Option::is_some);
            let joined = values
                .iter()
                .map(|value| value.unwrap_or(NONE))
                .collect::<Vec<_>>()
                .join(", ");
            has_any.then(|| joined.into())
        });
        if let Some(place) = out.get_mut(at) {
            *place = FieldDifference {
                path: format!("{list}[{}]{rest}", ranges(indices)).into(),
                values,
            };
        }
    }
    out.retain(|field| !lists.contains(&&*field.path));
    out
}

/// Joins indices: `0-3,7`.
fn ranges<'i>(indices: impl Iterator<Item = &'i str>) -> String {
    let mut ends: Vec<(&str, &str)> = Vec::new();
    for index in indices {
        let follows = |end: &str| {
            let (end, index) = (end.parse::<u64>().ok()?, index.parse::<u64>().ok()?);
            Some(end.checked_add(1)? == index)
        };
        match ends.last_mut() {
            Some((_, end)) if follows(end) == Some(true) => *end = index,
            _ => ends.push((index, index)),
        }
    }
    let texts = ends.iter().map(|(start, end)| match start == end {
        true => (*start).to_owned(),
        false => format!("{start}-{end}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Splits the path of an element of a list: `clients`, `2` and `.name` of `clients[2].name`.
fn element(path: &str) -> Option<(&str, &str, &str)> {
    let (list, rest) = path.split_once('[')?;
    let (index, rest) = rest.split_once(']')?;
    Some((list, index, rest))
}

//! What somebody meant who mistyped a name.

/// Longest name that is compared, in characters.
const MAX: usize = 64;

/// The candidate nearest to `name`, if one is near enough to be meant: a third of its characters may be wrong.
#[must_use]
pub fn suggest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let fold = |text: &str| {
        text.chars()
            .take(MAX)
            .map(|c| c.to_ascii_lowercase())
            .collect::<Vec<_>>()
    };
    let wanted = fold(name);
    let near = candidates.into_iter().map(|candidate| {
        let other = fold(candidate);
        let allowed = (wanted.len().max(other.len()) / 3).max(1);
        (distance(&wanted, &other), allowed, candidate)
    });
    near.filter(|(distance, allowed, _)| distance <= allowed)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., candidate)| candidate)
}

/// What to say to somebody who wrote `name`: the candidate that was meant, else all of them.
pub(super) fn meant_or_all<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str> + Clone) -> String {
    match suggest(name, candidates.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => candidates.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// Letters to insert, delete, change or swap with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut left_a = None;
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        let mut left_b = None;
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&row, j) + usize::from(x != y);
            let mut best = changed.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            if j > 0 && left_a == Some(y) && left_b == Some(x) {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
            left_b = Some(y);
        }
        left_a = Some(x);
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_meant() {
        let names = ["message", "team", "client_id", "sv_chat"];
        for (typed, meant) in [
            ("mesage", Some("message")),
            ("maessge", Some("message")),
            ("client", Some("client_id")),
            ("clinic", None),
            ("clientid", Some("client_id")),
            ("sv_caht", Some("sv_chat")),
            ("SV_CHAT", Some("sv_chat")),
            ("taem", Some("team")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(suggest(typed, names), meant, "{typed}");
        }
    }
}

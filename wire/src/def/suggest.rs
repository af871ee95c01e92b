//! Suggestions for mistyped names.

use strsim::osa_distance;

/// The maximum length of a name that is compared, in characters.
const MAX: usize = 64;

/// Returns the candidate most similar to `name`, if at most a third of its characters differ.
#[must_use]
pub fn suggest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let fold = |text: &str| {
        text.chars()
            .take(MAX)
            .map(|c| c.to_ascii_lowercase())
            .collect::<String>()
    };
    let wanted = fold(name);
    let near = candidates.into_iter().map(|candidate| {
        let other = fold(candidate);
        let longer = wanted.chars().count().max(other.chars().count());
        (osa_distance(&wanted, &other), (longer / 3).max(1), candidate)
    });
    near.filter(|(distance, allowed, _)| distance <= allowed)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., candidate)| candidate)
}

/// Returns the question for the name that was probably meant, in a sentence. In the help of a diagnostic, which quotes
/// source text, see [`meant_in_source`].
#[must_use]
pub fn did_you_mean(name: &str) -> String {
    format!("did you mean '{name}'?")
}

/// Returns the question of [`did_you_mean`] as the end of a sentence; empty for `None`.
#[must_use]
pub fn meant_clause(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |name| format!("; {}", did_you_mean(name)))
}

/// Returns the question for the source text that was probably meant, for the help of a diagnostic.
#[must_use]
pub fn meant_in_source(text: &str) -> String {
    format!("did you mean `{text}`?")
}

/// Returns the suggestion for `name` as help text, or a list of all candidates.
pub(super) fn meant_or_all<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str> + Clone) -> String {
    match suggest(name, candidates.clone()) {
        Some(meant) => meant_in_source(meant),
        None => candidates.into_iter().collect::<Vec<_>>().join(", "),
    }
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

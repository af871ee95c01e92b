//! Profiles of link lines, defined by a text or built in.
//!
//! Law: a profile of the text takes precedence over a built-in profile with the same name.

use std::collections::BTreeMap;

use teetap_wire::def::suggest;

use crate::diagnostic::{Code, Diagnostic};
use crate::impair::LinkLine;
use crate::span::Span;
use crate::syntax::{Profile, Statement, Use, parse_statements};

/// Maximum number of link lines in a program, including the lines of its profiles.
const MAX_LINES: usize = 64;

/// Builds the table of built-in profiles from their files.
macro_rules! built_in {
    ($($name:literal)*) => {
        /// Built-in profiles: name and text.
        const BUILT_IN: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../profiles/", $name, ".tap"))),)*
        ];
    };
}

built_in! {
    "3g" "4g" "dsl-bufferbloat" "satellite" "server-hitch" "wifi-bad"
}

/// Returns the names of the built-in profiles, sorted.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Returns the text of a built-in profile, with the sources of its figures; `None` if there is no such profile.
#[must_use]
pub fn profile(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Profiles that a text can use.
pub(super) struct Profiles(BTreeMap<String, Vec<LinkLine>>);

impl Profiles {
    /// Collects the profiles of a text. Two profiles with the same name are an error.
    pub(super) fn from_statements(statements: &[Statement], diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut own = BTreeMap::new();
        for profile in statements.iter().filter_map(as_profile) {
            let name = &profile.name;
            if own.insert(name.text.clone(), lines(profile)).is_some() {
                let what = format!("two profiles are called `{}`", name.text);
                diagnostics.push(Diagnostic::new(Code::NotHere, name.span, what));
            }
        }
        Self(own)
    }

    /// Adds the lines of a profile.
    pub(super) fn add_used(&self, wanted: &Use, all: &mut Vec<LinkLine>, diagnostics: &mut Vec<Diagnostic>) {
        let name = &wanted.name;
        let own = self.0.get(&name.text).cloned();
        match own.or_else(|| profile(&name.text).map(read)) {
            Some(lines) => self.add(lines, name.span, all, diagnostics),
            None => {
                let built_in = profiles().map(ToOwned::to_owned);
                let names: Vec<String> = self.0.keys().cloned().chain(built_in).collect();
                let what = format!("no profile is called `{}`", name.text.escape_debug());
                let error = Diagnostic::new(Code::UnknownName, name.span, what)
                    .meant(suggest(&name.text, names.iter().map(String::as_str)))
                    .note(format!("profiles: {}", names.join(" ")));
                diagnostics.push(error);
            }
        }
    }

    /// Adds lines, and reports an error if there are more than [`MAX_LINES`].
    pub(super) fn add(
        &self,
        lines: impl IntoIterator<Item = LinkLine>,
        span: Span,
        all: &mut Vec<LinkLine>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let had_room = all.len() <= MAX_LINES;
        all.extend(lines);
        if had_room && all.len() > MAX_LINES {
            let what = format!("more than {MAX_LINES} link lines");
            diagnostics.push(Diagnostic::new(Code::TooComplex, span, what));
        }
    }
}

fn as_profile(statement: &Statement) -> Option<&Profile> {
    match statement {
        Statement::Profile(profile) => Some(profile),
        _ => None,
    }
}

fn lines(profile: &Profile) -> Vec<LinkLine> {
    profile.links.iter().map(|link| link.line.clone()).collect()
}

/// Parses a built-in profile. A test parses all of them.
fn read(text: &str) -> Vec<LinkLine> {
    let statements = parse_statements(text).unwrap_or_default();
    statements.iter().filter_map(as_profile).flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_built_in_profile_is_one_profile_of_its_name_with_sources() {
        let mut names: Vec<_> = profiles().collect();
        for (name, text) in BUILT_IN {
            let statements = parse_statements(text).unwrap();
            let [Statement::Profile(profile)] = &statements[..] else {
                panic!("{name}: {statements:?}");
            };
            assert_eq!(profile.name.text, *name);
            assert_eq!(read(text).len(), profile.links.len());
            assert!(text.contains("Source"), "{name}");
        }
        names.sort_unstable();
        assert!(profiles().eq(names));
    }
}

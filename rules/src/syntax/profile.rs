//! Profiles of link lines, and their use.

use std::fmt;

use winnow::combinator::opt;
use winnow::prelude::*;
use winnow::token::take_while;

use super::ast::Name;
use super::error::wanted;
use super::lex::{Input, Parsed, blank, cut, here, next_thing, rest, text};
use super::link::{Link, first_word, link};
use super::print::quoted;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// `profile NAME { link both delay 40ms }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name of the profile.
    pub name: Name,
    /// Link lines, at least one.
    pub links: Vec<Link>,
}

/// `use "NAME"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Name of the profile.
    pub name: Name,
}

/// Parses a profile. Backtracks if another statement begins here.
pub(super) fn profile(i: &mut Input<'_>) -> Parsed<Profile> {
    first_word(i, "profile")?;
    blank(i)?;
    let start = here(i);
    let name: &str = take_while(0.., is_name).parse_next(i)?;
    if name.is_empty() {
        return cut(wanted(i, "the name of a profile"));
    }
    let name = Name {
        text: name.to_owned(),
        span: Span::new(start, here(i)),
    };
    blank(i)?;
    let open = Span::new(here(i), here(i) + 1);
    if opt('{').parse_next(i)?.is_none() {
        return cut(wanted(i, "`{`"));
    }
    let mut links = Vec::new();
    loop {
        blank(i)?;
        if opt('}').parse_next(i)?.is_some() {
            break;
        }
        if rest(i).is_empty() {
            return cut(Diagnostic::new(Code::Unclosed, open, "`{` has no `}`"));
        }
        match opt(link).parse_next(i)? {
            Some(link) => links.push(link),
            None => return cut(wanted(i, "`link` or `}`")),
        }
    }
    if links.is_empty() {
        return cut(Diagnostic::new(
            Code::Expected,
            open,
            "a profile without link lines",
        ));
    }
    ends(i)?;
    Ok(Profile { name, links })
}

/// Parses the use of a profile. Backtracks if another statement begins here.
pub(super) fn use_(i: &mut Input<'_>) -> Parsed<Use> {
    first_word(i, "use")?;
    blank(i)?;
    if !rest(i).starts_with('"') {
        let error = wanted(i, "the name of a profile in quotes");
        let (_, found) = next_thing(i);
        let found = found.trim_matches('`').to_owned();
        let is_named = rest(i).starts_with(is_name);
        return cut(if is_named {
            error.help(format!("write `use \"{found}\"`"))
        } else {
            error
        });
    }
    let (text, span) = text(i)?;
    ends(i)?;
    Ok(Use {
        name: Name { text, span },
    })
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn ends(i: &mut Input<'_>) -> Parsed<()> {
    blank(i)?;
    if rest(i).is_empty() {
        Ok(())
    } else {
        cut(wanted(i, "the end of the line"))
    }
}

/// Formats the profile in its canonical form: one link line per line.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "profile {} {{", self.name.text)?;
        for link in &self.links {
            writeln!(f, "    {link}")?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("use ")?;
        quoted(f, &self.name.text)
    }
}

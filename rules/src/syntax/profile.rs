//! Profiles of link lines, and their use.

use std::fmt;

use winnow::combinator::opt;
use winnow::prelude::*;
use winnow::token::take_while;

use super::ast::Name;
use super::error::wanted;
use super::lex::{Input, Parsed, at_text, blank, cut, here, rest, text};
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
        return cut(wanted(i, "the name of a profile").help("write `profile slow { link both delay 200ms }`"));
    }
    let name = Name {
        text: name.to_owned(),
        span: Span::new(start, here(i)),
    };
    blank(i)?;
    let open = Span::new(here(i), here(i) + 1);
    if opt('{').parse_next(i)?.is_none() {
        return cut(wanted(i, "`{`").help(format!(
            "write `profile {} {{ link both delay 200ms }}`",
            name.text
        )));
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
            None => {
                return cut(wanted(i, "`link` or `}`")
                    .help("a profile has link lines only, as in `link both delay 200ms`"));
            }
        }
    }
    if links.is_empty() {
        return cut(
            Diagnostic::new(Code::Expected, open, "a profile without link lines")
                .help("add a line such as `link both delay 200ms`"),
        );
    }
    ends(i)?;
    Ok(Profile { name, links })
}

/// Parses the use of a profile. Backtracks if another statement begins here.
pub(super) fn use_(i: &mut Input<'_>) -> Parsed<Use> {
    first_word(i, "use")?;
    blank(i)?;
    let start = here(i);
    let bare: &str = take_while(0.., is_name).parse_next(i)?;
    let (text, span) = match (bare, at_text(i)) {
        ("", true) => text(i)?,
        ("", false) => {
            let error = wanted(i, "the name of a profile, as in `use \"wifi-bad\"`");
            return cut(error.help("write `use \"wifi-bad\"`"));
        }
        // The name of a profile needs no quotes, as where it is defined.
        (bare, _) => (bare.to_owned(), Span::new(start, here(i))),
    };
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
        cut(wanted(i, "the end of the line").help("write one statement on a line"))
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

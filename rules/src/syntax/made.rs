//! Messages that a rule creates: `inject` and `reply`.

use std::fmt;

use teetap_wire::Dir;
use winnow::combinator::opt;
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::token::one_of;

use super::advice;
use super::ast::{Expr, Kind, Name, Path};
use super::error::wanted;
use super::lex::{
    self, Failure, Input, Parsed, at_text, blank, cut, here, keyword, plain, rest, word, word_char,
};
use super::operand::close;
use super::parse::{MAX_LENGTH, expression, path};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::synonym::{self, Place};

/// `s2c sv_chat{client_id: -1, message: "hi"}`
#[derive(Debug, Clone, Eq)]
pub struct Made {
    /// Direction; `None` for a reply, which is sent against the direction of the matched message.
    pub dir: Option<Dir>,
    /// True if it is sent ahead of the matched message.
    pub before: bool,
    /// Name of the message.
    pub name: Path,
    /// Fields with their values.
    pub fields: Vec<(Name, Expr)>,
    /// True to send it without a sequence number, even if it is usually vital.
    pub nonvital: bool,
    /// Position of the name and the fields.
    pub span: Span,
}

impl PartialEq for Made {
    fn eq(&self, other: &Self) -> bool {
        let key = |made: &Self| (made.dir, made.before, made.nonvital);
        key(self) == key(other) && self.name == other.name && self.fields == other.fields
    }
}

/// Parses a whole text as a message that the user sends, `s2c sv_chat{message: "text"}`. Without a direction the text
/// is a change of an existing message.
///
/// # Errors
/// Returns the first error.
pub(crate) fn parse_made(text: &str, has_direction: bool) -> Result<Made, Diagnostic> {
    if text.len() > MAX_LENGTH {
        let span = Span::new(text.floor_char_boundary(MAX_LENGTH), text.len());
        let what = format!("longer than {MAX_LENGTH} bytes");
        return Err(Diagnostic::new(Code::TooComplex, span, what));
    }
    let mut input = plain(text);
    let read = if has_direction { inject } else { message };
    let i = &mut input;
    let whole = read(i).and_then(|made| {
        blank(i)?;
        match rest(i).is_empty() {
            true => Ok(made),
            false => cut(wanted(i, "the end of the message")
                .help("write one message, as in `sv_chat{message: \"hi\"}`")),
        }
    });
    match whole {
        Ok(made) => match input.state.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(made),
        },
        Err(ErrMode::Cut(Failure(Some(error))) | ErrMode::Backtrack(Failure(Some(error)))) => Err(*error),
        Err(_) => Err(wanted(&input, "a message")),
    }
}

pub(super) fn inject(i: &mut Input<'_>) -> Parsed<Made> {
    blank(i)?;
    let before = opt(keyword("before")).parse_next(i)?.is_some();
    blank(i)?;
    let error = wanted(i, "`c2s` or `s2c`");
    let dir_of = advice::direction(rest(i));
    let start = i.checkpoint();
    let dir =
        match opt(word).parse_next(i)? {
            Some(("c2s", _)) => Dir::C2s,
            Some(("s2c", _)) => Dir::S2c,
            Some((name, _)) => match usual_dir(name) {
                Some(dir) => {
                    i.reset(&start);
                    dir
                }
                None if dir_of.is_some() => {
                    let help = format!("write `inject {}`", dir_of.unwrap_or("s2c"));
                    return cut(error.help(help));
                }
                None => return cut(
                    error.help(synonym::help(Place::Direction, name).unwrap_or_else(|| {
                        format!(
                            "write `inject s2c {name}` to the client, or `inject c2s {name}` to the server"
                        )
                    })),
                ),
            },
            None => return cut(error.help("write `inject s2c sv_chat{message: \"hi\"}`")),
        };
    let mut made = message(i)?;
    (made.dir, made.before) = (Some(dir), before);
    blank(i)?;
    made.nonvital = opt(keyword("nonvital")).parse_next(i)?.is_some();
    Ok(made)
}

/// Returns the direction in which the games send a message, by the start of its name; `None` if the name does not tell.
fn usual_dir(name: &str) -> Option<Dir> {
    let name = name.to_ascii_lowercase();
    let name = ["netmsgtype_", "cnetmsg_"]
        .iter()
        .find_map(|start| name.strip_prefix(start))
        .unwrap_or(&name);
    match name.get(..3) {
        Some("sv_") => Some(Dir::S2c),
        Some("cl_") => Some(Dir::C2s),
        _ => None,
    }
}

pub(super) fn message(i: &mut Input<'_>) -> Parsed<Made> {
    let start_error = {
        blank(i)?;
        wanted(i, "the name of a message")
            .help("write a message with its fields, as in `sv_chat{message: \"hi\"}`")
    };
    let start = here(i);
    if at_text(i) {
        let text = rest(i).split(['"', '\'']).nth(1).unwrap_or("hi");
        let help = format!("write `sv_chat{{message: \"{text}\"}}`, the message with its fields");
        return cut(start_error.help(help));
    }
    let (written, after) = advice::split_word(rest(i));
    if !written.is_empty() && after.starts_with(['(', '"', '\'']) {
        let text = after
            .trim_start_matches('(')
            .split(['"', '\''])
            .nth(1)
            .unwrap_or("hi");
        let help =
            format!("write `{written}{{message: \"{text}\"}}`: fields are in braces, with their names");
        word(i)?;
        blank(i)?;
        return cut(wanted(i, "`{`").help(help));
    }
    let Kind::Path(name) = path(i)?.kind else {
        return cut(start_error);
    };
    if name.dot {
        return cut(start_error);
    }
    let mut fields: Vec<(Name, Expr)> = Vec::new();
    if rest(i).trim_start().starts_with('{') {
        blank(i)?;
    }
    let open = Span::new(here(i), here(i) + 1);
    if opt('{').parse_next(i)?.is_some() {
        blank(i)?;
        while !rest(i).starts_with('}') {
            let field = field(i)?;
            if fields.iter().any(|(known, _)| *known == field.0) {
                let what = format!("`{}` has a value already", field.0.text);
                return cut(Diagnostic::new(Code::Repeated, field.0.span, what));
            }
            fields.push(field);
            blank(i)?;
            if opt(',').parse_next(i)?.is_none() {
                break;
            }
            blank(i)?;
        }
        close(i, open, '}')?;
    }
    Ok(Made {
        dir: None,
        before: false,
        name,
        fields,
        nonvital: false,
        span: Span::new(start, here(i)),
    })
}

fn field(i: &mut Input<'_>) -> Parsed<(Name, Expr)> {
    let error = wanted(i, "the name of a field, as in `{message: \"text\"}`");
    let name = opt(word)
        .parse_next(i)?
        .map(|(name, span)| (name.to_owned(), span));
    // JSON has the names of fields in quotes.
    let name = match name {
        None if at_text(i) => {
            Some(lex::text(i)?).filter(|(name, _)| !name.is_empty() && name.chars().all(word_char))
        }
        name => name,
    };
    let Some((text, span)) = name else {
        return cut(error.help("write the name of each field before its value, as in `{message: \"hi\"}`"));
    };
    blank(i)?;
    if opt(one_of([':', '='])).parse_next(i)?.is_none() {
        let value = rest(i).trim_start_matches(['=', ' ']);
        let value = value
            .get(..value.find([',', '}']).unwrap_or(value.len()))
            .unwrap_or_default();
        return cut(wanted(i, "`:`").help(format!("write `{text}: {}`", value.trim())));
    }
    Ok((Name { text, span }, expression(i)?))
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dir {
            Some(dir) => {
                let before = if self.before { "before " } else { "" };
                write!(f, "inject {before}{dir} ")?;
            }
            None => f.write_str("reply ")?,
        }
        write!(f, "{}", self.name)?;
        for (at, (name, value)) in self.fields.iter().enumerate() {
            let sign = if at == 0 { "{" } else { ", " };
            write!(f, "{sign}{}: {value}", name.text)?;
        }
        f.write_str(if self.fields.is_empty() { "" } else { "}" })?;
        f.write_str(if self.nonvital { " nonvital" } else { "" })
    }
}

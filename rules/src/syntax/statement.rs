//! Statements: the lines of a program.
//!
//! Law: a statement is one line and the indented lines below it. Each statement is parsed separately, so that all
//! errors of a text are found at once. The first word determines the kind of a statement. A profile extends to its `}`.

use std::fmt;

use winnow::combinator::{alt, opt};
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stateful, Stream};

use super::advice::is_condition;
use super::argument::opt_number;
use super::error::wanted;
use super::lex::{Counts, Failure, Input, Parsed, Trials, backtrack, blank, cut, keyword, plain, rest};
use super::link::{Link, link};
use super::named::{Let, let_};
use super::parse::{MAX_LENGTH, is_expression};
use super::profile::{Profile, Use, profile, use_};
use super::rule::{Rule, name, rule};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Maximum number of statements in one text.
pub(crate) const MAX_STATEMENTS: usize = 1024;

/// A statement of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// Actions on the messages that match a condition.
    Rule(Rule),
    /// Impairment of the datagrams in one or both directions.
    Link(Link),
    /// Link lines with a common name.
    Profile(Profile),
    /// Use of the link lines of a profile.
    Use(Use),
    /// An expression with a name.
    Let(Let),
    /// `seed 42`: the seed of the random decisions.
    Seed {
        /// The seed.
        seed: u64,
        /// Position in the text.
        span: Span,
    },
}

/// Formats the statement in its canonical form, with the name of a rule.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => {
                if let Some(name) = &rule.name {
                    write!(f, "{}: ", name.text)?;
                }
                rule.fmt(f)
            }
            Self::Link(link) => link.fmt(f),
            Self::Profile(profile) => profile.fmt(f),
            Self::Use(used) => used.fmt(f),
            Self::Let(let_) => let_.fmt(f),
            Self::Seed { seed, .. } => write!(f, "seed {seed}"),
        }
    }
}

/// Parses a text as statements, in the order of the text.
///
/// # Errors
/// Returns all errors in the order of the text.
pub fn parse_statements(text: &str) -> Result<Vec<Statement>, Vec<Diagnostic>> {
    let (mut statements, mut errors) = (Vec::new(), Vec::new());
    for (at, span) in places(text).into_iter().enumerate() {
        if at == MAX_STATEMENTS {
            let what = format!("more than {MAX_STATEMENTS} statements");
            errors.push(Diagnostic::new(Code::TooComplex, span, what));
            break;
        }
        match parse_statement(text, span) {
            Ok((statement, _)) => statements.push(statement),
            Err(wrong) => errors.extend(wrong),
        }
    }
    if errors.is_empty() {
        Ok(statements)
    } else {
        Err(errors)
    }
}

/// A statement in a text, valid or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlined {
    /// Position in the text.
    pub span: Span,
    /// Name of the statement; `None` if it has none.
    pub name: Option<String>,
    /// Text in its canonical form. If the text has an error or no canonical form, the text as written, on one line.
    pub text: String,
}

/// Returns the statements of a text, valid or not, in the order of the text.
#[must_use]
pub fn outline(text: &str) -> Vec<Outlined> {
    let outlined = |span: Span| match parse_statement(text, span) {
        Ok((Statement::Rule(rule), _)) => Outlined {
            span,
            text: rule.to_string(),
            name: rule.name.map(|name| name.text),
        },
        Ok((Statement::Link(mut link), _)) => {
            let name = link.line.name.take().map(String::from);
            let text = link.to_string();
            Outlined { span, name, text }
        }
        _ => {
            let lines = text.get(span.start..span.end).unwrap_or_default().lines();
            let code = lines.filter(|line| !line.trim_start().starts_with('#'));
            let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
            Outlined {
                span,
                name: None,
                text: words.join(" "),
            }
        }
    };
    places(text).into_iter().map(outlined).collect()
}

/// Returns the positions of the statements: a line that is neither blank nor a comment, and the indented lines below
/// it.
pub(crate) fn places(text: &str) -> Vec<Span> {
    let mut places: Vec<Span> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = Span::new(start, start + line.trim_end().len());
        start += line.len();
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_indented = line.starts_with([' ', '\t']);
        match places.last_mut() {
            Some(last) if !is_blank && (is_indented || is_open(text, *last)) => last.end = span.end,
            _ if is_blank => {}
            _ => places.push(span),
        }
    }
    places
}

/// Returns true if the text is a profile that still lacks its `}`. A profile that is too long is an error in any case.
fn is_open(text: &str, place: Span) -> bool {
    let text = text.get(place.start..place.end).unwrap_or_default();
    let is_profile = text
        .strip_prefix("profile")
        .is_some_and(|rest| rest.starts_with([' ', '\t']));
    if !is_profile || text.len() > MAX_LENGTH {
        return false;
    }
    let (mut open, mut closed) = (0, 0);
    for line in text.lines() {
        // Braces inside quotes do not count.
        let code = line
            .split('"')
            .step_by(2)
            .map(|code| (code.split('#').next(), code));
        for (code, whole) in code {
            let code = code.unwrap_or_default();
            open += code.matches('{').count();
            closed += code.matches('}').count();
            if code.len() < whole.len() {
                break;
            }
        }
    }
    open > closed
}

/// Parses one statement. Also returns the positions of its comments, in order.
pub(super) fn parse_statement(text: &str, span: Span) -> Result<(Statement, Vec<Span>), Vec<Diagnostic>> {
    if span.end - span.start > MAX_LENGTH {
        let what = format!("a statement longer than {MAX_LENGTH} bytes");
        return Err(vec![Diagnostic::new(Code::TooComplex, span, what)]);
    }
    let mut input = Stateful {
        input: LocatingSlice::new(text.get(..span.end).unwrap_or(text)),
        state: Counts {
            trials: Trials {
                statement: Some(is_statement),
                expression: Some(is_expression),
            },
            ..Counts::default()
        },
    };
    input.next_slice(span.start);
    let result = statement(&mut input);
    let mut errors = std::mem::take(&mut input.state.errors);
    match result {
        Ok(statement) if errors.is_empty() => {
            let mut comments = std::mem::take(&mut input.state.comments);
            comments.sort_unstable_by_key(|comment| comment.start);
            comments.dedup();
            return Ok((statement, comments));
        }
        Ok(_) => {}
        Err(ErrMode::Cut(Failure(Some(error))) | ErrMode::Backtrack(Failure(Some(error)))) => {
            errors.push(*error);
        }
        Err(_) => errors.push(wanted(&input, "a statement")),
    }
    Err(errors.into_iter().map(Diagnostic::with_general_help).collect())
}

/// Returns true if `text` parses as a statement and, for a rule, [`is_condition`] accepts its condition.
fn is_statement(text: &str) -> bool {
    let mut i = plain(text);
    let is_meant = match statement(&mut i) {
        Ok(Statement::Rule(rule)) => rule.when.as_ref().is_none_or(is_condition),
        Ok(_) => true,
        Err(_) => false,
    };
    is_meant && rest(&i).trim().is_empty() && i.state.errors.is_empty()
}

fn statement(i: &mut Input<'_>) -> Parsed<Statement> {
    alt((
        whole_link.map(Statement::Link),
        profile.map(Statement::Profile),
        use_.map(Statement::Use),
        let_.map(Statement::Let),
        seed,
        rule.map(Statement::Rule),
    ))
    .parse_next(i)
}

/// Parses a link line that is a separate statement, and may have a name.
fn whole_link(i: &mut Input<'_>) -> Parsed<Link> {
    blank(i)?;
    let name = opt(name).parse_next(i)?;
    let mut link = link(i)?;
    if let Some(name) = name {
        link.span = name.span.to(link.span);
        link.line.name = Some(name.text.into());
    }
    if rest(i).is_empty() {
        Ok(link)
    } else {
        cut(wanted(i, "the end of the line").help("write one link line on a line"))
    }
}

/// Parses `seed 42`. Backtracks for a rule named `seed`.
fn seed(i: &mut Input<'_>) -> Parsed<Statement> {
    blank(i)?;
    let start = keyword("seed")(i)?;
    if let Some(after) = rest(i).trim_start().strip_prefix(':') {
        let number = after.trim();
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            return cut(wanted(i, "a number, as in `seed 42`").help(format!("write `seed {number}`")));
        }
        return backtrack();
    }
    let Some((number, span)) = opt_number(i)? else {
        let number = rest(i).trim_start_matches(|c: char| !c.is_ascii_digit());
        let number = number.get(..number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
        let number = number.filter(|number| !number.is_empty()).unwrap_or("42");
        return cut(wanted(i, "a number, as in `seed 42`").help(format!("write `seed {number}`")));
    };
    if number.unit.is_some() || number.decimals > 0 {
        let what = format!("expected a number, found `{number}`");
        return cut(Diagnostic::new(Code::MissingUnit, span, what).help("write `seed 42`"));
    }
    blank(i)?;
    if !rest(i).is_empty() {
        return cut(wanted(i, "the end of the line").help("write one statement on a line"));
    }
    Ok(Statement::Seed {
        seed: number.digits,
        span: start.to(span),
    })
}

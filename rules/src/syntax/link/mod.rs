//! Link lines.
//!
//! Law: parsing continues after a wrong parameter, so that all errors of a line are found at once.

mod values;

use std::fmt;
use std::time::Duration;

use teetap_wire::def::suggest;
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::token::take_while;

use crate::diagnostic::{Code, Diagnostic};
use crate::impair::{Dirs, LinkLine, MAX_DELAY, MAX_QUEUE};
use crate::span::Span;
use crate::synonym::{self, Place};
use crate::syntax::argument::duration;
use crate::syntax::ast::{Expr, Kind};
use crate::syntax::error::{leftover, wanted};
use crate::syntax::lex::{Failure, Input, Parsed, backtrack, blank, cut, here, keyword, rest, word};
use crate::syntax::number::Quantity;
use crate::syntax::parse::expression;
use crate::syntax::words::LINK_WORDS;
use values::{amount, jitter, loss, reorder, share, spread, time};

/// Words that limit the time and the datagrams on which a line acts.
const LIMITS: [&str; 5] = ["connless", "from", "to", "after", "until"];
/// Modifiers of rules that link lines do not have.
const ONLY_RULES: [&str; 7] = ["chance", "every", "skip", "first", "once", "max", "per"];
const DIRS: [Dirs; 3] = [Dirs::C2s, Dirs::S2c, Dirs::Both];

/// `link s2c loss 5% from 10s`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Parameters of the line.
    pub line: LinkLine,
    /// Range from `link` to the last parameter.
    pub span: Span,
}

/// Parses a link line. Backtracks if another statement begins here.
pub(in crate::syntax) fn link(i: &mut Input<'_>) -> Parsed<Link> {
    let start = first_word(i, "link")?;
    blank(i)?;
    let dirs = directions(i)?;
    let mut reader = Reader {
        line: LinkLine::new(dirs),
        places: Vec::new(),
    };
    let errors = i.state.errors.len();
    let mut end = here(i);
    loop {
        blank(i)?;
        if at_end(i) {
            break;
        }
        match reader.parameter(i) {
            Ok(()) => {}
            Err(ErrMode::Cut(Failure(Some(error)))) => {
                i.state.errors.push(*error);
                skip(i)?;
            }
            Err(other) => return Err(other),
        }
        end = here(i);
    }
    let span = Span::new(start.start, end);
    if i.state.errors.len() == errors {
        reader.check(i, span)?;
    }
    Ok(Link {
        line: reader.line,
        span,
    })
}

/// Parses the directions of a line. A line without them, `link delay 40ms`, acts in both.
fn directions(i: &mut Input<'_>) -> Parsed<Dirs> {
    if LINK_WORDS.contains(&first(rest(i))) {
        return Ok(Dirs::Both);
    }
    let Ok((name, span)) = word(i) else {
        let error = wanted(i, "`c2s`, `s2c` or `both`");
        return cut(error.help("write `link both delay 40ms`"));
    };
    match DIRS.into_iter().find(|dirs| dirs.name() == name) {
        Some(dirs) => Ok(dirs),
        None => {
            let what = format!("expected `c2s`, `s2c` or `both`, found `{name}`");
            let names = DIRS.iter().map(|dirs| dirs.name());
            let error = Diagnostic::new(Code::Expected, span, what).meant(suggest(name, names));
            let help = synonym::help(Place::Direction, name).or_else(|| synonym::help(Place::Link, name));
            let known = Some("write `link both delay 40ms`, or `c2s` or `s2c` for one direction".to_owned());
            let is_near = error.help.is_some();
            cut(error.or_help(help.or_else(|| known.filter(|_| !is_near))))
        }
    }
}

/// Parses the first word of a statement. A rule's name may be the same word.
pub(in crate::syntax) fn first_word(i: &mut Input<'_>, wanted: &'static str) -> Parsed<Span> {
    blank(i)?;
    let span = keyword(wanted).parse_next(i)?;
    if rest(i).trim_start_matches([' ', '\t']).starts_with(':') {
        return backtrack();
    }
    Ok(span)
}

/// Returns true if no parameter follows: at the end, or in a profile before `}` or the next `link`.
fn at_end(i: &Input<'_>) -> bool {
    let text = rest(i);
    text.is_empty() || text.starts_with('}') || first(text) == "link"
}

/// Returns the word at the beginning of a text.
fn first(text: &str) -> &str {
    let end = text
        .find(|c: char| !crate::syntax::lex::word_char(c))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Skips to the next parameter.
fn skip(i: &mut Input<'_>) -> Parsed<()> {
    loop {
        blank(i)?;
        if at_end(i) || LINK_WORDS.contains(&first(rest(i))) {
            return Ok(());
        }
        take_while(1.., |c: char| !c.is_whitespace() && c != '}')
            .void()
            .parse_next(i)?;
    }
}

/// Parser for the parameters of one line.
struct Reader {
    line: LinkLine,
    /// Words so far, with their positions.
    places: Vec<(&'static str, Span)>,
}

impl Reader {
    fn parameter(&mut self, i: &mut Input<'_>) -> Parsed<()> {
        let missing = wanted(i, "a parameter of the link");
        let Ok((name, span)) = word(i) else {
            let help = self.other_help(rest(i));
            return cut(missing
                .help(help)
                .note(format!("parameters: {}", LINK_WORDS.join(" "))));
        };
        let Some(name) = LINK_WORDS.into_iter().find(|known| *known == name) else {
            return cut(unknown(name, span));
        };
        let is_twice = self.places.iter().any(|(known, _)| *known == name);
        self.places.push((name, span));
        self.value(name, i)?;
        if is_twice {
            return cut(twice(name, span));
        }
        Ok(())
    }

    fn value(&mut self, name: &str, i: &mut Input<'_>) -> Parsed<()> {
        let line = &mut self.line;
        match name {
            "delay" => {
                line.delay = Some(time(i, "delay 40ms", MAX_DELAY)?);
                let start = here(i);
                if let Some(jitter) = spread(i)? {
                    // As if `jitter` stood here.
                    let is_twice = line.jitter.replace(jitter).is_some();
                    self.places.push(("jitter", Span::new(start, here(i))));
                    if is_twice {
                        return cut(twice("jitter", Span::new(start, here(i))));
                    }
                }
            }
            "jitter" => line.jitter = Some(jitter(i)?),
            "loss" => line.loss = Some(loss(i)?),
            "dup" => line.dup = Some(share(i, "dup 1%")?),
            "reorder" => line.reorder = Some(reorder(i)?),
            "corrupt" => line.corrupt = Some(share(i, "corrupt 1%")?),
            "rate" => {
                let rate = amount(i, Quantity::Rate, "rate 2mbit", 1..=i64::MAX)?;
                line.rate = u64::try_from(rate).ok();
            }
            "queue" => {
                let queue = amount(i, Quantity::Size, "queue 64kB", 1..=MAX_QUEUE.into())?;
                line.queue = u32::try_from(queue).ok();
            }
            "blackhole" => line.blackhole = true,
            "connless" => line.connless = true,
            "from" | "to" => {
                let (at, other) = match name {
                    "from" => (&mut line.from, "after"),
                    _ => (&mut line.to, "until"),
                };
                let time = time(i, "from 10s to 20s", Duration::MAX)?;
                let is_other = self.places.iter().any(|(known, _)| *known == other);
                if at.replace(time).is_some() && is_other {
                    let span = self.places.last().map_or(Span::default(), |(_, span)| *span);
                    return cut(same_time(span, name, other));
                }
            }
            "after" => bound(i, name, (&mut line.from, &mut line.after))?,
            _ => bound(i, name, (&mut line.to, &mut line.until))?,
        }
        Ok(())
    }

    /// Returns help for text that is not a parameter.
    fn other_help(&self, text: &str) -> String {
        match (text.chars().next(), self.places.last()) {
            (Some(';' | ','), _) => "parameters follow each other without a sign: `delay 40ms loss 1%`".to_owned(),
            (Some('+' | '-' | '\u{b1}'), Some(("delay", _))) => "write `delay 60ms jitter 10ms`".to_owned(),
            (Some('.'), Some(("delay", _))) => {
                "write `delay 80ms jitter 20ms` for 60 ms to 100 ms: a link varies around its delay".to_owned()
            }
            (Some('/'), Some(("rate", _))) => "write `rate 2mbit`: a rate is per second".to_owned(),
            (Some('0'..='9'), Some(("loss", _))) => {
                "write `loss 5%` alone, or `loss gemodel 1% 30%` for loss in bursts: netem's correlation is not part of it".to_owned()
            }
            (Some('0'..='9'), Some(("delay" | "jitter", _))) => {
                "write `delay 40ms jitter 10ms normal`: netem's correlation is not part of it".to_owned()
            }
            (Some('0'..='9'), Some((name, _))) => format!("`{name}` has one value: remove the second one"),
            (Some('0'..='9'), None) => "write what the number is, as in `link both delay 40ms`".to_owned(),
            (Some(':' | '='), _) => "write the value after a blank, as in `delay 40ms`".to_owned(),
            _ => "write `link both delay 40ms jitter 8ms loss 1%`".to_owned(),
        }
    }

    /// Checks that the parameters are consistent.
    fn check(&self, i: &mut Input<'_>, span: Span) -> Parsed<()> {
        let line = &self.line;
        let place = |name| {
            let found = self.places.iter().find(|(known, _)| *known == name);
            found.map_or(span, |(_, span)| *span)
        };
        let mut error = |code, name, what: &str, help: &str| {
            let error = Diagnostic::new(code, place(name), what).help(help);
            i.state.errors.push(error);
        };
        if line.jitter.is_some() && line.delay.is_none() {
            let help = "write `delay 40ms jitter 10ms`";
            error(Code::Expected, "jitter", "`jitter` needs a `delay` to vary", help);
        }
        if line.reorder.is_some() && line.delay.is_none() {
            let help = "a reordered datagram skips the delay of this line: write `delay 40ms reorder 5%`";
            error(Code::Expected, "reorder", "`reorder` needs a `delay`", help);
        }
        if line.queue.is_some() && line.rate.is_none() {
            let help = "write `rate 2mbit queue 64kB`";
            error(Code::Expected, "queue", "`queue` needs a `rate`", help);
        }
        if let (Some(from), Some(to)) = (line.from, line.to)
            && from >= to
        {
            let help = "`from` is the earlier time";
            let word = if place("to") == span { "until" } else { "to" };
            error(Code::BadRange, word, "the window ends before it begins", help);
        }
        let is_limit = |(name, _): &(&str, Span)| LIMITS.contains(name);
        if self.places.iter().all(is_limit) {
            return cut(wanted(i, "a parameter such as `delay 40ms`")
                .help("write `link both delay 40ms`, or `blackhole` for an outage")
                .note(format!("parameters: {}", LINK_WORDS.join(" "))));
        }
        Ok(())
    }
}

/// Parses one end of a window: a time, which `from` and `to` can also set, or an expression.
fn bound(
    i: &mut Input<'_>,
    name: &str,
    (time, other): (&mut Option<Duration>, &mut Option<Expr>),
) -> Parsed<()> {
    let expr = expression(i)?;
    blank(i)?;
    let next = first(rest(i));
    if !at_end(i) && !LINK_WORDS.contains(&next) && !ONLY_RULES.contains(&next) {
        let error = leftover(i, "a parameter of the link");
        return cut(match error.help {
            None => error.meant(suggest(next, LINK_WORDS)),
            Some(_) => error,
        });
    }
    let Kind::Number(number) = &expr.kind else {
        *other = Some(expr);
        return Ok(());
    };
    if time.replace(duration(*number, expr.span)?).is_some() {
        let other = if name == "after" { "from" } else { "to" };
        return cut(same_time(expr.span, name, other));
    }
    Ok(())
}

/// Returns the error for a time that two words set.
fn same_time(span: Span, name: &str, other: &str) -> Diagnostic {
    let what = format!("`{name}` with a time means the same as `{other}`, which is there already");
    Diagnostic::new(Code::NotHere, span, what)
}

/// Returns the error for a parameter that a line already has.
fn twice(name: &str, span: Span) -> Diagnostic {
    let what = format!("`{name}` is given twice");
    Diagnostic::new(Code::NotHere, span, what)
        .help("remove one of them; a second link line adds to the first")
}

fn unknown(name: &str, span: Span) -> Diagnostic {
    if ONLY_RULES.contains(&name) {
        let what = format!("`{name}` is for rules, not for link lines");
        return Diagnostic::new(Code::NotHere, span, what)
            .help("a link line acts `from` one time of the session `to` another");
    }
    let error = Diagnostic::new(
        Code::UnknownName,
        span,
        format!("a link has no parameter `{name}`"),
    )
    .meant(suggest(name, LINK_WORDS))
    .or_help(synonym::help(Place::Link, name));
    let is_dir = DIRS.iter().any(|dirs| dirs.name() == name);
    let dir = is_dir.then(|| format!("write `link {name}`, and then the parameters"));
    let example = "write `delay 40ms`, `loss 1%`, `rate 2mbit` or another parameter".to_owned();
    let known = error.help.is_none().then_some(example);
    error
        .or_help(dir.or(known))
        .note(format!("parameters: {}", LINK_WORDS.join(" ")))
}

/// Formats the line in its canonical form.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.fmt(f)
    }
}

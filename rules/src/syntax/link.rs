//! Link lines.
//!
//! Law: parsing continues after a wrong parameter, so that all errors of a line are found at once.

use std::fmt;
use std::time::Duration;
use strum::VariantNames as _;

use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::token::take_while;

use super::argument::{duration, measured, opt_number, opt_share};
use super::ast::{Expr, Kind};
use super::error::{leftover, wanted};
use super::lex::{Failure, Input, Parsed, backtrack, blank, cut, here, keyword, next_thing, rest, word};
use super::number::Quantity;
use super::parse::expression;
use crate::diagnostic::{Code, Diagnostic};
use crate::impair::{Dirs, Jitter, LinkLine, Loss, MAX_DELAY, MAX_QUEUE, Reorder, Shape};
use crate::span::Span;
use crate::units::Share;

/// Parameters and modifiers of a link line.
pub(crate) const LINK_WORDS: [&str; 14] = [
    "delay",
    "jitter",
    "loss",
    "dup",
    "reorder",
    "corrupt",
    "rate",
    "queue",
    "blackhole",
    "connless",
    "from",
    "to",
    "after",
    "until",
];
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
pub(super) fn link(i: &mut Input<'_>) -> Parsed<Link> {
    let start = first_word(i, "link")?;
    blank(i)?;
    let Ok((name, span)) = word(i) else {
        return cut(wanted(i, "`c2s`, `s2c` or `both`"));
    };
    let Some(dirs) = DIRS.into_iter().find(|dirs| dirs.name() == name) else {
        let what = format!("expected `c2s`, `s2c` or `both`, found `{name}`");
        let names = DIRS.iter().map(|dirs| dirs.name());
        return cut(Diagnostic::new(Code::Expected, span, what).meant(suggest(name, names)));
    };
    let mut reader = Reader {
        line: LinkLine::new(dirs),
        places: Vec::new(),
    };
    let errors = i.state.errors.len();
    let mut end = span.end;
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

/// Parses the first word of a statement. A rule's name may be the same word.
pub(super) fn first_word(i: &mut Input<'_>, wanted: &'static str) -> Parsed<Span> {
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
        .find(|c: char| !super::lex::word_char(c))
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
            return cut(missing.note(format!("parameters: {}", LINK_WORDS.join(" "))));
        };
        let Some(name) = LINK_WORDS.into_iter().find(|known| *known == name) else {
            return cut(unknown(name, span));
        };
        let is_twice = self.places.iter().any(|(known, _)| *known == name);
        self.places.push((name, span));
        self.value(name, i)?;
        if is_twice {
            let what = format!("`{name}` is given twice");
            return cut(
                Diagnostic::new(Code::NotHere, span, what).help("a second link line adds to the first")
            );
        }
        Ok(())
    }

    fn value(&mut self, name: &str, i: &mut Input<'_>) -> Parsed<()> {
        let line = &mut self.line;
        match name {
            "delay" => line.delay = Some(time(i, "delay 40ms", MAX_DELAY)?),
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

fn unknown(name: &str, span: Span) -> Diagnostic {
    if ONLY_RULES.contains(&name) {
        let what = format!("`{name}` is for rules, not for link lines");
        return Diagnostic::new(Code::NotHere, span, what)
            .help("a link line acts `from` one time of the session `to` another");
    }
    Diagnostic::new(
        Code::UnknownName,
        span,
        format!("a link has no parameter `{name}`"),
    )
    .meant(suggest(name, LINK_WORDS))
    .note(format!("parameters: {}", LINK_WORDS.join(" ")))
}

/// Parses a number of a quantity.
fn amount(
    i: &mut Input<'_>,
    quantity: Quantity,
    example: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Parsed<i64> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, quantity.name()).help(format!("as in `{example}`")));
    };
    let amount = measured(value, span, quantity)?;
    if range.contains(&amount) {
        return Ok(amount);
    }
    let what = match *range.end() {
        i64::MAX => format!("`{value}` is not a possible value here"),
        most => format!("`{value}` is not from {} to {most}", range.start()),
    };
    cut(Diagnostic::new(Code::Impossible, span, what))
}

fn time(i: &mut Input<'_>, example: &str, most: Duration) -> Parsed<Duration> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, Quantity::Duration.name()).help(format!("as in `{example}`")));
    };
    let time = duration(value, span)?;
    if time > most {
        let what = format!("a link delays by at most {} s", most.as_secs());
        return cut(Diagnostic::new(Code::Impossible, span, what));
    }
    Ok(time)
}

fn share(i: &mut Input<'_>, example: &str) -> Parsed<Share> {
    match opt_share(i)? {
        Some(share) => Ok(share),
        None => cut(wanted(i, Quantity::Percent.name()).help(format!("as in `{example}`"))),
    }
}

fn jitter(i: &mut Input<'_>) -> Parsed<Jitter> {
    let spread = time(i, "jitter 10ms", MAX_DELAY)?;
    blank(i)?;
    let name = first(rest(i));
    let shape = name.parse::<Shape>().ok();
    if shape.is_some() {
        word(i)?;
    } else if let Some(meant) = suggest(name, Shape::VARIANTS.iter().copied())
        && !LINK_WORDS.contains(&name)
        && suggest(name, LINK_WORDS).is_none()
    {
        let (span, found) = next_thing(i);
        let what = format!("no distribution {found}");
        return cut(Diagnostic::new(Code::UnknownName, span, what).meant(Some(meant)));
    }
    Ok(Jitter {
        spread,
        shape: shape.unwrap_or_default(),
    })
}

fn loss(i: &mut Input<'_>) -> Parsed<Loss> {
    const EXAMPLE: &str = "loss gemodel 1% 30%";
    blank(i)?;
    if opt(keyword("gemodel")).parse_next(i)?.is_none() {
        let error = wanted(i, "a percentage or `gemodel`").help("as in `loss 5%`");
        return match opt_share(i)? {
            Some(share) => Ok(Loss::Independent(share)),
            None => cut(error.meant(suggest(first(rest(i)), ["gemodel"]))),
        };
    }
    let (p, r) = (share(i, EXAMPLE)?, share(i, EXAMPLE)?);
    let bad = opt_share(i)?;
    let good = match bad {
        Some(_) => opt_share(i)?,
        None => None,
    };
    Ok(Loss::Gemodel {
        p,
        r,
        bad: bad.unwrap_or(Share::WHOLE),
        good: good.unwrap_or(Share::NONE),
    })
}

fn reorder(i: &mut Input<'_>) -> Parsed<Reorder> {
    let share = share(i, "reorder 5%")?;
    blank(i)?;
    let gap = match opt(keyword("gap")).parse_next(i)? {
        Some(_) => amount(i, Quantity::Plain, "reorder 25% gap 5", 1..=1_000_000)?,
        None => 1,
    };
    Ok(Reorder {
        share,
        gap: u32::try_from(gap).unwrap_or(1),
    })
}

/// Formats the line in its canonical form.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.fmt(f)
    }
}

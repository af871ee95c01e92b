//! Formats expressions in their canonical form.
//!
//! Law: the output parses to the same tree, apart from hidden characters of patterns, which become escapes. It uses the
//! words `and or not`, single blanks around operators, brackets only if necessary, and numbers as written.

use std::fmt::{self, Display, Formatter, Write as _};

use teetap_wire::{is_deceptive, is_invisible};

use super::ast::{Arith, Call, Choice, Expr, Kind, Path, Segment};

impl Expr {
    /// Returns the binding strength of the outermost operator.
    const fn power(&self) -> u8 {
        match &self.kind {
            Kind::Any(_) => 1,
            Kind::All(_) => 2,
            Kind::Not(_) => 3,
            Kind::Compare(..) | Kind::In(..) => 4,
            Kind::Arith(Arith::Add | Arith::Subtract, ..) => 5,
            Kind::Arith(..) => 6,
            Kind::Negate(_) => 7,
            _ => 8,
        }
    }
}

/// Formats an expression, in brackets if it binds less tightly than `power`.
struct Within<'e>(&'e Expr, u8);

impl Display for Within<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.power() < self.1 {
            write!(f, "({})", self.0)
        } else {
            self.0.fmt(f)
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let power = self.power();
        match &self.kind {
            Kind::Any(parts) => joined(f, parts, " or ", power),
            Kind::All(parts) => joined(f, parts, " and ", power),
            Kind::Not(inner) => write!(f, "not {}", Within(inner, power)),
            Kind::Compare(op, left, right) => {
                let (left, right) = (Within(left, power + 1), Within(right, power + 1));
                write!(f, "{left} {} {right}", op.sign())
            }
            Kind::In(value, choices) => {
                write!(f, "{} in {{", Within(value, power + 1))?;
                for (at, choice) in choices.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { " " })?;
                    choice.fmt(f)?;
                }
                f.write_char('}')
            }
            Kind::Arith(op, left, right) => {
                let (left, right) = (Within(left, power), Within(right, power + 1));
                write!(f, "{left} {} {right}", op.sign())
            }
            // Without brackets the sign would become part of the number.
            Kind::Negate(inner) => write!(f, "-{}", Within(inner, power)),
            Kind::Number(number) => number.fmt(f),
            Kind::Text(text) => quoted(f, text),
            Kind::Regex(pattern) => slashed(f, pattern),
            Kind::Path(path) => path.fmt(f),
            Kind::Variable(name) => write!(f, "${}", name.text),
            Kind::Call(call) => call.fmt(f),
        }
    }
}

fn joined(f: &mut Formatter<'_>, parts: &[Expr], sign: &str, power: u8) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { sign })?;
        Within(part, power + 1).fmt(f)?;
    }
    Ok(())
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(expr) => expr.fmt(f),
            Self::Range(from, to) => write!(f, "{from}..{to}"),
        }
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.text)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{}]", index.value))
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments.iter().enumerate() {
            f.write_str(if at > 0 || self.dot { "." } else { "" })?;
            segment.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name.text)?;
        for (at, argument) in self.arguments.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            argument.fmt(f)?;
        }
        f.write_char(')')?;
        self.rest.iter().try_for_each(|segment| write!(f, ".{segment}"))
    }
}

pub(super) fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    escaped(f, text)?;
    f.write_char('"')
}

/// Formats the inside of a quoted text.
pub(super) fn escaped(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if is_deceptive(c) || is_invisible(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    Ok(())
}

/// Formats a pattern between slashes. Escapes slashes, which would end the pattern, unless a backslash precedes them.
/// Writes hidden characters as escapes, which regular expressions also support.
fn slashed(f: &mut Formatter<'_>, pattern: &str) -> fmt::Result {
    f.write_char('/')?;
    let mut escaped = false;
    for c in pattern.chars() {
        if c == '/' && !escaped {
            f.write_char('\\')?;
        }
        if is_deceptive(c) || is_invisible(c) {
            let backslash = if escaped { "" } else { "\\" };
            write!(f, "{backslash}u{{{:x}}}", u32::from(c))?;
        } else {
            f.write_char(c)?;
        }
        escaped = c == '\\' && !escaped;
    }
    f.write_char('/')
}

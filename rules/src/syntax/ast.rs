//! Syntax tree of an expression.
//!
//! Law: two trees are equal if they have the same meaning, regardless of their position in the text.

use super::number::Number;
use crate::span::Span;

/// An expression with its position.
#[derive(Debug, Clone, Eq)]
pub struct Expr {
    /// Kind of the expression.
    pub kind: Kind,
    /// Position, without surrounding brackets.
    pub span: Span,
}

/// Kind of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `a or b or c`: at least two, none of them an `Any`.
    Any(Vec<Expr>),
    /// `a and b and c`: at least two, none of them an `All`.
    All(Vec<Expr>),
    /// `not a`.
    Not(Box<Expr>),
    /// `a == b`.
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// `a in {1 3..5 "x"}`.
    In(Box<Expr>, Vec<Choice>),
    /// `a + b`.
    Arith(Arith, Box<Expr>, Box<Expr>),
    /// `-a`; never a positive number, since a number has its own sign.
    Negate(Box<Expr>),
    /// `5`, `0x10`, `-40ms`, `5%`.
    Number(Number),
    /// `"text"`.
    Text(String),
    /// `/regex/`, without the slashes.
    Regex(String),
    /// `sv_chat.message`, `.team`, `c2s`.
    Path(Path),
    /// `$name`.
    Variable(Name),
    /// `last(sv_chat).message`.
    Call(Call),
}

/// A word of the text.
#[derive(Debug, Clone, Eq)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Position in the text.
    pub span: Span,
}

/// Names separated by dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// True if it starts with a dot, which means a field of this message.
    pub dot: bool,
    /// Names, at least one.
    pub segments: Vec<Segment>,
}

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Name; a number or UUID in `sys.4` and `sys.ex.…`, with dashes in `lint.overlong-int`.
    pub name: Name,
    /// Index in brackets after the name.
    pub index: Option<Index>,
}

/// `[3]`.
#[derive(Debug, Clone, Copy, Eq)]
pub struct Index {
    /// The number.
    pub value: u16,
    /// Position, without the brackets.
    pub span: Span,
}

/// A function and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name of the function.
    pub name: Name,
    /// The arguments.
    pub arguments: Vec<Expr>,
    /// Path after the closing bracket.
    pub rest: Vec<Segment>,
}

/// Member of a set: a number, text or name, or a range of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// `5`
    One(Expr),
    /// `1..5`, inclusive.
    Range(Expr, Expr),
}

/// An operator that compares two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `contains`
    Contains,
    /// `matches`
    Matches,
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arith {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Expr {
    /// Creates an expression.
    #[must_use]
    pub const fn new(kind: Kind, span: Span) -> Self {
        Self { kind, span }
    }

    /// Returns true if `wanted` returns true for a path in the expression, including arguments of functions.
    pub(crate) fn mentions(&self, wanted: &dyn Fn(&Path) -> bool) -> bool {
        let mut found = false;
        self.each_path(&mut |path| found |= wanted(path));
        found
    }

    /// Calls `each` with every path in the expression, including arguments of functions.
    pub(crate) fn each_path(&self, each: &mut dyn FnMut(&Path)) {
        if let Kind::Path(path) = &self.kind {
            each(path);
        }
        self.each_part(&mut |part| part.each_path(each));
    }

    /// Calls `each` with its direct operands and arguments.
    pub(crate) fn each_part(&self, each: &mut dyn FnMut(&Self)) {
        match &self.kind {
            Kind::Any(parts) | Kind::All(parts) => parts.iter().for_each(each),
            Kind::Not(inner) | Kind::Negate(inner) => each(inner),
            Kind::Compare(_, left, right) | Kind::Arith(_, left, right) => {
                each(left);
                each(right);
            }
            Kind::In(value, choices) => {
                each(value);
                for choice in choices {
                    match choice {
                        Choice::One(one) => each(one),
                        Choice::Range(from, to) => {
                            each(from);
                            each(to);
                        }
                    }
                }
            }
            Kind::Call(call) => call.arguments.iter().for_each(each),
            Kind::Path(_) | Kind::Number(_) | Kind::Text(_) | Kind::Regex(_) | Kind::Variable(_) => {}
        }
    }

    /// Returns the expression with each path replaced for which `other` returns an expression.
    pub(crate) fn replaced(self, other: &mut dyn FnMut(&Path) -> Option<Self>) -> Self {
        let span = self.span;
        let kind = match self.kind {
            Kind::Path(path) => return other(&path).unwrap_or(Self::new(Kind::Path(path), span)),
            Kind::Any(parts) => {
                let parts = parts.into_iter().map(|part| part.replaced(other));
                return parts
                    .reduce(Self::or)
                    .map_or(Self::new(Kind::Any(Vec::new()), span), |any| Self { span, ..any });
            }
            Kind::All(parts) => {
                let parts = parts.into_iter().map(|part| part.replaced(other));
                return parts
                    .reduce(Self::and)
                    .map_or(Self::new(Kind::All(Vec::new()), span), |all| Self { span, ..all });
            }
            Kind::Not(inner) => Kind::Not(Box::new(inner.replaced(other))),
            Kind::Negate(inner) => {
                let negated = inner.replaced(other).negate(span.start);
                return Self { span, ..negated };
            }
            Kind::Compare(op, left, right) => Kind::Compare(
                op,
                Box::new(left.replaced(other)),
                Box::new(right.replaced(other)),
            ),
            Kind::Arith(op, left, right) => Kind::Arith(
                op,
                Box::new(left.replaced(other)),
                Box::new(right.replaced(other)),
            ),
            Kind::In(value, choices) => {
                let choices = choices.into_iter().map(|choice| match choice {
                    Choice::One(one) => Choice::One(one.replaced(other)),
                    Choice::Range(from, to) => Choice::Range(from.replaced(other), to.replaced(other)),
                });
                let choices = choices.collect();
                Kind::In(Box::new(value.replaced(other)), choices)
            }
            Kind::Call(mut call) => {
                let arguments = std::mem::take(&mut call.arguments).into_iter();
                call.arguments = arguments.map(|argument| argument.replaced(other)).collect();
                Kind::Call(call)
            }
            kind => kind,
        };
        Self::new(kind, span)
    }

    /// Joins two expressions to `left or right`.
    #[must_use]
    pub fn or(self, right: Self) -> Self {
        let span = self.span.to(right.span);
        let mut parts = match self.kind {
            Kind::Any(parts) => parts,
            _ => vec![self],
        };
        match right.kind {
            Kind::Any(more) => parts.extend(more),
            _ => parts.push(right),
        }
        Self::new(Kind::Any(parts), span)
    }

    /// Joins two expressions to `left and right`.
    #[must_use]
    pub fn and(self, right: Self) -> Self {
        let span = self.span.to(right.span);
        let mut parts = match self.kind {
            Kind::All(parts) => parts,
            _ => vec![self],
        };
        match right.kind {
            Kind::All(more) => parts.extend(more),
            _ => parts.push(right),
        }
        Self::new(Kind::All(parts), span)
    }

    /// Negates an expression whose sign is at `start`.
    #[must_use]
    pub(crate) fn negate(self, start: usize) -> Self {
        let span = Span::new(start.min(self.span.start), self.span.end);
        match self.kind {
            Kind::Number(number) if !number.negative => Self::new(
                Kind::Number(Number {
                    negative: true,
                    ..number
                }),
                span,
            ),
            _ => Self::new(Kind::Negate(Box::new(self)), span),
        }
    }

    /// Builds the comparison `left op right`.
    #[must_use]
    pub fn compare(self, op: Compare, right: Self) -> Self {
        let span = self.span.to(right.span);
        Self::new(Kind::Compare(op, Box::new(self), Box::new(right)), span)
    }

    /// Builds the arithmetic expression `left op right`.
    #[must_use]
    pub(crate) fn arith(self, op: Arith, right: Self) -> Self {
        let span = self.span.to(right.span);
        Self::new(Kind::Arith(op, Box::new(self), Box::new(right)), span)
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Path {
    /// Returns true if the path starts with the name `first`, ignoring case, and a name for which `second` returns
    /// true.
    pub(crate) fn begins(&self, first: &str, second: impl Fn(&str) -> bool) -> bool {
        match self.segments.as_slice() {
            [one, other, ..] if !self.dot => {
                one.name.text.eq_ignore_ascii_case(first) && second(&other.name.text)
            }
            _ => false,
        }
    }

    /// Returns true if the first name is `first`, ignoring case, and the path does not start with a dot.
    pub(crate) fn starts(&self, first: &str) -> bool {
        let segment = self.segments.first().filter(|_| !self.dot);
        segment.is_some_and(|segment| segment.name.text.eq_ignore_ascii_case(first))
    }

    /// Returns the range from the first to the last name.
    #[must_use]
    pub fn span(&self) -> Span {
        let spans = self.segments.iter().map(|segment| segment.name.span);
        spans.reduce(Span::to).unwrap_or_default()
    }
}

impl Compare {
    /// Returns the operator as written.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Contains => "contains",
            Self::Matches => "matches",
        }
    }

    /// Returns the same comparison with its sides exchanged.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }
}

impl Arith {
    /// Returns the operator as written.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

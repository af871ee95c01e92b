use proptest::prelude::*;
use teetap_wire::{is_deceptive, is_invisible};

use super::*;
use crate::diagnostic::Code;
use crate::span::Span;

fn printed(text: &str) -> String {
    parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error:?}"))
        .to_string()
}

#[test]
fn one_way_to_write_it() {
    for (text, wanted) in [
        ("c2s&&!input", "c2s and not input"),
        ("(a or b) and (c and d)", "(a or b) and c and d"),
        ("a || b && c or not (d)", "a or b and c or not d"),
        ("not a == b", "not a == b"),
        ("(not a) == b", "(not a) == b"),
        (".team==-1", ".team == -1"),
        ("a - -1 + - b", "a - -1 + -b"),
        ("a-(b-c)*2 > 5 % 3", "a - (b - c) * 2 > 5 % 3"),
        ("5%3 == 1 and x < 5%", "5 % 3 == 1 and x < 5%"),
        ("pkt.seq in {1010..1023,0..5 7}", "pkt.seq in {1010..1023 0..5 7}"),
        ("w in {hammer \"x\" -1..2}", "w in {hammer \"x\" -1..2}"),
        ("t > 0x1F and t<1.50S", "t > 0x1f and t < 1.50s"),
        ("\"a\\\"\\n\\u{1}ü\"", "\"a\\\"\\n\\u{1}ü\""),
        ("/a\\/b\\d[\\/]/", "/a\\/b\\d[\\/]/"),
        ("snap.character[ 3 ].x", "snap.character[3].x"),
        (
            "sys.4 or sys.4.crc or lint.overlong-int",
            "sys.4 or sys.4.crc or lint.overlong-int",
        ),
        (
            "sys.ex.12810e1f-a1db-3378-b4fb-164ed6505926.a",
            "sys.ex.12810e1f-a1db-3378-b4fb-164ed6505926.a",
        ),
        (
            "any(a.b == \"x\") and last( c ).d != .e",
            "any(a.b == \"x\") and last(c).d != .e",
        ),
        ("a # comment\n and b", "a and b"),
    ] {
        assert_eq!(printed(text), wanted, "{text}");
    }
}

#[test]
fn places_count_bytes() {
    let tree = parse("\"ü\" and  not sv_chat.team == - 1").unwrap();
    let Kind::All(parts) = &tree.kind else {
        panic!("{tree:?}")
    };
    assert_eq!(parts[0].span, Span::new(0, 4));
    assert_eq!(parts[1].span, Span::new(10, 33));
    let Kind::Not(compare) = &parts[1].kind else {
        panic!("{tree:?}")
    };
    let Kind::Compare(_, left, right) = &compare.kind else {
        panic!("{tree:?}")
    };
    assert_eq!((left.span, right.span), (Span::new(14, 26), Span::new(30, 33)));
}

#[test]
fn numbers_have_values() {
    for (text, value, quantity) in [
        ("5s", Some(5_000_000), Quantity::Duration),
        ("40ms", Some(40_000), Quantity::Duration),
        ("1.5h", Some(5_400_000_000), Quantity::Duration),
        ("2mbit", Some(2_000_000), Quantity::Rate),
        ("1kB", Some(1_000), Quantity::Size),
        ("0.5%", Some(5_000), Quantity::Percent),
        ("0x705", Some(0x705), Quantity::Plain),
        ("0.5", None, Quantity::Plain),
        ("18446744073709551615", None, Quantity::Plain),
    ] {
        let Kind::Number(number) = parse(text).unwrap().kind else {
            panic!("{text}")
        };
        assert_eq!((number.value(), number.quantity()), (value, quantity), "{text}");
    }
}

#[test]
fn hostile_texts_end_early() {
    let deep = |text: &str| parse(&text.repeat(5000)).unwrap_err().code.name();
    assert_eq!(deep("("), "E007");
    assert_eq!(deep("!"), "E007");
    assert_eq!(deep("- "), "E007");
    assert_eq!(deep("not "), "E007");
    assert_eq!(deep("f("), "E007");
    assert_eq!(deep("a+"), "E007");
    assert_eq!(deep("a.b."), "E007");
    let flat = format!("a{}", " or b".repeat(3000));
    assert!(parse(&flat).is_ok());
    assert!(parse(&format!("a in {{1}}{}", " in {1}".repeat(1000))).is_err());
    let nested = format!("{}a{}", "(".repeat(MAX_NESTING), ")".repeat(MAX_NESTING));
    assert!(parse(&nested).is_ok());
}

fn word() -> impl Strategy<Value = String> {
    let reserved = [
        "and", "or", "not", "contains", "matches", "in", "lint", "sys", "game", "ctrl", "connless",
    ];
    "[a-z_][a-z0-9_]{0,8}".prop_filter("an operator", move |word| !reserved.contains(&&**word))
}

fn name() -> impl Strategy<Value = Name> {
    word().prop_map(|text| Name {
        text,
        span: Span::default(),
    })
}

fn number() -> impl Strategy<Value = Number> {
    let unit = proptest::option::of(proptest::sample::select(Unit::ALL));
    let parts = (any::<bool>(), any::<u32>(), 0u8..4, any::<bool>(), unit);
    parts.prop_map(|(negative, digits, decimals, hex, unit)| Number {
        negative,
        digits: u64::from(digits) % 1_000_000,
        decimals: if hex || unit.is_some() { 0 } else { decimals },
        hex,
        unit: unit.filter(|_| !hex),
    })
}

fn segment() -> impl Strategy<Value = Segment> {
    let index = proptest::option::of(any::<u16>());
    (name(), index).prop_map(|(name, index)| Segment {
        name,
        index: index.map(|value| Index {
            value,
            span: Span::default(),
        }),
    })
}

fn kind(kind: Kind) -> Expr {
    Expr::new(kind, Span::default())
}

fn leaf() -> impl Strategy<Value = Expr> {
    let path = (any::<bool>(), prop::collection::vec(segment(), 1..4));
    prop_oneof![
        number().prop_map(|number| kind(Kind::Number(number))),
        any::<String>().prop_map(|text| kind(Kind::Text(text))),
        "([a-z/]|\\\\[a-z.\\\\]){0,12}".prop_map(|pattern| kind(Kind::Regex(pattern))),
        path.prop_map(|(dot, segments)| kind(Kind::Path(Path { dot, segments }))),
        name().prop_map(|name| kind(Kind::Variable(name))),
    ]
}

fn choice() -> impl Strategy<Value = Choice> {
    let number = || number().prop_map(|number| kind(Kind::Number(number)));
    // The parser gives the first number of a range the unit of the last.
    let range = || {
        let both = (self::number(), self::number());
        both.prop_map(|(mut from, to)| {
            from.take_unit(&to);
            from.decimals = if from.unit.is_some() { 0 } else { from.decimals };
            (kind(Kind::Number(from)), kind(Kind::Number(to)))
        })
    };
    let label = name().prop_map(|name| {
        let segments = vec![Segment { name, index: None }];
        kind(Kind::Path(Path { dot: false, segments }))
    });
    let text = any::<String>().prop_map(|text| kind(Kind::Text(text)));
    prop_oneof![
        prop_oneof![number(), label, text].prop_map(Choice::One),
        range().prop_map(|(from, to)| Choice::Range(from, to)),
    ]
}

fn tree() -> impl Strategy<Value = Expr> {
    use {super::Compare::*, Arith::*};
    let compares = vec![
        Equal,
        Unequal,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
        Contains,
        Matches,
    ];
    let ariths = vec![Add, Subtract, Multiply, Divide, Remainder];
    leaf().prop_recursive(4, 40, 3, move |inner| {
        let compare = (
            proptest::sample::select(compares.clone()),
            inner.clone(),
            inner.clone(),
        );
        let arith = (
            proptest::sample::select(ariths.clone()),
            inner.clone(),
            inner.clone(),
        );
        let call = (
            name(),
            prop::collection::vec(inner.clone(), 0..3),
            prop::collection::vec(segment(), 0..3),
        );
        let set = (inner.clone(), prop::collection::vec(choice(), 1..4));
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            inner.clone().prop_map(|a| kind(Kind::Not(Box::new(a)))),
            inner.clone().prop_map(|a| a.negate(0)),
            compare.prop_map(|(op, a, b)| a.compare(op, b)),
            arith.prop_map(|(op, a, b)| a.arith(op, b)),
            set.prop_filter("chained comparisons", |(value, _)| !matches!(
                value.kind,
                Kind::In(..) | Kind::Compare(..)
            ))
            .prop_map(|(value, choices)| kind(Kind::In(Box::new(value), choices))),
            call.prop_map(|(name, arguments, rest)| kind(Kind::Call(Call {
                name,
                arguments,
                rest
            }))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_the_same_tree(tree in tree()) {
        let text = tree.to_string();
        let again = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error:?}")))?;
        prop_assert_eq!(again, tree, "{}", text);
    }

    #[test]
    fn any_pattern_has_an_end(pattern in "[\u{1}\u{200b}/\\\\a ]{0,6}") {
        check(&format!("/{pattern}/"))?;
    }

    #[test]
    fn any_text_has_an_end(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_words_have_an_end(words in prop::collection::vec(proptest::sample::select(WORDS), 0..60)) {
        check(&words.concat())?;
    }
}

const WORDS: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\n",
    "and",
    " or ",
    "not ",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "..",
    ".",
    ",",
    "\"",
    "\\",
    "$",
    "#",
    "sys.",
    "lint.",
    "ex.",
    "0",
    "7",
    "0x",
    "ms",
    "a",
    "ü",
    "=",
    "==",
    "<",
    " in {",
    " contains ",
    "matches",
    "\u{1}",
];

fn check(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(tree) => {
            let shown = tree.to_string();
            let again = parse(&shown);
            // A hidden character of a pattern becomes an escape, which is another pattern with the same meaning.
            if text.contains(|c| is_deceptive(c) || is_invisible(c)) {
                prop_assert_eq!(again.map(|again| again.to_string()), Ok(shown));
            } else {
                prop_assert_eq!(again, Ok(tree));
            }
        }
        Err(error) => {
            prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
            prop_assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
            prop_assert!(!error.render("filter", text, crate::Style::Plain).is_empty());
        }
    }
    Ok(())
}

#[test]
fn each_action_has_a_parser() {
    for word in ACTIONS {
        let errors = parse_statements(word).err().unwrap_or_default();
        let is_unknown = errors.iter().any(|error| error.code == Code::UnknownAction);
        assert!(!is_unknown, "{word}");
    }
}

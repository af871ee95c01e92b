use teetap_inspect::diff::{Difference, FieldDifference, Found, How, Run};
use teetap_wire::Dir;

use super::page::Page;
use crate::{look::Stream, output::fit};

fn page(width: usize, ascii: bool) -> Page {
    Page {
        out: String::new(),
        look: Stream {
            colours: false,
            ascii,
        },
        width,
        all: false,
    }
}

fn field(a: &str, b: &str) -> FieldDifference {
    FieldDifference {
        path: "message".into(),
        values: [Some(a.into()), Some(b.into())],
    }
}

fn changed(fields: Vec<FieldDifference>) -> Difference {
    Difference {
        how: How::Changed,
        dir: Dir::C2s,
        layer: Some(teetap_inspect::Layer::Game),
        name: "cl_say".into(),
        at: [Some(teetap_proxy::session::Time(1_500_000)), None],
        frame: [None, None],
        tick: None,
        id: None,
        count: 1,
        fields,
        rules: Vec::new(),
    }
}

#[test]
fn one_field_is_on_the_line_of_its_message_and_more_are_below_it() {
    let mut lines = page(80, false);
    lines.difference(&changed(vec![field("\"a\"", "\"b\"")]));
    lines.difference(&changed(vec![field("1", "2"), field("3", "4")]));
    assert_eq!(
        lines.out,
        "~    1.500 cl_say  message: \"a\" | \"b\"\n\
         ~    1.500 cl_say\n           message: 1 | 2\n           message: 3 | 4\n"
    );
}

#[test]
fn long_values_are_cut_around_the_first_difference() {
    let start = "x".repeat(100);
    for (width, ascii) in [(80, false), (40, true), (60, true)] {
        let mut lines = page(width, ascii);
        let fields = vec![field(&format!("{start}1 ünd"), &format!("{start}2{start}"))];
        lines.difference(&changed(fields));
        assert!(
            lines.out.contains("x1") && lines.out.contains("x2"),
            "{}",
            lines.out
        );
        assert!(
            lines.out.lines().all(|line| fit::width(line) <= width),
            "{}",
            lines.out
        );
        assert!(!ascii || lines.out.is_ascii());
    }
}

#[test]
fn many_messages_of_a_name_are_one_line() {
    let only = |name: &str| {
        Found::Different(Difference {
            how: How::OnlyB,
            name: name.into(),
            ..changed(Vec::new())
        })
    };
    let mut lines = page(80, false);
    let found = ["a", "b", "b", "c", "c", "c", "c"].map(only);
    lines.list(found.iter());
    let rows: Vec<&str> = lines.out.lines().collect();
    let row = |name: &str| format!("+    1.500 {name}");
    assert_eq!(rows, ["a", "b", "b", "c ×4"].map(row));
}

#[test]
fn the_elements_of_a_list_are_one_line() {
    let element = |path: &str, a: Option<&str>, b: &str| FieldDifference {
        path: path.into(),
        values: [a.map(Into::into), Some(b.into())],
    };
    let mut lines = page(80, false);
    lines.difference(&changed(vec![
        element("count", Some("1"), "3"),
        element("clients", Some("[1]"), "[13]"),
        element("clients[0].name", Some("\"a\""), "\"b\""),
        element("clients[0].clan", Some("1"), "2"),
        element("clients[1].name", Some("\"d\""), "\"e\""),
        element("clients[12].name", None, "\"c\""),
        element("parts[0]", None, "1"),
        element("parts[1]", None, "2"),
    ]));
    assert_eq!(
        lines.out,
        "~    1.500 cl_say\n           count: 1 | 3\n           \
         clients[0-1,12].name: \"a\", \"d\", (none) | \"b\", \"e\", \"c\"\n           \
         clients[0].clan: 1 | 2\n           parts[0-1]: (none) | 1, 2\n"
    );
}

#[test]
fn the_name_of_a_rule_is_escaped_and_short() {
    let mut lines = page(80, false);
    lines.difference(&Difference {
        rules: vec!["slow".into(), "\u{1b}[2Jx".into(), "y".repeat(60).into()],
        ..changed(Vec::new())
    });
    assert!(
        lines.out.starts_with("~    1.500 cl_say (slow; "),
        "{}",
        lines.out
    );
    assert!(!lines.out.contains('\u{1b}'), "{}", lines.out);
}

#[test]
fn names_in_a_row_are_folded() {
    let run = |names: &[&str]| Run {
        dir: Dir::C2s,
        names: names.iter().map(|name| (*name).into()).collect(),
    };
    let mut lines = page(40, false);
    lines.alike(&run(&["info", "sv_chat", "sv_chat", "ready"]));
    lines.alike(&run(&["first_of_them", "one_in_the_middle", "last_of_them"]));
    assert_eq!(
        lines.out,
        "  4 alike: info, sv_chat ×2, ready\n  3 alike: first_of_them … last_of_them\n"
    );
}

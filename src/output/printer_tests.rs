//! Tests of printed rows: their width, their colours and their times.

use teetap_inspect::Kind;

use super::*;

const NAME: &str = "  12.418 #2  s→c V  217 sv_motd";

fn printer(columns: Option<usize>, colours: bool, ascii: bool) -> Printer {
    Printer {
        columns,
        stream: Stream { colours, ascii },
        ..Printer::default()
    }
}

fn row(rest: &str) -> Row {
    let text = format!("{NAME}{:8} {:>5} bytes {rest}", "", 23);
    let at = |part: &str| text.find(part).unwrap();
    let layout = Layout {
        time: 8,
        session: 12,
        arrow: at(" V"),
        name: at("sv_motd"),
        column: at("sv_motd") + NARROW,
        notes: text.find(" !").unwrap_or(0),
        indent: 0,
    };
    let kind = Kind::Traffic;
    Row { kind, text, layout }
}

fn lines(printer: &mut Printer, row: &Row) -> Vec<String> {
    let moment = Moment {
        at: Time(12_418_999),
        since: None,
    };
    let mut out = Vec::new();
    printer.row(row, moment, &mut out);
    let text = String::from_utf8(out).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn without_escapes(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |line, part| line + part.split_once('m').unwrap().1)
}

#[test]
fn a_line_is_cut_to_the_columns_that_its_characters_take() {
    for rest in [
        "\"welcome, and have fun\" !out-of-range",
        "\"名名名名名名名名名名名名\"",
        "\"e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\u{2764}\u{fe0f}\u{2764}\u{fe0f}\"",
    ] {
        let row = row(rest);
        let whole = lines(&mut printer(None, false, false), &row);
        for (colours, ascii) in [(false, false), (true, false), (false, true), (true, true)] {
            let all = width(&without_escapes(
                &lines(&mut printer(Some(500), colours, ascii), &row)[0],
            ));
            for columns in 1..150 {
                let shown = lines(&mut printer(Some(columns), colours, ascii), &row);
                assert_eq!(shown.len(), 1, "{shown:?}");
                let plain = without_escapes(&shown[0]);
                assert!(width(&plain) <= columns, "{columns}: {plain}");
                let ellipsis = if ascii { "..." } else { "…" };
                let is_cut = plain.ends_with(ellipsis) || columns < 3;
                let needed = if columns < ROOM {
                    all - (ROOMY - NARROW)
                } else {
                    all
                };
                assert_eq!(is_cut, columns < needed.max(3), "{columns}: {plain}");
                // The line uses all columns that it can.
                assert!(!is_cut || width(&plain) + 1 >= columns, "{columns}: {plain}");
                assert!(!ascii || shown[0].is_ascii());
            }
        }
        assert!(whole[0].ends_with(rest));
    }
}

#[test]
fn long_names_have_room_where_there_is_some() {
    let size = |columns| {
        let line = lines(&mut printer(columns, false, false), &row("x"))[0].clone();
        line[..line.find(" 23 bytes").unwrap()].chars().count()
    };
    let (narrow, roomy) = (size(Some(80)), size(None));
    assert_eq!(roomy - narrow, ROOMY - NARROW);
    assert_eq!(size(Some(200)), roomy);
    // Longer names use the spaces before the size.
    for (name, columns) in [
        ("sv_vote_option_list_add", None),
        ("sv_command_info_group_start", None),
        ("rcon_auth_status", Some(80)),
    ] {
        let mut long = row("x");
        long.text = long.text.replace("sv_motd        ", name);
        long.layout.column = long.layout.name + name.len();
        let line = lines(&mut printer(columns, false, false), &long)[0].clone();
        let size = line[..line.find(" bytes").unwrap()].chars().count();
        let expected = if columns.is_none() { roomy } else { narrow };
        assert_eq!(size, expected + 3, "{line}");
    }
    // One space stays before the size.
    let (name, mut longest) = ("a_name_that_is_longer_than_any_column", row("x"));
    longest.text = longest.text.replace("sv_motd        ", name);
    longest.layout.column = longest.layout.name + name.len();
    for columns in [None, Some(80)] {
        let line = lines(&mut printer(columns, false, false), &longest)[0].clone();
        assert!(
            line.contains(&format!(" {name} 23 bytes x")),
            "one space before the size: {line}"
        );
    }
}

#[test]
fn a_sentence_continues_on_further_lines() {
    let text = "   0.660 #1      ! out-of-range: a value outside its range: receivers may drop it".to_owned();
    let layout = Layout {
        time: 8,
        session: 12,
        arrow: 12,
        indent: 19,
        ..Layout::default()
    };
    let kind = Kind::Warning;
    let row = Row { kind, text, layout };
    let shown = lines(&mut printer(Some(60), false, false), &row);
    assert_eq!(
        shown,
        [
            "  12.418 #1      ! out-of-range: a value outside its range:",
            "                   receivers may drop it",
        ]
    );
    for columns in 1..120 {
        let shown = lines(&mut printer(Some(columns), true, false), &row);
        let plain: Vec<_> = shown.iter().map(|line| without_escapes(line)).collect();
        assert!(plain.iter().all(|line| width(line) <= columns), "{plain:?}");
        let joined: String = plain.join("").split_whitespace().collect();
        assert_eq!(
            joined,
            row.text
                .replace("0.660", "12.418")
                .split_whitespace()
                .collect::<String>()
        );
    }
    // A word longer than a line is broken.
    let mut bytes = row.clone();
    bytes.text = format!("   0.660 #1      data {}", "ab".repeat(100));
    let shown = lines(&mut printer(Some(60), false, false), &bytes);
    let joined: String = shown.join("").split_whitespace().collect();
    assert!(joined.ends_with(&"ab".repeat(100)), "{shown:?}");
    assert!(
        shown[0].chars().count() == 60 && shown[0].contains("data abab"),
        "{shown:?}"
    );
}

#[test]
fn colours_are_those_of_the_parts() {
    let shown = lines(&mut printer(Some(200), true, false), &row("x !lint"));
    assert!(shown[0].contains("\x1b[2m  12.418\x1b[0m"), "{shown:?}");
    assert!(shown[0].contains("\x1b[35m s→c\x1b[0m"), "{shown:?}");
    assert!(shown[0].contains("\x1b[33m !lint\x1b[0m"), "{shown:?}");
    let plain = lines(&mut printer(Some(200), false, false), &row("x !lint"));
    assert_eq!(without_escapes(&shown[0]), plain[0]);
}

#[test]
fn each_clock_prints_its_time() {
    let mut out = Vec::new();
    for clock in [Clock::Session, Clock::Run, Clock::Delta, Clock::Wall] {
        let mut printer = Printer {
            clock,
            ..printer(None, false, false)
        };
        printer.begin(SystemTime::UNIX_EPOCH + Duration::from_secs(3600));
        for at in [12_418_999, 13_000_000, 12_999_000] {
            let since = Some(Time(10_000_000));
            printer.row(&row("x"), Moment { at: Time(at), since }, &mut out);
        }
    }
    let text = String::from_utf8(out).unwrap();
    let stamps: Vec<&str> = text
        .lines()
        .map(|line| line.split(" #").next().unwrap())
        .collect();
    assert_eq!(
        stamps,
        [
            "   2.418",
            "   3.000",
            "   2.999",
            "  12.418",
            "  13.000",
            "  12.999",
            "  +0.000",
            "  +0.581",
            "  -0.001",
            "01:00:12.418",
            "01:00:13.000",
            "01:00:12.999"
        ]
    );
}

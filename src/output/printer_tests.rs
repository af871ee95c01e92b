//! Tests of printed rows: their width, their colours and their times.

use teetap_inspect::{
    Kind,
    row::{Draft, Start},
};
use teetap_proxy::session::SessionId;

use super::*;

fn printer(columns: Option<usize>, colours: bool, ascii: bool) -> Printer {
    Printer {
        columns,
        stream: Stream { colours, ascii },
        ..Printer::default()
    }
}

fn draft(at: u64, session: u32) -> Draft {
    let session = Some(SessionId(session));
    let start = Start {
        at: Time(at),
        session,
    };
    start.draft()
}

/// Returns the row of a message with this name, gist and notes.
fn message(name: &str, gist: &str, notes: &str) -> Row {
    let draft = draft(12_418_999, 2).arrow(Dir::S2c, None).push(" V  217 ");
    let draft = draft.name(name, NARROW).size(23).push(format_args!(" {gist}"));
    draft.cell(CellKind::Notes, notes).row(Kind::Traffic)
}

fn row(gist: &str) -> Row {
    message("sv_motd", gist, "")
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
    for (rest, notes) in [
        ("\"welcome, and have fun\"", " !out-of-range"),
        ("\"名名名名名名名名名名名名\"", ""),
        (
            "\"e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\u{2764}\u{fe0f}\u{2764}\u{fe0f}\"",
            "",
        ),
    ] {
        let row = message("sv_motd", rest, notes);
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
        assert!(whole[0].ends_with(&format!(" {rest}{notes}")));
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
        let line = lines(&mut printer(columns, false, false), &message(name, "x", ""))[0].clone();
        let size = line[..line.find(" bytes").unwrap()].chars().count();
        let expected = if columns.is_none() { roomy } else { narrow };
        assert_eq!(size, expected + 3, "{line}");
    }
    // One space stays before the size.
    let name = "a_name_that_is_longer_than_any_column";
    let longest = message(name, "x", "");
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
    let kind = CellKind::Sentence(Severity::Warning);
    let sentence = |text: &str| {
        let draft = draft(660_000, 1).cell(kind, "     ").wrapped();
        draft.cell(kind, text).row(Kind::Warning)
    };
    let row = sentence("! out-of-range: a value outside its range: receivers may drop it");
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
            row.text()
                .replace("0.660", "12.418")
                .split_whitespace()
                .collect::<String>()
        );
    }
    // A word longer than a line is broken.
    let bytes = sentence(&format!("data {}", "ab".repeat(100)));
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
    let shown = lines(
        &mut printer(Some(200), true, false),
        &message("sv_motd", "x", " !lint"),
    );
    assert!(shown[0].contains("\x1b[2m  12.418\x1b[0m"), "{shown:?}");
    assert!(shown[0].contains("\x1b[35m s→c\x1b[0m"), "{shown:?}");
    assert!(shown[0].contains("\x1b[33m !lint\x1b[0m"), "{shown:?}");
    let plain = lines(
        &mut printer(Some(200), false, false),
        &message("sv_motd", "x", " !lint"),
    );
    assert_eq!(without_escapes(&shown[0]), plain[0]);
}

#[test]
fn a_sentence_has_the_colour_of_its_severity() {
    for (severity, escape) in [
        (Severity::Error, "\x1b[31m"),
        (Severity::Warning, "\x1b[33m"),
        (Severity::Info, "\x1b[2m"),
    ] {
        let row = draft(660_000, 1).cell(CellKind::Sentence(severity), "     x");
        let shown = lines(&mut printer(Some(200), true, false), &row.row(Kind::Warning));
        let expected = format!("\x1b[2m  12.418\x1b[0m\x1b[2m #1 \x1b[0m{escape}     x\x1b[0m");
        assert_eq!(shown, [expected]);
    }
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

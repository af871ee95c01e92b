//! `teetap help rules`, `teetap help filters` and `teetap help link`: the tables of the manual, and the words that the
//! parser knows.

use std::{ffi::OsString, fmt::Write as _};

use teetap_rules::wrap::at_spaces;

use super::notes;

/// Maximum width of the sentence below a term, in columns.
const WIDTH: usize = 76;

/// Topics: their names, and the pages of the manual whose tables they show.
const TOPICS: [(&str, &str); 3] = [
    ("rules", include_str!("../../docs/src/rules.md")),
    ("filters", include_str!("../../docs/src/filters.md")),
    ("link", include_str!("../../docs/src/link.md")),
];

/// Returns the text of `teetap help TOPIC`; `None` for other command lines.
pub(crate) fn topic(args: &[OsString]) -> Option<String> {
    let [_, help, name] = args else { return None };
    let (name, page) = TOPICS
        .into_iter()
        .find(|(known, _)| help == "help" && name == known)?;
    let words = match name {
        "filters" => teetap_rules::vocabulary(),
        _ => teetap_rules::rule_vocabulary(),
    };
    Some(format!("{}\n# Words\n\n{words}", tables(page)))
}

/// Returns the tables of a page with their headings, each row as a term with a sentence below it.
fn tables(page: &str) -> String {
    let mut out = String::new();
    let (mut heading, mut is_in_table) = ("", false);
    for line in page.lines() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim();
        }
        let row = line
            .strip_prefix('|')
            .and_then(|row| row.trim_end().strip_suffix('|'));
        let Some(row) = row else {
            is_in_table = false;
            continue;
        };
        // The row below the heads.
        if row.contains('-') && row.chars().all(|c| matches!(c, '-' | '|' | ' ')) {
            continue;
        }
        if !is_in_table {
            is_in_table = true;
            let gap = if out.is_empty() { "" } else { "\n" };
            let _infallible = writeln!(out, "{gap}# {heading}\n");
            continue;
        }
        write_row(&mut out, row);
    }
    out
}

/// Writes the cells of a row: the first one as the term, the others below it.
fn write_row(out: &mut String, row: &str) {
    let row = notes::plain(&row.replace("\\|", "\u{0}"));
    let cells = row
        .trim_end()
        .split('|')
        .map(|cell| cell.trim().replace('\u{0}', "|"));
    for (at, cell) in cells.filter(|cell| !cell.is_empty()).enumerate() {
        let indent = if at == 0 { "  " } else { "      " };
        let options = at_spaces(WIDTH).initial_indent(indent).subsequent_indent(indent);
        let cell = cell.replace('`', "");
        let _infallible = writeln!(out, "{}", textwrap::fill(&cell, options));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        let args = ["teetap", "help", name].map(OsString::from);
        topic(&args).unwrap_or_else(|| panic!("{name}"))
    }

    /// Returns the words of a list of the parser.
    fn words(page: &str, head: &str) -> Vec<String> {
        let lines = page.lines().skip_while(|line| *line != head).skip(1);
        let lines = lines.take_while(|line| line.starts_with("  "));
        lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
    }

    /// Each word of the parser has a row in a table of the manual.
    #[test]
    fn the_tables_have_every_word() {
        for (name, heads) in [
            ("rules", &["Actions:", "Modifiers:"][..]),
            ("link", &["Parameters of link lines:"]),
        ] {
            let page = text(name);
            let (tables, _) = page.split_once("# Words").unwrap();
            let rows: Vec<&str> = tables
                .lines()
                .filter(|line| !line.starts_with("      "))
                .collect();
            for word in heads.iter().flat_map(|head| words(&page, head)) {
                let has = |row: &&str| row.split([' ', ',']).any(|part| part == word);
                assert!(rows.iter().any(has), "{word} in {rows:#?}");
            }
        }
        let filters = text("filters");
        for (term, sentence) in [
            ("any_snap", "snap_empty"),
            ("pkt.size pkt.ack", "number of chunks"),
            ("seen(message)", "already"),
        ] {
            let (_, after) = filters.split_once(term).unwrap();
            assert!(
                after.lines().take(6).any(|line| line.contains(sentence)),
                "{term}: {filters}"
            );
        }
    }

    #[test]
    fn a_row_is_plain_and_narrow() {
        for (name, _) in TOPICS {
            let whole = text(name);
            let (page, _) = whole.split_once("# Words").unwrap();
            for mark in ["](", "`", "\u{0}", "\\|"] {
                assert!(!page.contains(mark), "{mark} in {page}");
            }
            assert!(page.lines().all(|line| line.chars().count() < 110), "{page}");
        }
        assert!(text("filters").contains("&& || !"));
    }

    #[test]
    fn other_command_lines_have_no_topic() {
        for args in [
            &["teetap", "help"][..],
            &["teetap", "help", "grep"],
            &["teetap", "run", "rules"],
        ] {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            assert_eq!(topic(&args), None);
        }
    }
}

use std::{fs, path::Path};

use super::*;

fn rules(texts: &[&str], files: &[PathBuf]) -> Rules {
    let texts: Vec<_> = texts.iter().map(|text| ("--rule", (*text).to_owned())).collect();
    Rules::read(&texts, files, Registry::builtin()).unwrap().unwrap()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.tap");
    (folder, path)
}

/// Returns lines with their levels.
fn texts(lines: &[(Level, String)], path: &Path) -> Vec<String> {
    let name = path.to_string_lossy();
    lines
        .iter()
        .map(|(level, line)| format!("{level}: {}", line.replace(&*name, "FILE")))
        .collect()
}

#[test]
fn each_text_begins_a_statement_and_errors_have_its_places() {
    let error = rules(&["link both loss 5%", "  drup when c2s", "link up"], &[]).compile();
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("--> --rule:1:3\n") && text.contains("--> --rule:1:6\n"),
        "{text}"
    );
    assert!(text.contains("  |   ^^^^\n"), "{text}");
    rules(&["link both loss 5%", "\n # a comment\n\tlink both dup 1%"], &[])
        .compile()
        .unwrap();
}

#[test]
fn a_changed_file_is_read_again_and_an_erroneous_one_keeps_the_last_program() {
    let (_folder, path) = folder();
    fs::write(&path, "link both loss 5%\n").unwrap();
    let mut rules = rules(&[], std::slice::from_ref(&path));
    rules.compile().unwrap();
    assert!(rules.reload().0.is_empty());
    fs::write(&path, "link both loss 50%\n").unwrap();
    let (lines, program) = rules.reload();
    assert_eq!(texts(&lines, &path), ["info: FILE was read again"]);
    assert_eq!(program.unwrap().source(), "link both loss 50%\n");
    fs::write(&path, "link both\n loss 5\n").unwrap();
    let (lines, program) = rules.reload();
    assert!(program.is_none());
    assert_eq!(
        texts(&lines, &path),
        [
            "warning: FILE has errors, the last rules stay",
            "warning: FILE:2:7: [E202] expected a percentage, found `5`; write `5%`"
        ]
    );
    assert!(rules.reload().0.is_empty());
}

#[test]
fn a_person_adds_replaces_and_removes_statements() {
    let (_folder, path) = folder();
    fs::write(&path, "# comment\nlink both\n  loss 5%\n").unwrap();
    let mut rules = rules(&["a: drop when sv_chat"], std::slice::from_ref(&path));
    let list = |change: Result<Change, ChangeError>, rules: &mut Rules| {
        let (what, _) = rules.accept(change.unwrap());
        let list = rules.list().into_iter();
        (what, list.map(|(rule, _)| rule.name).collect::<Vec<_>>())
    };
    let added = rules.add("control", "  drop when sv_motd\ndrop when sv_motd once");
    let (what, names) = list(added, &mut rules);
    assert_eq!(what, "added drop when sv_motd drop when sv_motd once");
    let link = "link both loss 5%";
    assert_eq!(names, ["a", link, "drop when sv_motd", "drop when sv_motd once"]);
    assert_eq!((rules.list()[1].0.line, rules.list()[3].0.line), (2, 2));
    let again = rules.add("control", "drop when sv_motd");
    assert_eq!(list(again, &mut rules).1[4], "drop when sv_motd #2");
    let replaced = rules.replace("drop when sv_motd", "\n  b: pass when sv_motd\n");
    let (_, names) = list(replaced, &mut rules);
    assert_eq!(
        names,
        ["a", link, "b", "drop when sv_motd once", "drop when sv_motd"]
    );
    let removed = rules.remove("a");
    let (_, names) = list(removed, &mut rules);
    assert_eq!(names, [link, "b", "drop when sv_motd once", "drop when sv_motd"]);
    let program = rules.remove("b").unwrap().program();
    assert!(!program.source().contains("b:") && program.source().contains("loss 5%"));
    // A changed file keeps the rules that were added elsewhere.
    fs::write(&path, "link both loss 6%\n").unwrap();
    let program = rules.reload().1.unwrap();
    assert!(program.source().contains("b: pass"), "{}", program.source());
    assert!(rules.has_changed());
}

#[test]
fn each_statement_has_its_place_in_the_program() {
    let (_folder, path) = folder();
    let text = "# comment\n  a: drop\n    when sv_chat\nlink  both loss 5%\nuse \"3g\"\n";
    fs::write(&path, text).unwrap();
    let rules = rules(&["\n\tdrop when sv_motd"], std::slice::from_ref(&path));
    let (program, _) = rules.compile().unwrap();
    let report = program.report(&teetap_rules::Shared::default());
    let mut found = Vec::new();
    for (body, place) in rules.list() {
        assert_eq!(rules.place(&body.name).unwrap(), place, "{}", body.name);
        let is_in = |of: Span| place.start <= of.start && of.end <= place.end;
        let of_rules = report.rules.iter().filter(|rule| is_in(rule.place)).count();
        let of_lines = report.lines.iter().filter(|line| is_in(line.place)).count();
        found.push((body.name, of_rules, of_lines));
    }
    let expected = [
        ("drop when sv_motd", 1, 0),
        ("a", 1, 0),
        ("link both loss 5%", 0, 2),
        ("use \"3g\"", 0, 2),
    ];
    assert_eq!(
        found,
        expected.map(|(name, rules, lines)| (name.to_owned(), rules, lines))
    );
}

#[test]
fn a_file_with_errors_stands_in_the_way_of_no_change() {
    let (_folder, path) = folder();
    fs::write(&path, "a: drop when sv_chat\n").unwrap();
    let mut rules = rules(&[], std::slice::from_ref(&path));
    assert!(!rules.has_changed());
    fs::write(&path, "b: drup when sv_chat\n").unwrap();
    assert!(rules.reload().1.is_none() && !rules.has_changed());
    // The last good rules stay in force, even for changes made meanwhile.
    let change = rules.add("control", "c: pass when sv_motd").unwrap();
    assert_eq!(
        change.program().source(),
        "a: drop when sv_chat\nc: pass when sv_motd\n"
    );
    rules.accept(change);
    assert!(rules.reload().0.is_empty());
    fs::write(&path, "b: drop when sv_chat\n").unwrap();
    let program = rules.reload().1.unwrap();
    assert_eq!(program.source(), "b: drop when sv_chat\nc: pass when sv_motd\n");
}

#[test]
fn a_wrong_change_has_no_effect() {
    let (_folder, path) = folder();
    fs::write(&path, "a: drop when sv_chat\n").unwrap();
    let rules = rules(&[], std::slice::from_ref(&path));
    let why = rules
        .add("control", "b: drup when sv_chat")
        .unwrap_err()
        .to_string();
    assert!(why.starts_with("invalid rules: control:1:4: [E011] "), "{why}");
    assert_eq!(
        rules.add("control", " # nothing\n").unwrap_err().to_string(),
        "there is no statement in the text"
    );
    let why = rules
        .add("control", "a: pass when sv_motd")
        .unwrap_err()
        .to_string();
    assert!(why.contains("two rules or link lines are called `a`"), "{why}");
    let why = rules.remove("a").unwrap_err().to_string();
    assert!(
        why.ends_with("rules.tap: change the file, which is read again"),
        "{why}"
    );
    let why = rules
        .replace("chatlgo", "pass when sv_chat")
        .unwrap_err()
        .to_string();
    assert_eq!(why, "there is no rule chatlgo");
    let large = format!("# {}\ndrop when sv_chat", "x".repeat(1 << 20));
    assert_eq!(
        rules.add("control", &large).unwrap_err().to_string(),
        "all rules together are larger than 1024 KiB"
    );
    assert!(rules.place("b").is_err());
    assert_eq!(rules.list().len(), 1);
}

#[test]
fn a_file_without_statements_stays_when_a_rule_is_removed() {
    let (_folder, path) = folder();
    fs::write(&path, "# none yet\n").unwrap();
    let mut rules = rules(&["a: drop when sv_chat"], std::slice::from_ref(&path));
    let change = rules.remove("a").unwrap();
    assert_eq!(change.program().source(), "# none yet\n");
    assert_eq!(rules.accept(change).0, "removed a");
    fs::write(&path, "b: drop when sv_motd\n").unwrap();
    let (lines, program) = rules.reload();
    assert_eq!(texts(&lines, &path), ["info: FILE was read again"]);
    assert_eq!(program.unwrap().source(), "b: drop when sv_motd\n");
}

#[test]
fn a_file_that_vanishes_is_reported_once_and_read_when_it_is_back() {
    let (_folder, path) = folder();
    fs::write(&path, "link both loss 5%\n").unwrap();
    let mut rules = rules(&[], std::slice::from_ref(&path));
    fs::remove_file(&path).unwrap();
    let (lines, program) = rules.reload();
    assert_eq!(
        texts(&lines, &path),
        ["warning: cannot read FILE any more, its last rules stay: No such file or directory (os error 2)"]
    );
    assert!(program.is_none() && rules.reload().0.is_empty());
    fs::write(&path, "link both loss 6%\n").unwrap();
    assert!(rules.reload().1.is_some());
}

#[test]
fn files_that_are_no_text_or_too_large_are_refused() {
    let (folder, path) = folder();
    for (bytes, error) in [
        (b"link \xff".to_vec(), "not UTF-8 at byte 5"),
        (vec![b'#'; 2 << 20], "larger than 1024 KiB"),
    ] {
        fs::write(&path, bytes).unwrap();
        let found = RuleText::read(&path).unwrap_err().to_string().to_string();
        assert!(found.ends_with(error), "{found}");
    }
    assert!(
        RuleText::read(folder.path())
            .unwrap_err()
            .to_string()
            .to_string()
            .contains("directory")
    );
    let odd = folder.path().join("a\u{1b}[2J.tap");
    let text = RuleText::read(&odd).unwrap_err().to_string().to_string();
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn two_statements_change_places_within_a_text_and_between_texts() {
    let texts = [
        (
            "--rule",
            "a: drop when sv_motd\nb: drop when sv_chat\n".to_owned(),
        ),
        ("--link", "link both delay 5ms".to_owned()),
    ];
    let mut rules = Rules::read(&texts, &[], Registry::builtin()).unwrap().unwrap();
    let names =
        |rules: &Rules| -> Vec<String> { rules.list().into_iter().map(|(body, _)| body.name).collect() };
    let change = rules.swap("a", "b").unwrap();
    rules.accept(change);
    assert_eq!(names(&rules), ["b", "a", "link both delay 5ms"]);
    let change = rules.swap("a", "link both delay 5ms").unwrap();
    rules.accept(change);
    assert_eq!(names(&rules), ["b", "link both delay 5ms", "a"]);
    assert!(
        rules
            .swap("a", "c")
            .unwrap_err()
            .to_string()
            .starts_with("there is no rule c")
    );
}

#[test]
fn every_mistake_of_a_text_is_shown() {
    use teetap_rules::{Diagnostic, Span, diagnostic::Code};

    let mistake = |text: &str| Diagnostic::new(Code::NotHere, Span::default(), text);
    let mistakes = Mistakes::of_text("a.tap", "drop", vec![mistake("first"), mistake("second")]);
    let text = mistakes.to_string();
    assert_eq!(text.matches("error[E102]").count(), 2, "{text}");
    assert!(text.find("first") < text.find("second"), "{text}");
    assert_eq!(text.matches("a.tap").count(), 2, "{text}");
    assert!(!mistakes.is_empty() && Mistakes::of_text("a.tap", "drop", Vec::new()).is_empty());
}

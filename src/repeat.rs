//! The line that repeats a run: its command line for a shell, with the seed.

use crate::settings;
use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    os::unix::ffi::OsStrExt as _,
};

/// Options whose file must not exist, so that the unchanged line would be refused.
const NEW_FILES: [&str; 2] = ["--input-log", "--journal"];

/// Environment variables that do not change a run, or that the line replaces.
const LEFT_OUT: [&str; 4] = ["TEETAP_SEED", "TEETAP_LOG", "TEETAP_INPUT_LOG", "TEETAP_JOURNAL"];

/// Options that set the seed.
const SEEDS: [&str; 2] = ["--seed", "--faults-from"];

/// Returns the command line of this process with the seed of its run and the settings of configuration files, since
/// these may change or be different elsewhere.
pub(crate) fn line(seed: u64) -> String {
    compose(
        env::args_os().collect(),
        settings::repeated(),
        env::vars_os(),
        seed,
    )
}

fn compose(
    words: Vec<OsString>,
    settings: &[String],
    variables: impl Iterator<Item = (OsString, OsString)>,
    seed: u64,
) -> String {
    let mut variables: Vec<_> = variables
        .filter(|(name, _)| {
            name.as_bytes().starts_with(b"TEETAP_") && !LEFT_OUT.iter().any(|left_out| name == left_out)
        })
        .collect();
    variables.sort();
    let mut line = String::new();
    for (name, value) in variables {
        let _never_fails = write!(line, "{}={} ", name.display(), quoted(&value));
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let mut has_seed = false;
    let settings: Vec<OsString> = settings.iter().map(OsString::from).collect();
    let mut own = words.iter().take(end).chain(&settings);
    let mut kept = Vec::new();
    while let Some(word) = own.next() {
        has_seed |= SEEDS.iter().any(|option| is_option(word, option));
        if NEW_FILES.iter().any(|option| is_option(word, option)) {
            if !word.as_bytes().contains(&b'=') {
                own.next();
            }
        } else {
            kept.push(quoted(word));
        }
    }
    if !has_seed {
        kept.push(format!("--seed {seed}"));
    }
    kept.extend(words.iter().skip(end).map(|word| quoted(word)));
    line + &kept.join(" ")
}

/// Returns true for `--option` and `--option=value`.
fn is_option(word: &OsStr, option: &str) -> bool {
    let rest = word.as_bytes().strip_prefix(option.as_bytes());
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'=')))
}

/// Quotes a word for a shell. The result has no control characters.
pub(crate) fn quoted(word: &OsStr) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    let bytes = word.as_bytes();
    match word.to_str() {
        Some(text) if !bytes.is_empty() && bytes.iter().all(plain) => text.to_owned(),
        Some(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let mut escaped = String::from("$'");
            for byte in bytes {
                let _never_fails = match byte {
                    b'\'' | b'\\' => write!(escaped, "\\{}", char::from(*byte)),
                    b' '..=b'~' => write!(escaped, "{}", char::from(*byte)),
                    _ => write!(escaped, "\\{byte:03o}"),
                };
            }
            escaped + "'"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt as _;

    fn composed(words: &[&str], variables: &[(&str, &str)]) -> String {
        let words = words.iter().map(OsString::from).collect();
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        compose(words, &[], variables, 7)
    }

    #[test]
    fn settings_of_files_stand_before_the_command() {
        let words = ["teetap", "run", "host", "--", "./a"]
            .map(OsString::from)
            .to_vec();
        let settings = [
            "--rule",
            "drop when c2s",
            "--json",
            "--journal",
            "x",
            "--filter=-1",
        ]
        .map(str::to_owned);
        assert_eq!(
            compose(words.clone(), &settings, std::iter::empty(), 7),
            "teetap run host --rule 'drop when c2s' --json --filter=-1 --seed 7 -- ./a"
        );
        let settings = ["--seed", "5"].map(str::to_owned);
        assert_eq!(
            compose(words, &settings, std::iter::empty(), 5),
            "teetap run host --seed 5 -- ./a"
        );
    }

    #[test]
    fn the_seed_stands_before_the_command_and_new_files_are_left_out() {
        for (words, line) in [
            (&["teetap", "host"][..], "teetap host --seed 7"),
            (
                &[
                    "teetap",
                    "run",
                    "host",
                    "-r",
                    "drop when c2s",
                    "--",
                    "./a",
                    "--seed",
                    "1",
                ],
                "teetap run host -r 'drop when c2s' --seed 7 -- ./a --seed 1",
            ),
            (
                &["teetap", "--input-log", "x", "host", "--input-log=y", "--seed=3"],
                "teetap host --seed=3",
            ),
        ] {
            assert_eq!(composed(words, &[]), line);
        }
        let variables = [
            ("TEETAP_SEED", "5"),
            ("TEETAP_RULES", "a b.tap"),
            ("HOME", "/"),
            ("TEETAP_INPUT_LOG", "x"),
            ("TEETAP_JSON", "1"),
        ];
        assert_eq!(
            composed(&["teetap", "host"], &variables),
            "TEETAP_JSON=1 TEETAP_RULES='a b.tap' teetap host --seed 7"
        );
    }

    #[test]
    fn a_shell_reads_quoted_words_back() {
        let words = [
            "",
            "a",
            "it's",
            "$HOME `id` \"x\" \\",
            "a\nb",
            "\u{1b}[2J'\\",
            "é",
            "*",
            "~",
            "#",
            "!x",
        ];
        let mut words: Vec<OsString> = words.iter().map(OsString::from).collect();
        words.push(OsString::from_vec(b"\xff\x80 0".to_vec()));
        for word in words {
            let script = format!("printf %s {}", quoted(&word));
            assert!(!script.chars().any(char::is_control), "{script:?}");
            let out = std::process::Command::new("bash").args(["-c", &script]).output();
            assert_eq!(out.unwrap().stdout, word.as_bytes(), "{script}");
        }
    }
}

//! A configuration file: TOML with an option on each line, and the keys of the screen.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, Command, ValueHint, builder::Resettable};
use teetap_proxy::io::files::{Unread, read_regular};
use teetap_tui::{ACTIONS, Action, KeyPress};
use teetap_wire::def::suggest;
use toml::de::{DeTable, DeValue};

use super::{KEYS, Level, USER_ONLY, mistake::Mistake, options};

/// Maximum bytes of a file.
const LARGEST: u64 = 1 << 20;

/// A key of the screen that is bound to an action.
pub(crate) type Bound = (KeyPress, Action);

/// An option that a file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    /// Values as on the command line; a list has several.
    pub(crate) values: Vec<String>,
    /// Line number, from 1.
    pub(crate) line: usize,
}

/// A file without mistakes.
#[derive(Debug)]
pub(crate) struct File {
    pub(super) level: Level,
    pub(crate) path: PathBuf,
    pub(crate) settings: Vec<Setting>,
    pub(crate) keys: Vec<Bound>,
}

impl File {
    /// Reads a file; `None` if there is none.
    ///
    /// # Errors
    /// Returns a line for each mistake, with file and line.
    pub(super) fn read(level: Level, path: &Path, root: &Command) -> Result<Option<Self>, Vec<String>> {
        let failed = |error: &dyn std::fmt::Display| vec![format!("cannot read {}: {error}", path.display())];
        let bytes = match read_regular(path, LARGEST) {
            Err(Unread::System(error)) if is_missing(&error) => return Ok(None),
            read => read.map_err(|error| failed(&error))?,
        };
        let text = String::from_utf8(bytes).map_err(|error| failed(&error.utf8_error()))?;
        Self::parse(level, path, &text, root).map(Some)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Same as [`Self::read`].
    pub(super) fn parse(level: Level, path: &Path, text: &str, root: &Command) -> Result<Self, Vec<String>> {
        let mut file = Self {
            level,
            path: path.to_owned(),
            settings: Vec::new(),
            keys: Vec::new(),
        };
        let line = |at: usize| line_of(text, at);
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = one_line(error.message());
            vec![format!("{}: {what}", file.place(line(at)))]
        })?;
        let mut mistakes: Vec<(usize, Mistake)> = Vec::new();
        for (name, value) in table.get_ref() {
            let own = line(name.span().start);
            let name: &str = name.get_ref();
            if name == KEYS {
                let bound = bindings(value.get_ref(), own, line);
                file.keys = bound.unwrap_or_else(|wrong| {
                    mistakes.extend(wrong);
                    Vec::new()
                });
                continue;
            }
            match setting(level, path, (name, value.get_ref()), root) {
                Ok(values) => file.settings.push(Setting {
                    name: name.to_owned(),
                    values,
                    line: own,
                }),
                Err(why) => mistakes.push((own, why)),
            }
        }
        // The table is sorted by name.
        file.settings.sort_by_key(|setting| setting.line);
        mistakes.sort_by_cached_key(|(line, why)| (*line, why.to_string()));
        if mistakes.is_empty() {
            Ok(file)
        } else {
            let lines = mistakes.into_iter();
            Err(lines
                .map(|(line, why)| format!("{}: {why}", file.place(line)))
                .collect())
        }
    }

    /// Returns `FILE:LINE`, for messages.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }
}

/// Returns true if the file does not exist.
fn is_missing(error: &io::Error) -> bool {
    // The parent may be a file instead of a folder.
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the line number of a byte position in a text, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Joins the lines of a message.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ")
}

/// Parses an option. Returns its values as on the command line.
fn setting(
    level: Level,
    path: &Path,
    (name, value): (&str, &DeValue<'_>),
    root: &Command,
) -> Result<Vec<String>, Mistake> {
    let Some((_, arg)) = options(root).find(|(known, _)| *known == name) else {
        let known = options(root).map(|(name, _)| name).chain([KEYS]);
        return Err(Mistake::UnknownKey {
            name: name.to_owned(),
            meant: suggest(name, known).map(str::to_owned),
        });
    };
    if level == Level::Project && USER_ONLY.contains(&name) {
        return Err(Mistake::UserOnly(name.to_owned()));
    }
    let mut values = values(name, value, arg.get_action())?;
    for value in &mut values {
        check(arg, value)?;
        // Paths in the user's file are relative to its folder.
        let is_path = matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath);
        if is_path && let Some(folder) = path.parent() {
            *value = folder.join(&*value).to_string_lossy().into_owned();
        }
        // A missing file is reported by the code that reads it.
        if is_path && level == Level::Project && fs::metadata(&*value).is_ok_and(|found| !found.is_file()) {
            return Err(Mistake::NotRegular {
                name: name.to_owned(),
                path: value.clone(),
            });
        }
    }
    Ok(values)
}

/// Returns the values of an option, by the kind of the option.
fn values(name: &str, value: &DeValue<'_>, action: &ArgAction) -> Result<Vec<String>, Mistake> {
    let wrong = |expected, found: Option<&str>| {
        Err(Mistake::Value {
            name: name.to_owned(),
            expected,
            found: found.map(str::to_owned),
        })
    };
    let wrong_type = |expected| wrong(expected, Some(value.type_str()));
    match (action, value) {
        (ArgAction::SetTrue, DeValue::Boolean(on)) => Ok(vec![on.to_string()]),
        (ArgAction::SetTrue, _) => wrong_type("true or false"),
        (ArgAction::Count, DeValue::Integer(number)) => match number.as_str() {
            number @ ("0" | "1" | "2") => Ok(vec![number.to_owned()]),
            other => wrong("0, 1 or 2", Some(other)),
        },
        (ArgAction::Count, _) => wrong_type("0, 1 or 2"),
        (_, DeValue::String(text)) => Ok(vec![text.to_string()]),
        (ArgAction::Append, DeValue::Array(list)) => {
            let texts = list
                .iter()
                .map(|value| value.get_ref().as_str().map(str::to_owned));
            texts
                .collect::<Option<_>>()
                .map_or_else(|| wrong("a list of strings", None), Ok)
        }
        (ArgAction::Append, _) => wrong_type("a string, or a list of strings"),
        (_, DeValue::Integer(number)) if number.radix() == 10 => Ok(vec![number.as_str().to_owned()]),
        _ => wrong_type("a string"),
    }
}

/// Checks a value with the parser of its option.
fn check(arg: &Arg, value: &str) -> Result<(), Mistake> {
    let (Some(long), true) = (arg.get_long(), arg.get_action().takes_values()) else {
        return Ok(());
    };
    let arg = arg
        .clone()
        .env(Resettable::Reset)
        .conflicts_with(Resettable::Reset);
    let command = Command::new("settings").no_binary_name(true).arg(arg);
    let parsed = command.try_get_matches_from([format!("--{long}={value}")]);
    parsed.map(|_| ()).map_err(|error| {
        let text = error.render().to_string();
        let text = text.split("\n\nFor more information").next().unwrap_or_default();
        let text = one_line(text);
        Mistake::Refused(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
    })
}

/// Parses the table of keys: the name of an action, and a key or a list of keys.
fn bindings(
    value: &DeValue<'_>,
    own: usize,
    line: impl Fn(usize) -> usize,
) -> Result<Vec<Bound>, Vec<(usize, Mistake)>> {
    let Some(table) = value.as_table() else {
        return Err(vec![(own, Mistake::KeysNotATable)]);
    };
    let (mut bound, mut mistakes) = (Vec::new(), Vec::new());
    for (name, keys) in table {
        let line = line(name.span().start);
        let action = action_named(name.get_ref());
        match action.and_then(|action| Ok((action, self::keys(keys.get_ref())?))) {
            Ok((action, keys)) => bound.extend(keys.into_iter().map(|key| (line, (key, action)))),
            Err(why) => mistakes.push((line, why)),
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    bound.sort_by_key(|(line, _)| *line);
    Ok(bound.into_iter().map(|(_, bound)| bound).collect())
}

/// Parses a key, or a list of keys.
fn keys(value: &DeValue<'_>) -> Result<Vec<KeyPress>, Mistake> {
    let one = |value: &DeValue<'_>| {
        let name = value.as_str().ok_or(Mistake::NotAKey)?;
        Ok(name.parse::<KeyPress>()?)
    };
    match value.as_array() {
        Some(list) => list.iter().map(|value| one(value.get_ref())).collect(),
        None => one(value).map(|key| vec![key]),
    }
}

fn action_named(name: &str) -> Result<Action, Mistake> {
    Action::named(name).ok_or_else(|| Mistake::UnknownAction {
        name: name.to_owned(),
        meant: suggest(name, ACTIONS.iter().map(|entry| entry.name)).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn parsed(level: Level, text: &str) -> Result<File, Vec<String>> {
        File::parse(level, Path::new("/a/config.toml"), text, &cli::definition())
    }

    fn mistakes(text: &str) -> String {
        parsed(Level::User, text).unwrap_err().join("\n")
    }

    #[test]
    fn values_have_the_types_of_their_options() {
        let text = "quiet = true\nverbose = 2\nfilter = \"c2s\"\nseed = 7\nrule = [\"drop when c2s\", \"log when s2c\"]\n\
                    link = \"both delay 5ms\"\nrules = \"a.tap\"\ntimeout = \"5s\"\n[keys]\nfreeze = \"ctrl-x\"\n";
        let file = parsed(Level::User, text).unwrap();
        let settings: Vec<(usize, &str, String)> = file
            .settings
            .iter()
            .map(|setting| (setting.line, &*setting.name, setting.values.join("|")))
            .collect();
        let expected = [
            (1, "quiet", "true"),
            (2, "verbose", "2"),
            (3, "filter", "c2s"),
            (4, "seed", "7"),
            (5, "rule", "drop when c2s|log when s2c"),
            (6, "link", "both delay 5ms"),
            // A path is relative to the file.
            (7, "rules", "/a/a.tap"),
            (8, "timeout", "5s"),
        ];
        let expected = expected.map(|(line, name, values)| (line, name, values.to_owned()));
        assert_eq!(settings, expected);
        assert_eq!(file.keys, [("ctrl-x".parse().unwrap(), Action::Freeze)]);
    }

    #[test]
    fn a_mistake_has_its_file_and_line() {
        for (text, expected) in [
            (
                "filtre = \"c2s\"",
                "/a/config.toml:1: unknown key 'filtre'; did you mean 'filter'?",
            ),
            (
                "\n\nhost = \"a\"",
                "/a/config.toml:3: unknown key 'host'; teetap config template lists all",
            ),
            (
                "quiet = \"yes\"",
                "/a/config.toml:1: invalid value of 'quiet': expected true or false, not string",
            ),
            (
                "verbose = 3",
                "/a/config.toml:1: invalid value of 'verbose': expected 0, 1 or 2, not 3",
            ),
            (
                "filter = true",
                "/a/config.toml:1: invalid value of 'filter': expected a string, not boolean",
            ),
            (
                "rule = [1]",
                "/a/config.toml:1: invalid value of 'rule': expected a list of strings",
            ),
            (
                "rule = 1",
                "/a/config.toml:1: invalid value of 'rule': expected a string, or a list of strings, not integer",
            ),
            ("keys = 1", "/a/config.toml:1: 'keys' is a table: write [keys]"),
            (
                "[keys]\nquit = \"qq\"",
                "/a/config.toml:2: unknown key 'qq': write q, G, ctrl-d, PgDn, space, F5",
            ),
            (
                "[keys]\n\nquitt = \"q\"",
                "/a/config.toml:3: unknown action 'quitt'; did you mean 'quit'?",
            ),
            (
                "[keys]\nquit = [1]",
                "/a/config.toml:2: expected a key, or a list of keys",
            ),
        ] {
            assert_eq!(mistakes(text), expected);
        }
        for (text, part) in [
            ("a = 1\ntheme = ", "config.toml:2: "),
            (
                "theme = \"blue\"",
                "config.toml:1: invalid value 'blue' for '--theme <NAME>'",
            ),
            ("seed = -1", "config.toml:1: invalid value '-1' for '--seed <N>'"),
            ("listen = 8303", "did you mean :8303?"),
            ("timeout = 30", "did you mean 30s?"),
        ] {
            assert!(mistakes(text).contains(part), "{}", mistakes(text));
        }
        let all = mistakes("\nx = 1\ny = 2\n[keys]\nq = 3\n");
        let lines: Vec<_> = all.lines().filter_map(|line| line.split(':').nth(1)).collect();
        assert_eq!(lines, ["2", "3", "5"], "all mistakes, in the order of the lines");
    }

    #[test]
    fn a_project_opens_no_door_and_writes_no_file() {
        for name in USER_ONLY {
            let value = match name {
                "allow-remote" | "show-secrets" => "true",
                "write" => "\"a.pcapng\"",
                _ => "\"a\"",
            };
            let text = format!("{name} = {value}");
            assert!(parsed(Level::User, &text).is_ok(), "{name}");
            let refused = parsed(Level::Project, &text).unwrap_err().join("\n");
            assert!(
                refused.contains("cannot be set in the file of a project"),
                "{refused}"
            );
        }
    }
}

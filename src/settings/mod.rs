//! Configuration files: options that apply unless the command line or the environment sets them.
//!
//! Law: a file sets options of `teetap HOST` by their long names, and the parsers of the command line read the values.
//! A value becomes the default of its option, so that a command ignores options that it does not have. An option is
//! left out if it conflicts with an option that is set, or, for a command, with an earlier option of the same file.

mod file;
mod in_force;
mod mistake;
mod template;

pub(crate) use file::{Bound, File, Setting};
pub(crate) use in_force::{InForce, repeated, sentence};
pub(crate) use template::template;

use std::{
    env, io,
    io::IsTerminal as _,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

/// Name of the table of keys in a file.
const KEYS: &str = "keys";

/// Name of the file in a project folder.
pub(crate) const PROJECT: &str = "teetap.toml";

/// Name of the user's file, relative to the configuration folder.
pub(crate) const USER: &str = "teetap/config.toml";

/// Options that a project's file may not set, since the file may come from another person.
pub(crate) const USER_ONLY: [&str; 10] = [
    "allow-remote",
    "show-secrets",
    "control",
    "input-log",
    "journal",
    "junit",
    "summary",
    "log",
    "messages",
    "write",
];

/// Level of a file, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The folder in which teetap is started.
    Project,
    /// The user.
    User,
}

/// Files of this run that exist, highest precedence first.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) files: Vec<File>,
}

/// Returns the paths of the files, highest precedence first.
pub(crate) fn paths() -> Vec<(Level, PathBuf)> {
    let folder = |name: &str, below: &str| {
        let folder = env::var_os(name).map(|folder| Path::new(&folder).join(below));
        // The XDG specification ignores relative paths.
        folder.filter(|folder| folder.is_absolute())
    };
    let user = folder("XDG_CONFIG_HOME", "").or_else(|| folder("HOME", ".config"));
    let user = user.map(|folder| (Level::User, folder.join(USER)));
    let project = (Level::Project, PathBuf::from(PROJECT));
    std::iter::once(project).chain(user).collect()
}

/// Returns the options that a file can set, which are the options of `teetap HOST`.
pub(crate) fn options(root: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let named = root
        .get_arguments()
        .filter_map(|arg| Some((arg.get_long()?, arg)));
    named.filter(|(name, _)| !["help", "version"].contains(name))
}

/// Returns true if the command line or the environment sets the option.
pub(crate) fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    let source = matches
        .try_contains_id(id)
        .ok()
        .and_then(|_| matches.value_source(id));
    source.is_some_and(|source| source != ValueSource::DefaultValue)
}

impl Settings {
    /// Reads the files.
    ///
    /// # Errors
    /// Returns a line for each mistake, with file and line.
    pub(crate) fn read(root: &Command) -> Result<Self, Vec<String>> {
        let (mut files, mut mistakes) = (Vec::new(), Vec::new());
        for (level, path) in paths() {
            match File::read(level, &path, root) {
                Ok(file) => files.extend(file),
                Err(lines) => mistakes.extend(lines),
            }
        }
        if mistakes.is_empty() {
            Ok(Self { files })
        } else {
            Err(mistakes)
        }
    }

    /// Returns the settings in force for `teetap HOST` or one of its commands, each with its file. `matches` contains
    /// the given options.
    ///
    /// # Errors
    /// Returns a line for each option that conflicts with another option of the same file.
    pub(crate) fn for_command<'s>(
        &'s self,
        root: &Command,
        name: Option<&str>,
        matches: &ArgMatches,
    ) -> Result<Vec<(&'s File, &'s Setting)>, Vec<String>> {
        let command = name.and_then(|name| root.find_subcommand(name)).unwrap_or(root);
        let given = command.get_arguments().filter(|arg| is_given(matches, arg));
        let given: Vec<&str> = given.filter_map(Arg::get_long).collect();
        let (mut taken, mut mistakes): (Vec<(&File, &Setting)>, _) = (Vec::new(), Vec::new());
        for file in &self.files {
            for setting in file.settings.iter().filter(|setting| !setting.is_off()) {
                let own = &*setting.name;
                let is_taken = taken.iter().any(|(_, other)| other.name == own);
                let is_beaten = given
                    .iter()
                    .any(|other| *other == own || is_excluded(command, own, other));
                if option(command, own).is_none() || is_taken || is_beaten {
                    continue;
                }
                let rival = taken
                    .iter()
                    .find(|(_, other)| is_excluded(command, own, &other.name));
                match rival {
                    Some((of, other)) if std::ptr::eq(*of, file) && is_excluded(root, own, &other.name) => {
                        let place = file.place(setting.line);
                        let (name, line) = (&other.name, other.line);
                        mistakes.push(format!(
                            "{place}: '{own}' cannot be used with '{name}' of line {line}"
                        ));
                    }
                    Some(_) => {}
                    None => taken.push((file, setting)),
                }
            }
        }
        if mistakes.is_empty() {
            Ok(taken)
        } else {
            Err(mistakes)
        }
    }

    /// Returns the settings in force, as [`Self::for_command`] does, for the rest of this process.
    ///
    /// # Errors
    /// Same as [`Self::for_command`].
    pub(crate) fn in_force(
        &self,
        root: &Command,
        name: Option<&str>,
        matches: &ArgMatches,
    ) -> Result<InForce, Vec<String>> {
        let command = name.and_then(|name| root.find_subcommand(name)).unwrap_or(root);
        Ok(InForce::new(
            command,
            &self.for_command(root, name, matches)?,
            &self.files,
        ))
    }

    /// Returns the command with the settings as defaults.
    ///
    /// # Errors
    /// Same as [`Self::for_command`].
    pub(crate) fn applied(
        &self,
        definition: Command,
        name: Option<&str>,
        matches: &ArgMatches,
    ) -> Result<Command, Vec<String>> {
        let taken = self.for_command(&definition, name, matches)?;
        let set = |command: Command| {
            command.mut_args(|arg| {
                let setting = taken.iter().find(|(_, own)| arg.get_long() == Some(&own.name));
                match setting {
                    Some((_, setting)) => arg.default_values(setting.values.clone()),
                    None => arg,
                }
            })
        };
        Ok(match name {
            Some(name) => definition.mut_subcommand(name, set),
            None => set(definition),
        })
    }

    /// Returns the keys that are bound, lowest precedence first.
    pub(crate) fn keys(&self) -> Vec<Bound> {
        self.files
            .iter()
            .rev()
            .flat_map(|file| file.keys.clone())
            .collect()
    }
}

impl Setting {
    /// Returns true for `tui` without a terminal, so that lines are printed instead.
    fn is_off(&self) -> bool {
        let is_terminal = || io::stdin().is_terminal() && io::stdout().is_terminal();
        self.name == "tui" && !is_terminal()
    }
}

/// Options of commands that have the name of an option of `teetap HOST` but another meaning.
const OTHERS: [(&str, &str); 2] = [("open", "write"), ("fmt", "write")];

/// Returns the option of a command with this long name, unless it has another meaning there.
fn option<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let is_other = OTHERS.contains(&(command.get_name(), name));
    let mut options = command.get_arguments().filter(|_| !is_other);
    options.find(|arg| arg.get_long() == Some(name))
}

/// Returns true if two options of a command conflict.
fn is_excluded(command: &Command, one: &str, other: &str) -> bool {
    let has = |of: &Arg, arg: &Arg| {
        let excluded = command.get_arg_conflicts_with(of);
        excluded.iter().any(|excluded| excluded.get_id() == arg.get_id())
    };
    let both = option(command, one).zip(option(command, other));
    both.is_some_and(|(one, other)| has(one, other) || has(other, one))
}

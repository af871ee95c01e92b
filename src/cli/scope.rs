//! Which sub-command takes which options.
//!
//! Options stand before or behind a sub-command. One that means nothing to it is not in its help and is refused where it
//! is typed; in the environment it is meant for other commands, whatever it says.

use std::{env, ffi::OsString};

use clap::{
    Arg, ArgMatches, Command,
    builder::{PossibleValuesParser, Resettable},
    error::ErrorKind,
    parser::ValueSource,
};

/// What is shown of messages, and how.
const SHOWN: [&str; 7] = [
    "filter",
    "until",
    "json",
    "quiet",
    "verbose",
    "show_secrets",
    "messages",
];

/// The options of a sub-command that does not take all of them; without a sub-command all are taken.
fn taken(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "open" => &SHOWN,
        // The expression is an argument.
        "grep" => SHOWN.split_first().map_or(&[], |(_, others)| others),
        "replay" => &["json", "quiet"],
        "scrub" => &["quiet", "messages"],
        "messages" => &["messages"],
        "explain" => &["proto", "json", "show_secrets", "messages"],
        "completions" | "man" => &[],
        _ => return None,
    })
}

fn takes(name: &str, option: &str) -> bool {
    // It plays two protocols at once.
    let is_for_others = name == "demo" && option == "proto";
    !is_for_others && taken(name).is_none_or(|taken| taken.contains(&option))
}

/// The options of `root`, which its sub-commands inherit.
fn options(root: &Command) -> impl Iterator<Item = &Arg> {
    root.get_arguments().filter(|arg| arg.is_global_set())
}

/// The names of the sub-commands.
pub(super) fn names(root: &Command) -> Vec<String> {
    root.get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// Hides from the help of each sub-command what it does not take, and takes only from the environment what is for the one
/// that `args` name.
pub(super) fn limit(mut root: Command, args: &[OsString]) -> Command {
    let names = names(&root);
    let named = args
        .iter()
        .skip(1)
        .find_map(|arg| names.iter().find(|name| arg.as_os_str() == name.as_str()));
    for option in options(&root).cloned().collect::<Vec<Arg>>() {
        let id = option.get_id().clone();
        let is_for_others = named.is_some_and(|name| !takes(name, id.as_str()));
        // An empty variable is none.
        let is_empty = option
            .get_env()
            .and_then(env::var_os)
            .is_some_and(|value| value.is_empty());
        if is_for_others || is_empty {
            root = root.mut_arg(id.as_str(), |option| option.env(Resettable::Reset));
        }
    }
    let options: Vec<Arg> = options(&root).cloned().collect();
    for name in &names {
        let others = options
            .iter()
            .filter(|option| !takes(name, option.get_id().as_str()));
        // Whoever has an option does not inherit it.
        let others = others.map(|option| option.clone().hide(true).env(Resettable::Reset));
        root = root.mut_subcommand(name, |command| command.args(others.collect::<Vec<_>>()));
    }
    of_names(root, names)
}

/// The definition without what would only be hidden: completion scripts offer that too.
pub(super) fn without_others(mut root: Command) -> Command {
    let (names, options) = (names(&root), options(&root).cloned().collect::<Vec<Arg>>());
    for name in &names {
        let of_it = options
            .iter()
            .filter(|option| takes(name, option.get_id().as_str()));
        // A script needs no conflict, and the other option may not be there.
        let bare = |option: &Arg| option.clone().global(false).conflicts_with(Resettable::Reset);
        let local: Vec<Arg> = of_it.map(bare).collect();
        root = root.mut_subcommand(name, |command| command.args(local));
    }
    of_names(root.mut_args(|option| option.global(false)), names)
}

/// `man` takes the names of sub-commands.
fn of_names(root: Command, names: Vec<String>) -> Command {
    root.mut_subcommand("man", |man| {
        man.mut_arg("of", |of| of.value_parser(PossibleValuesParser::new(names)))
    })
}

/// The variable that a wrong value of `option` came from; `None` where it was typed.
pub(super) fn variable(root: &Command, option: &str, args: &[OsString]) -> Option<String> {
    let long = option.split_whitespace().next()?;
    let found = options(root).find(|known| known.get_long() == long.strip_prefix("--"))?;
    let short = found.get_short();
    let is_typed = args.iter().filter_map(|arg| arg.to_str()).any(|arg| {
        let mut letters = arg.chars();
        arg.starts_with(long) || letters.next() == Some('-') && letters.next() == short && short.is_some()
    });
    let variable = found
        .get_env()
        .filter(|name| !is_typed && env::var_os(name).is_some())?;
    Some(variable.to_string_lossy().into_owned())
}

/// Refuses an option that was typed for a sub-command that does not take it.
pub(super) fn check(root: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, given)) = matches.subcommand() else {
        return Ok(());
    };
    let wrong = options(root).find(|option| {
        let id = option.get_id().as_str();
        let is_typed = given.value_source(id) == Some(ValueSource::CommandLine);
        is_typed && !takes(name, id)
    });
    match wrong.and_then(Arg::get_long) {
        None => Ok(()),
        Some(long) => {
            let text = format!("teetap {name} takes no --{long}");
            Err(root.error(ErrorKind::ArgumentConflict, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_name_is_of_something() {
        let root = Cli::command();
        let ids: Vec<&str> = options(&root).map(|option| option.get_id().as_str()).collect();
        for command in root.get_subcommands() {
            for id in taken(command.get_name()).unwrap_or_default() {
                assert!(ids.contains(id), "{}: {id}", command.get_name());
            }
        }
    }
}

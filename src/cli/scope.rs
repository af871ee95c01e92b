//! Which sub-command takes which options.
//!
//! Options stand before or behind a sub-command. One that means nothing to it is not in its help and is refused where it
//! is typed; in the environment it is meant for other commands.

use clap::{Arg, ArgMatches, Command, error::ErrorKind, parser::ValueSource};

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

/// Hides from the help of each sub-command what it does not take.
pub(super) fn limit(mut root: Command) -> Command {
    let options: Vec<Arg> = options(&root).cloned().collect();
    let names: Vec<String> = root
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        let others = options
            .iter()
            .filter(|option| !takes(&name, option.get_id().as_str()));
        // Whoever has an option does not inherit it.
        let others: Vec<Arg> = others.map(|option| option.clone().hide(true)).collect();
        root = root.mut_subcommand(name, |command| command.args(others));
    }
    root
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

//! Scope of options: a `TEETAP_*` variable applies only to a command that has the option, and options of a command
//! follow its name.

use std::{env, ffi::OsString};

use clap::{
    Arg, ArgMatches, Command,
    builder::Resettable,
    error::{ContextKind, ContextValue, ErrorKind},
    parser::ValueSource,
};

/// Returns the definition with which to parse `args`. Leaves out the variables of `teetap HOST` if `args` name a
/// command. Empty variables count as unset.
pub(super) fn in_environment(root: Command, args: &[OsString]) -> Command {
    let is_root = command(&root, args).is_none();
    let is_empty = |arg: &Arg| {
        arg.get_env()
            .and_then(env::var_os)
            .is_some_and(|value| value.is_empty())
    };
    let unless = move |unset: bool, arg: Arg| if unset { arg.env(Resettable::Reset) } else { arg };
    root.mut_args(|arg| unless(!is_root || is_empty(&arg), arg))
        .mut_subcommands(|command| command.mut_args(|arg| unless(is_empty(&arg), arg)))
}

/// Environment variables that apply to the runs of `teetap torture`.
const OF_CELLS: [&str; 2] = ["TEETAP_MESSAGES", "TEETAP_PROTO"];

/// Returns the definition for the runs of `teetap torture`.
pub(super) fn of_cells(root: Command) -> Command {
    let is_left_out = |arg: &Arg| {
        let variable = arg.get_env();
        let is_kept = variable.is_some_and(|variable| OF_CELLS.iter().any(|kept| variable == *kept));
        let is_empty = variable
            .and_then(env::var_os)
            .is_some_and(|value| value.is_empty());
        !is_kept || is_empty
    };
    let unless = move |arg: Arg| {
        if is_left_out(&arg) {
            arg.env(Resettable::Reset)
        } else {
            arg
        }
    };
    root.mut_args(|arg| arg.env(Resettable::Reset))
        .mut_subcommands(|command| command.mut_args(unless))
}

/// Returns the command that `args` name.
fn command<'r>(root: &'r Command, args: &[OsString]) -> Option<&'r Command> {
    root.find_subcommand(args.get(1)?)
}

/// Refuses options before the name of a command, since they would apply to `teetap HOST`.
pub(super) fn check(root: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, _)) = matches.subcommand() else {
        return Ok(());
    };
    let is_typed = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let Some(long) = root.get_arguments().find(is_typed).and_then(Arg::get_long) else {
        return Ok(());
    };
    let takes = root.find_subcommand(name).is_some_and(|command| {
        command
            .get_arguments()
            .any(|option| option.get_long() == Some(long))
    });
    let text = if takes {
        format!("--{long} is before the command: write teetap {name} --{long}")
    } else {
        format!("teetap {name} takes no --{long}")
    };
    Err(root.error(ErrorKind::ArgumentConflict, text))
}

/// Returns a better error for an option that only other commands have; otherwise returns `error`.
pub(super) fn option_of_other_command(
    error: clap::Error,
    args: &[OsString],
    root: &mut Command,
) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let name = option.trim_start_matches('-');
    let known = root.get_arguments().filter_map(|known| {
        let long = known.get_long()?;
        let is_short = known.get_short().is_some_and(|short| name == short.to_string());
        (long == name || is_short).then_some(long)
    });
    match (command(root, args), known.last()) {
        (Some(command), Some(long)) if error.kind() == ErrorKind::UnknownArgument => {
            let text = format!("teetap {} takes no --{long}", command.get_name());
            root.error(ErrorKind::ArgumentConflict, text)
        }
        _ => error,
    }
}

/// Returns the variable that held the wrong value of `option`; `None` if the user typed it.
pub(super) fn variable(root: &Command, option: &str, args: &[OsString]) -> Option<String> {
    let long = option.split_whitespace().next()?;
    let found = command(root, args)
        .unwrap_or(root)
        .get_arguments()
        .find(|known| known.get_long().is_some() && known.get_long() == long.strip_prefix("--"))?;
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

//! `teetap completions` and `teetap man`: texts made from the definition of the command line.

use clap_complete::Shell;

use crate::{
    cli,
    exit::{Exit, Failure},
    output,
};

/// Prints the completion script of a shell.
///
/// # Errors
/// When stdout cannot be written.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "teetap", &mut text);
    print(&text)
}

/// Prints the man page, or that of the sub-command `of`.
///
/// # Errors
/// [`Failure`] of the command line: there is no such sub-command. When stdout cannot be written.
pub(crate) fn man(of: Option<&str>) -> anyhow::Result<Exit> {
    let mut definition = cli::definition().flatten_help(true);
    // Gives the sub-commands the names of their pages.
    definition.build();
    let page = match of {
        None => definition,
        Some(name) => definition.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command '{name}': teetap --help lists all"))
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    print(&text)
}

fn print(text: &[u8]) -> anyhow::Result<Exit> {
    // A closed pipe is success.
    output::write_out(text)?;
    Ok(Exit::Ok)
}

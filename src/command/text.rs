//! `teetap completions` and `teetap man`: texts made from the definition of the command line.

use clap_complete::Shell;

use crate::{cli, exit::Exit, output};

/// Prints the completion script of a shell.
///
/// # Errors
/// When stdout cannot be written.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "teetap", &mut text);
    print(&text)
}

/// Prints the man page, sub-commands included.
///
/// # Errors
/// When stdout cannot be written.
pub(crate) fn man() -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_mangen::Man::new(cli::definition().flatten_help(true)).render(&mut text)?;
    print(&text)
}

fn print(text: &[u8]) -> anyhow::Result<Exit> {
    // A closed pipe is success.
    output::write_out(text)?;
    Ok(Exit::Ok)
}

//! `teetap completions` and `teetap man`: texts made from the definition of the command line.

use clap::builder::Resettable;
use clap_complete::Shell;

use crate::{cli, exit::Exit, output};

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "teetap", &mut text);
    print(&text)
}

/// Prints the man page, or that of the sub-command `of`.
pub(crate) fn man(of: Option<&str>) -> anyhow::Result<Exit> {
    let mut definition = cli::definition().flatten_help(true).disable_help_subcommand(true);
    // Gives the sub-commands the names of their pages.
    definition.build();
    let page = of
        .and_then(|name| definition.find_subcommand(name).cloned())
        .unwrap_or(definition);
    // Lists would be filled to lines like other text.
    let notes = page.get_after_long_help().map(ToString::to_string);
    let page = page
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset);
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    if let Some(notes) = notes {
        text.extend_from_slice(as_it_stands(&notes).as_bytes());
    }
    print(&text)
}

/// A section of a man page with lines that are not filled.
fn as_it_stands(text: &str) -> String {
    let mut section = String::from(".SH NOTES\n.nf\n");
    for line in text.lines() {
        let line = line.replace('\\', "\\\\").replace('-', "\\-");
        // A dot or an apostrophe would begin a request.
        if line.starts_with(['.', '\'']) {
            section.push_str("\\&");
        }
        section.push_str(&line);
        section.push('\n');
    }
    section.push_str(".fi\n");
    section
}

fn print(text: &[u8]) -> anyhow::Result<Exit> {
    // A closed pipe is success.
    output::write_out(text)?;
    Ok(Exit::Ok)
}

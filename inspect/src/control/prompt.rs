//! Parses a line of a prompt into a command, with the words of `teetap ctl`.

use clap::{Arg, FromArgMatches as _, Subcommand as _, value_parser};
use teetap_proxy::session::SessionId;

use super::command::Command;

/// Name of the option that selects a session.
const SESSION: &str = "session";

/// The reason why a line is no command.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A quote has no end.
    #[error("a quote has no end; write quotes as in a shell, such as 'drop when sv_chat'")]
    Quote,
    /// A name or an argument is wrong.
    #[error("{}", error_line(&.0.render().to_string()))]
    Arguments(#[from] clap::Error),
    /// The line selects a session for the command of this name, which acts on none.
    #[error("'{0}' does not act on a session; leave out --{SESSION}")]
    NoSession(String),
}

/// A command as help shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHelp {
    /// Name.
    pub name: String,
    /// Names of the arguments without options, or `COMMAND` for a command with subcommands.
    pub arguments: String,
    /// Sentence in the imperative.
    pub help: String,
}

/// Returns the help of all commands of `teetap ctl`.
#[must_use]
pub fn command_help() -> Vec<CommandHelp> {
    let root = definition();
    let commands = root.get_subcommands().map(|command| {
        let arguments = command.get_positionals().filter_map(|argument| {
            let names = argument.get_value_names()?;
            names.first().map(ToString::to_string)
        });
        CommandHelp {
            name: command.get_name().to_owned(),
            arguments: if command.has_subcommands() {
                "COMMAND".to_owned()
            } else {
                arguments.collect::<Vec<_>>().join(" ")
            },
            help: command.get_about().map(ToString::to_string).unwrap_or_default(),
        }
    });
    commands.collect()
}

/// Parses a line that is quoted as in a shell, such as `rules add 'drop when sv_chat'`. See [`parse_words`].
///
/// # Errors
/// Returns the reason why the line is no command.
pub fn parse_line(line: &str, shown: Option<SessionId>) -> Result<Command, PromptError> {
    let words = shlex::split(line).ok_or(PromptError::Quote)?;
    parse_words(words.iter().map(String::as_str), shown)
}

/// Parses the words of a command. A command that needs a session and has no `--session` acts on `shown`.
///
/// # Errors
/// Returns the reason why the words are no command.
pub fn parse_words<'w>(
    words: impl IntoIterator<Item = &'w str>,
    shown: Option<SessionId>,
) -> Result<Command, PromptError> {
    let matches = definition().try_get_matches_from(words)?;
    let mut command = Command::from_arg_matches(&matches)?;
    let session = matches.get_one(SESSION).copied().map(SessionId);
    if !command.set_session(session, shown) && session.is_some() {
        let name = matches.subcommand_name().unwrap_or_default();
        return Err(PromptError::NoSession(name.to_owned()));
    }
    Ok(command)
}

/// Returns the message and the tips of a rendered error of clap in one line, without the usage that follows.
#[must_use]
pub fn error_line(rendered: &str) -> String {
    let lines = rendered.lines().map(str::trim);
    let shown =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let shown: Vec<&str> = shown.filter(|line| !line.is_empty()).collect();
    let line = shown.join("; ").replace(":; ", ": ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// Returns the clap definition of all commands. The first word of a line is the name of a command.
fn definition() -> clap::Command {
    let session = Arg::new(SESSION)
        .long(SESSION)
        .value_name("N")
        .global(true)
        .value_parser(value_parser!(u32).range(1..));
    let root = clap::Command::new("prompt")
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .arg(session);
    Command::augment_subcommands(root)
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use teetap_proxy::session::HeldId;
    use teetap_wire::Dir;

    use super::{
        super::{Edit, HeldPlace, RuleCommand, Sides},
        *,
    };

    const SHOWN: Option<SessionId> = Some(SessionId(4));

    #[test]
    fn a_line_has_the_words_of_ctl_and_the_quotes_of_a_shell() {
        let place = |session| HeldPlace {
            held: HeldId(NonZero::new(3).unwrap()),
            session,
            dir: session.map(|_| Dir::C2s),
        };
        let (first, second) = (Some(SessionId(1)), Some(SessionId(2)));
        let swap = RuleCommand::Swap {
            name: "drop when c2s".to_owned(),
            with: r#"log "it's""#.to_owned(),
        };
        for (line, command) in [
            ("sessions", Command::Sessions {}),
            ("resync", Command::Resync { session: SHOWN }),
            ("resync --session 2", Command::Resync { session: second }),
            (
                "close --side=server 'bye now'",
                Command::Close {
                    session: SHOWN,
                    all: false,
                    side: Sides::Server,
                    reason: "bye now".to_owned(),
                },
            ),
            // A held message is found in any session.
            ("release 3", Command::Release(place(None))),
            ("drop 1/c2s/3", Command::Drop(place(first))),
            (
                "edit 1/c2s/3 'cl_say{message: \"a b\"}'",
                Command::Edit(Edit::text(place(first), "cl_say{message: \"a b\"}")),
            ),
            ("held", Command::Held { session: None }),
            ("held --session 2", Command::Held { session: second }),
            ("rules", Command::Rules { change: None }),
            (r#"rules swap 'drop when c2s' "log \"it's\"""#, swap.into()),
        ] {
            assert_eq!(parse_line(line, SHOWN).unwrap(), command, "{line}");
        }
    }

    #[test]
    fn close_cannot_select_all_sessions_and_one() {
        let close = |session| Command::Close {
            session,
            all: true,
            side: Sides::Both,
            reason: String::new(),
        };
        assert_eq!(parse_line("close --all", SHOWN).unwrap(), close(None));
        let refused = parse_line("close --all --session 1", SHOWN).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the argument '--all' cannot be used with '--session <N>'"
        );
    }

    #[test]
    fn a_wrong_line_has_its_cause_in_one_line() {
        for (line, why) in [
            ("'release 3", "a quote has no end"),
            ("resnc", "unrecognized subcommand 'resnc'; tip: "),
            ("rules ad x", "unrecognized subcommand 'ad'; tip: "),
            ("rules add drop when x", "unexpected argument 'when' found"),
            ("resync now", "unexpected argument 'now' found"),
            ("close --al bye", "unexpected argument '--al' found; tip: "),
            ("close --side left", "invalid value 'left' for '--side <SIDE>'"),
            (
                "release",
                "the following required arguments were not provided: <ID>",
            ),
            ("release x", "invalid value 'x' for '<ID>': expected a number"),
            (
                "stats --session 1",
                "'stats' does not act on a session; leave out --session",
            ),
            ("unsubscribe", "unrecognized subcommand 'unsubscribe'"),
            ("release --help", "unexpected argument '--help' found"),
        ] {
            let found = parse_line(line, SHOWN).unwrap_err().to_string();
            assert!(found.starts_with(why) && !found.contains('\n'), "{line}: {found}");
        }
    }

    #[test]
    fn help_has_the_arguments_and_a_sentence() {
        let commands = command_help();
        for (name, arguments) in [("edit", "ID MESSAGE"), ("rules", "COMMAND"), ("stats", "")] {
            let found = commands.iter().find(|command| command.name == name).unwrap();
            assert_eq!(found.arguments, arguments, "{name}");
        }
        assert!(commands.iter().all(|command| !command.help.is_empty()));
    }
}

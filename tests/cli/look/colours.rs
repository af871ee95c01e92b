//! Colours and characters: when they are printed, and when not.

use std::{fs, process::Command};

use super::{Files, capture, piped, plain_terminal, shown};
use crate::teetap;

#[test]
fn no_command_prints_an_escape_where_colours_are_off() {
    let files = Files::new();
    type Setting = fn(&mut Command, &mut Vec<&str>);
    let off: [Setting; 4] = [
        |command, _| {
            command.env("NO_COLOR", "1");
        },
        |command, _| {
            command.env("TERM", "dumb");
        },
        |command, _| {
            command.env("TEETAP_COLOR", "never");
        },
        |_, args| {
            let at = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
            args.splice(at..at, ["--color", "never"]);
        },
    ];
    for (args, _) in files.commands() {
        for (number, setting) in off.iter().enumerate() {
            let (mut command, mut args) = (plain_terminal(), args.clone());
            setting(&mut command, &mut args);
            let text = shown(command.args(&args), 100);
            assert!(!text.contains('\x1b'), "{args:?} with setting {number}: {text:?}");
        }
        let text = piped(plain_terminal().args(&args));
        assert!(!text.contains('\x1b'), "{args:?} in a pipe: {text:?}");
    }
}

#[test]
fn commands_print_colours_on_a_terminal_and_where_they_are_requested() {
    let files = Files::new();
    for (args, has_colours) in files.commands() {
        let on_terminal = shown(plain_terminal().args(&args), 100);
        assert_eq!(
            on_terminal.contains("\x1b["),
            has_colours,
            "{args:?}: {on_terminal:?}"
        );
        let in_pipe = piped(
            plain_terminal()
                .args(&args)
                .env("TEETAP_COLOR", "always")
                .env("NO_COLOR", "1"),
        );
        assert_eq!(in_pipe.contains("\x1b["), has_colours, "{args:?}: {in_pipe:?}");
    }
    let json = piped(plain_terminal().args(["open", "--json", "--color", "always", &files.capture]));
    assert!(!json.contains('\x1b'), "{json:?}");
    // An empty variable counts as unset.
    let mut empty = plain_terminal();
    let text = shown(empty.args(["open", &files.capture]).env("NO_COLOR", ""), 100);
    assert!(text.contains("\x1b["), "{text:?}");
}

#[test]
fn a_configuration_file_sets_the_colours_of_every_command() {
    let files = Files::new();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("teetap")).unwrap();
    fs::write(folder.path().join("teetap/config.toml"), "color = \"never\"\n").unwrap();
    for (args, _) in files.commands() {
        let text = shown(
            plain_terminal().args(&args).env("XDG_CONFIG_HOME", folder.path()),
            100,
        );
        assert!(!text.contains('\x1b'), "{args:?}: {text:?}");
    }
}

#[test]
fn names_of_files_bring_no_colours() {
    let text = piped(plain_terminal().args(["open", "\x1b[31mfile"]));
    assert!(!text.contains('\x1b'), "{text:?}");
    let text = piped(plain_terminal().args(["open", "-f", "\x1b[31m", &capture("loss-tw07.pcap")]));
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn with_ascii_everything_is_ascii() {
    let files = Files::new();
    for (mut args, _) in files.commands() {
        let at = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
        args.splice(at..at, ["--ascii"]);
        let text = piped(plain_terminal().args(&args));
        assert!(text.is_ascii(), "{args:?}: {text}");
    }
    for name in ["rich-dd16.pcap", "tw06c-to-dd20-antispoof.pcap"] {
        for args in [&["--fold"][..], &["-v"], &["-vv"], &["--wide"]] {
            let path = capture(name);
            let text = piped(teetap().args(["open", "--ascii", &path]).args(args));
            assert!(text.is_ascii(), "{args:?}");
        }
    }
    // A dumb terminal gets ASCII without any option; a pipe does not.
    let mut dumb = plain_terminal();
    let text = shown(dumb.args(["open", &files.capture]).env("TERM", "dumb"), 80);
    assert!(text.is_ascii() && text.contains("c->s"), "{text}");
    let text = piped(
        plain_terminal()
            .args(["open", &files.capture])
            .env("TERM", "dumb"),
    );
    assert!(text.contains("c→s"), "{text:?}");
}

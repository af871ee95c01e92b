//! `teetap config`: the configuration files, and the options in force.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::{Arg, ArgMatches, parser::ValueSource};

use teetap_wire::{is_deceptive, is_invisible, printable_path};

use crate::{
    cli::{self, ConfigPart},
    exit::{Exit, Failure},
    output,
    settings::{self, File, Level, Setting, Settings},
};

/// Prints a part of the configuration.
///
/// # Errors
/// A file is wrong: the error has a line for each mistake.
pub(crate) fn config(part: ConfigPart) -> anyhow::Result<Exit> {
    let text = match part {
        ConfigPart::Template => settings::template(&cli::definition()),
        ConfigPart::Path => paths()?,
        ConfigPart::Show => shown()?,
    };
    // A closed pipe is success.
    output::write_out(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// Returns the paths of the files, highest precedence first.
fn paths() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (level, path) in settings::paths() {
        let state = if path.exists() { "" } else { "  # does not exist" };
        let path = match level {
            Level::Project => format!("./{}", printable_path(&path)),
            Level::User => printable_path(&path),
        };
        writeln!(text, "{path}{state}")?;
    }
    Ok(text)
}

/// Returns the options in force for `teetap HOST`, each with its origin.
fn shown() -> anyhow::Result<String> {
    let refused = |mistakes: Vec<String>| Failure::usage(mistakes.join("\n"));
    let root = cli::definition();
    let settings = Settings::read(&root).map_err(refused)?;
    // Same as a run without options on the command line.
    let words = ["teetap", "host"];
    let matches = cli::in_environment()
        .try_get_matches_from(words)
        .map_err(|error| wrong("in the environment: ", &error))?;
    let taken = settings.for_command(&root, None, &matches).map_err(refused)?;
    let matches = settings
        .applied(cli::in_environment(), None, &matches)
        .map_err(refused)?
        .try_get_matches_from(words)
        .map_err(|error| wrong("", &error))?;
    let mut text = String::new();
    for (name, arg) in settings::options(&root) {
        let setting = taken.iter().find(|(_, setting)| setting.name == name);
        line(&mut text, (name, arg), &matches, setting)?;
    }
    let mut keys: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, action) in settings.keys() {
        keys.entry(action.entry().name)
            .or_default()
            .push(quoted(&key.to_string()));
    }
    if !keys.is_empty() {
        writeln!(text, "\n[keys]")?;
    }
    for (action, keys) in &keys {
        writeln!(text, "{action} = [{}]", keys.join(", "))?;
    }
    Ok(text)
}

fn wrong(place: &str, error: &clap::Error) -> Failure {
    let text = cli::one_line(&error.render().to_string());
    Failure::usage(format!("{place}{text}"))
}

/// Appends the line of an option.
fn line(
    text: &mut String,
    (name, arg): (&str, &Arg),
    matches: &ArgMatches,
    setting: Option<&(&File, &Setting)>,
) -> std::fmt::Result {
    let id = arg.get_id().as_str();
    let raw = matches.get_raw(id).map(|values| {
        let values = values.map(|value| value.to_string_lossy().into_owned());
        values.collect::<Vec<_>>()
    });
    let Some(values) = raw.filter(|values| !values.is_empty()) else {
        return writeln!(text, "# {name} is not set");
    };
    let origin = match (matches.value_source(id), setting) {
        (Some(ValueSource::EnvVariable), _) => {
            let variable = arg.get_env().unwrap_or_default();
            format!("environment: {}", variable.to_string_lossy())
        }
        (_, Some((file, setting))) => file.place(setting.line),
        _ => "built-in".to_owned(),
    };
    let is_plain = !arg.get_action().takes_values();
    let written: Vec<String> = values
        .iter()
        .map(|value| if is_plain { value.clone() } else { quoted(value) })
        .collect();
    let written = match written.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    writeln!(text, "{name} = {written}  # {origin}")
}

/// Returns a text as a TOML string. Escapes hidden characters, since the file of a project may be written by another
/// person.
fn quoted(text: &str) -> String {
    let chars = text.chars().map(|char| match char {
        '"' | '\\' => format!("\\{char}"),
        char if is_deceptive(char) || is_invisible(char) => format!("\\U{:08x}", u32::from(char)),
        char => char.to_string(),
    });
    format!("\"{}\"", chars.collect::<String>())
}

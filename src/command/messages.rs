//! `teetap messages [NAME]`: the definitions, as a list or one of them whole.

use std::{collections::BTreeMap, fmt::Write as _};

use teetap_wire::def::{Class, Def, Dialect, Id, Registry};

use crate::{
    cli::Options,
    exit::{Exit, Failure},
    output,
};

/// Prints the definition of `name`, or the list of all.
///
/// # Errors
/// [`Failure`]s of the command line: a name that nothing has, and definitions that cannot be read.
pub(crate) fn messages(options: &Options, name: Option<&str>) -> anyhow::Result<Exit> {
    let registry = options.registry()?;
    let text = match name {
        None => list(registry),
        Some(name) => registry.describe(name).ok_or_else(|| {
            let meant = registry
                .suggest(None, name)
                .map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            Failure::usage(format!("no message or object is called '{name}'{meant}"))
        })?,
    };
    // A closed pipe is success.
    output::write_out(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// What one name is in the three dialects.
#[derive(Default)]
struct Entry<'r> {
    ids: [Option<&'r Def>; 3],
}

fn list(registry: &Registry) -> String {
    let mut text = String::new();
    for class in Class::ALL {
        let mut entries: BTreeMap<&str, Entry<'_>> = BTreeMap::new();
        for (place, dialect) in Dialect::ALL.into_iter().enumerate() {
            for def in registry.defs(dialect).filter(|def| def.class == class) {
                let entry = entries.entry(&def.name).or_default();
                if let Some(id) = entry.ids.get_mut(place) {
                    id.get_or_insert(def);
                }
            }
        }
        let _never_fails = writeln!(
            text,
            "{:<32} {:<5} {:>5} {:>5} {:>5}",
            class.name().to_uppercase(),
            "",
            "0.6",
            "ddnet",
            "0.7"
        );
        for (name, entry) in entries {
            text.push_str(&line(name, &entry));
        }
        text.push('\n');
    }
    text.push_str("One of them whole: teetap messages NAME\n");
    text
}

fn line(name: &str, entry: &Entry<'_>) -> String {
    let first = entry.ids.iter().flatten().next();
    let way = first.map_or("", |def| {
        if def.class == Class::Object {
            ""
        } else {
            def.way.name()
        }
    });
    let [six, ddnet, seven] = entry.ids.map(|def| def.map_or_else(|| "-".to_owned(), id));
    let doc = first.and_then(|def| def.doc.as_deref()).unwrap_or_default();
    let doc = doc.lines().next().unwrap_or_default();
    let line = format!("  {name:<30} {way:<5} {six:>5} {ddnet:>5} {seven:>5}  {doc}");
    format!("{}\n", line.trim_end())
}

/// The id, as far as it fits a column.
fn id(def: &Def) -> String {
    match &def.id {
        Id::Number(number) => number.to_string(),
        Id::Uuid { .. } => "uuid".to_owned(),
        Id::Tag(tag) => tag.escape_ascii().to_string(),
    }
}

//! `teetap messages [NAME]`: the list of definitions, one of them in full, their syntax, or all of them as JSON.

mod json;
mod libtw2;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use teetap_wire::def::{Class, Def, Dialect, FORM, Id, Registry, meant_clause};

use crate::{
    cli::MessagesOptions,
    exit::{Exit, Failure},
    output,
};

/// Prints definitions in the form that the options ask for.
pub(crate) fn messages(options: &MessagesOptions) -> anyhow::Result<Exit> {
    if options.form {
        output::print(FORM)?;
        return Ok(Exit::Ok);
    }
    if let Some(file) = &options.import {
        return libtw2::import(file);
    }
    if let Some(dialect) = options.libtw2 {
        return libtw2::export(&options.definitions, dialect);
    }
    let registry = options.definitions.registry()?;
    let name = options.name.as_deref();
    let text = if options.json {
        let wanted = name.map(split);
        json::specification(registry, |def| {
            wanted.is_none_or(|(class, own)| registry.is_called(def, class, own))
        })
    } else {
        match name {
            None => Some(list(registry)),
            Some(name) => described(registry, name),
        }
    };
    let text = text.ok_or_else(|| unknown(registry, name.unwrap_or_default()))?;
    // A closed pipe is success.
    output::print(&text)?;
    Ok(Exit::Ok)
}

/// Splits a name into the class before its first dot, if it has one, and the rest.
fn split(name: &str) -> (Option<Class>, &str) {
    let parts = name.split_once('.');
    let found = parts.and_then(|(prefix, own)| Some((Some(teetap_rules::class_of(prefix)?), own)));
    found.unwrap_or((None, name))
}

fn described(registry: &Registry, name: &str) -> Option<String> {
    let (class, own) = split(name);
    registry.describe(class, own)
}

fn unknown(registry: &Registry, name: &str) -> Failure {
    let (class, own) = split(name);
    let prefix = name.strip_suffix(own).unwrap_or_default();
    let cuts = name.rmatch_indices(['.', '[']);
    let mut shorter = cuts.filter_map(|(at, _)| name.get(..at));
    let is_whole = |part: &&str| split(part).0 == class && described(registry, part).is_some();
    let help = if let Some(whole) = shorter.find(is_whole) {
        format!("; for a field see the definition of {whole}")
    } else if class.is_none() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("; a number needs a class: sys.{name}, game.{name}, ctrl.{name} or snap.{name}")
    } else {
        let meant = registry.suggest(class, own);
        meant.map_or_else(
            || parts(registry, class, own),
            |meant| meant_clause(Some(&format!("{prefix}{meant}"))),
        )
    };
    Failure::usage(format!("unknown message or object '{name}'{help}"))
}

/// Returns a hint that lists names containing `part`.
fn parts(registry: &Registry, class: Option<Class>, part: &str) -> String {
    const MOST: usize = 8;
    let defs = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect));
    let defs = defs.filter(|def| class.is_none_or(|class| class == def.class) && def.name.contains(part));
    let names: BTreeSet<&str> = defs.map(|def| &*def.name).collect();
    if part.is_empty() || names.is_empty() {
        return String::new();
    }
    let more = if names.len() > MOST { ", ..." } else { "" };
    let listed: Vec<&str> = names.into_iter().take(MOST).collect();
    format!("; names with it: {}{more}", listed.join(", "))
}

/// The definitions of one name in the three dialects.
#[derive(Default)]
struct ListedDefinition<'r> {
    ids: [Option<&'r Def>; 3],
}

fn list(registry: &Registry) -> String {
    let mut text = String::new();
    for class in Class::ALL {
        let mut entries: BTreeMap<&str, ListedDefinition<'_>> = BTreeMap::new();
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
    text.push_str("One definition: teetap messages NAME; the syntax: teetap messages --form\n");
    text
}

fn line(name: &str, entry: &ListedDefinition<'_>) -> String {
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

/// Returns the id as printed in its column.
fn id(def: &Def) -> String {
    match &def.id {
        Id::Number(number) => number.to_string(),
        Id::Uuid { .. } => "uuid".to_owned(),
        Id::Tag(tag) => tag.escape_ascii().to_string(),
    }
}

/// Returns a UUID with hyphens.
fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    text
}

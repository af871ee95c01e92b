//! Messages and fields that are not compared.

use teetap_wire::def::{Dialect, Registry, meant_clause, suggest};

/// Messages and fields that are not compared.
#[derive(Clone, Debug, Default)]
pub struct Ignore(Vec<Rule>);

/// A name to ignore, as given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// A message or an object.
    Message(Box<str>),
    /// A field of one message, or of all messages if `message` is `None`. The path has no list indices.
    Field {
        message: Option<Box<str>>,
        path: Box<str>,
    },
}

/// A name that no message, object or field has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no message, object or field is called '{name}'{}", meant_clause(.meant.as_deref()))]
pub struct UnknownName {
    /// The name as the user wrote it.
    pub name: String,
    /// The most similar name, if there is one.
    pub meant: Option<String>,
}

/// Prefixes of messages without a definition: `sys.57`, `game.40`.
const CLASSES: [&str; 4] = ["control", "sys", "game", "connless"];

impl Ignore {
    /// Ignores the messages or fields with a given name: a message (`sv_chat`), an object (`character`), a field of a
    /// message or object (`cl_start_info.name`, `snap.character.health`), or a field of all messages (`name`).
    ///
    /// # Errors
    /// Fails if no message, object or field has this name.
    pub fn add(&mut self, text: &str, registry: &Registry) -> Result<(), UnknownName> {
        let word = text.strip_prefix("snap.").unwrap_or(text);
        let word = without_places(word);
        let rule = if is_message(&word, registry) {
            Rule::Message(word.into())
        } else if let Some((message, path)) = field_of(&word, registry) {
            Rule::Field {
                message: Some(message.into()),
                path: path.into(),
            }
        } else if is_field(&word, registry) {
            Rule::Field {
                message: None,
                path: word.into(),
            }
        } else {
            return Err(UnknownName {
                name: text.to_owned(),
                meant: meant(&word, registry),
            });
        };
        self.0.push(rule);
        Ok(())
    }

    /// Returns true for a message or an object that is not compared at all.
    pub(super) fn message(&self, name: &str) -> bool {
        let is_it = |rule: &Rule| matches!(rule, Rule::Message(ignored) if **ignored == *name);
        self.0.iter().any(is_it)
    }

    /// Returns true for a field that is not compared.
    pub(super) fn field(&self, message: &str, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let path = without_places(path);
        self.0.iter().any(|rule| match rule {
            Rule::Message(_) => false,
            Rule::Field {
                message: of,
                path: ignored,
            } => of.as_ref().is_none_or(|of| **of == *message) && is_within(&path, ignored),
        })
    }
}

/// Returns true if a path is the ignored path or lies within it. The ignored path may omit the names of outer groups.
fn is_within(path: &str, ignored: &str) -> bool {
    let (path, ignored): (Vec<&str>, Vec<&str>) = (path.split('.').collect(), ignored.split('.').collect());
    path.windows(ignored.len()).any(|part| part == ignored)
}

/// Removes list indices from a path: `clients.name` for `clients[2].name`.
fn without_places(path: &str) -> String {
    let mut kept = String::with_capacity(path.len());
    let mut is_place = false;
    for c in path.chars() {
        match c {
            '[' => is_place = true,
            ']' => is_place = false,
            c if !is_place => kept.push(c),
            _ => {}
        }
    }
    kept
}

fn is_message(word: &str, registry: &Registry) -> bool {
    let mut defs = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect));
    let is_number = |(class, id): (&str, &str)| CLASSES.contains(&class) && id.parse::<i32>().is_ok();
    defs.any(|def| *def.name == *word) || word.split_once('.').is_some_and(is_number)
}

/// Splits a word into a message or object and the path of one of its fields; `None` if there is no such field.
fn field_of<'w>(word: &'w str, registry: &Registry) -> Option<(&'w str, &'w str)> {
    let (message, path) = word.split_once('.')?;
    let mut defs = Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect));
    defs.any(|def| *def.name == *message && def.path(path).is_ok())
        .then_some((message, path))
}

/// Returns true if each name in the path is a field of some message or object.
fn is_field(word: &str, registry: &Registry) -> bool {
    word.split('.').all(|name| {
        let mut defs = Dialect::ALL
            .into_iter()
            .flat_map(|dialect| registry.defs(dialect));
        defs.any(|def| def.fields.iter().any(|field| *field.name == *name))
    })
}

fn meant(word: &str, registry: &Registry) -> Option<String> {
    if let Some((message, path)) = word.split_once('.') {
        let defs = || {
            Dialect::ALL
                .into_iter()
                .flat_map(|dialect| registry.defs(dialect))
        };
        if let Some(def) = defs().find(|def| *def.name == *message) {
            let field = suggest(path, def.fields.iter().map(|field| &*field.name))?;
            return Some(format!("{message}.{field}"));
        }
    }
    registry.suggest(None, word).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignoring(words: &[&str]) -> Ignore {
        let mut ignore = Ignore::default();
        for word in words {
            ignore.add(word, Registry::builtin()).unwrap();
        }
        ignore
    }

    #[test]
    fn a_word_names_a_message_a_field_of_one_or_a_field_of_all() {
        let ignore = ignoring(&["sv_chat", "cl_start_info.name", "sys.57", "snap.character.health"]);
        assert!(ignore.message("sv_chat") && ignore.message("sys.57") && !ignore.message("cl_start_info"));
        assert!(ignore.field("cl_start_info", "name") && !ignore.field("cl_start_info", "clan"));
        assert!(!ignore.field("sv_client_info", "name"));
        assert!(ignore.field("character", "health") && !ignore.field("character", "armor"));
        let ignore = ignoring(&["name"]);
        assert!(ignore.field("cl_start_info", "name") && ignore.field("info", "clients[3].name"));
        assert!(!ignore.field("cl_start_info", "clan") && !ignore.message("cl_start_info"));
    }

    #[test]
    fn unknown_names_are_errors_with_the_most_similar_one() {
        let error = Ignore::default()
            .add("cl_start_inof", Registry::builtin())
            .unwrap_err();
        assert_eq!(error.meant.as_deref(), Some("cl_start_info"));
        let error = Ignore::default().add("cl_start_info.nmae", Registry::builtin());
        assert_eq!(error.unwrap_err().meant.as_deref(), Some("cl_start_info.name"));
        let error = Ignore::default().add("", Registry::builtin()).unwrap_err();
        assert_eq!(error.to_string(), "no message, object or field is called ''");
    }

    /// A rule names a message, a field of all messages, or a field of one message, with or without its outer groups.
    /// The places of lists do not matter.
    #[test]
    fn a_path_is_ignored_with_all_fields_in_it() {
        for (word, message, path, is_ignored) in [
            ("info.clients", "info", "clients[2].name", true),
            ("info.clients", "info", "clients", true),
            ("info.clients", "info_64", "clients[2].name", false),
            ("info.clients.name", "info", "clients[12].name", true),
            ("info.clients.name", "info", "clients[12].clan", false),
            ("info.clients.name", "info", "name", false),
            ("clients.name", "info", "clients[0].name", true),
            ("name", "info", "clients[0].name", true),
            ("name", "info", "name", true),
            ("name", "info", "names", false),
            ("info", "info", "name", false),
        ] {
            let mut ignore = Ignore::default();
            assert!(!ignore.field(message, path), "no rule");
            ignore.add(word, Registry::builtin()).unwrap();
            assert_eq!(
                ignore.field(message, path),
                is_ignored,
                "{word}: {path} of {message}"
            );
            assert_eq!(ignore.message(message), word == message, "{word}");
        }
    }

    #[test]
    fn an_unknown_word_is_an_error() {
        for word in [
            "nothing",
            "info.nothing",
            "nothing.name",
            "info.clients.nothing",
            "sys.x",
            "",
        ] {
            assert!(
                Ignore::default().add(word, Registry::builtin()).is_err(),
                "{word}"
            );
        }
        for word in ["sys.3", "game.77", "character", "character.x", "sv_chat.message"] {
            assert!(Ignore::default().add(word, Registry::builtin()).is_ok(), "{word}");
        }
    }
}

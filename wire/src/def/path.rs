//! Field paths: `message`, `skin_part_names[2]`, `clients[3].name`.
//!
//! Law: a path is resolved once, against a definition. The name of a group may be omitted if no field next to the group
//! has the same name as the field in it (`input.direction` for `input.input.direction`).

use std::sync::Arc;

use super::model::{Def, Field, Path, PathPart, Repeat, Type};
use super::suggest::suggest;

impl Path {
    /// Returns true if it may name several values because it omits the index of a list.
    pub(super) fn is_many(&self, def: &Def) -> bool {
        self.steps.iter().any(|step| {
            let list = def.field(step.field).is_some_and(Field::is_list);
            list && step.index.is_none()
        })
    }

    /// Returns the path of a whole field of the message itself.
    #[must_use]
    pub fn of_field(def: &Def, field: u16) -> Option<Self> {
        let found = def.field(field).filter(|field| field.place.parent.is_none())?;
        Some(Self {
            steps: vec![PathPart { field, index: None }],
            leaf: field,
            whole_list: found.is_list(),
        })
    }
}

/// The error for a path that does not lead to a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The message has no such field.
    #[error("`{message}` has no field `{name}`")]
    Unknown {
        /// The message.
        message: Arc<str>,
        /// The name.
        name: String,
        /// The offset of the name in the path, in bytes.
        at: usize,
        /// The most similar field.
        meant: Option<Arc<str>>,
        /// The existing fields.
        known: Vec<Arc<str>>,
    },
    /// An index follows a field that is not a list.
    #[error("`{name}` is not a list")]
    NoList {
        /// The field.
        name: Arc<str>,
        /// The offset of the index, in bytes.
        at: usize,
    },
    /// An index is not a number, or is too large for the list.
    #[error("invalid index `{text}` of `{name}`")]
    Index {
        /// The field.
        name: Arc<str>,
        /// The index.
        text: String,
        /// The offset of the index, in bytes.
        at: usize,
    },
    /// More follows a field that has no parts.
    #[error("`{name}` has no parts")]
    NoParts {
        /// The field.
        name: Arc<str>,
        /// The offset of the rest, in bytes.
        at: usize,
    },
}

impl Def {
    /// Parses the path of a field in this message: names separated by dots, with an index in brackets after lists.
    ///
    /// # Errors
    /// Returns the first error with its offset.
    pub fn path(&self, text: &str) -> Result<Path, PathError> {
        // Few paths have more parts.
        let mut steps = Vec::with_capacity(2);
        let (mut parent, mut at, mut leaf) = (None, 0, None);
        for part in text.split('.') {
            if let Some((_, field)) =
                leaf.filter(|(_, field): &(u16, &Field)| !matches!(field.ty, Type::Group { .. }))
            {
                return Err(PathError::NoParts {
                    name: field.name.clone(),
                    at,
                });
            }
            let (name, index) = match part.split_once('[') {
                Some((name, index)) => (name, Some(index)),
                None => (part, None),
            };
            let (found, field) = self
                .step(parent, name, &mut steps)
                .ok_or_else(|| self.unknown(parent, name, at))?;
            let index = index
                .map(|index| index_of(field, index, at + name.len() + 1))
                .transpose()?;
            steps.push(PathPart { field: found, index });
            (parent, leaf) = (Some(found), Some((found, field)));
            at += part.len() + 1;
        }
        let whole_list = match (leaf, steps.last()) {
            (Some((_, field)), Some(step)) => field.is_list() && step.index.is_none(),
            _ => false,
        };
        let leaf = leaf.map_or(0, |(at, _)| at);
        Ok(Path {
            steps,
            leaf,
            whole_list,
        })
    }

    /// Returns the field `name` in `parent`, or in a group there if exactly one group has such a field.
    fn step(&self, parent: Option<u16>, name: &str, steps: &mut Vec<PathPart>) -> Option<(u16, &Field)> {
        let beside = self.parts(parent).find(|(_, field)| *field.name == *name);
        if beside.is_some() {
            return beside;
        }
        let mut groups = self
            .parts(parent)
            .filter(|(_, field)| matches!(field.ty, Type::Group { .. }) && !field.is_list());
        let within = |(group, _): (u16, &Field)| {
            let (at, field) = self.parts(Some(group)).find(|(_, field)| *field.name == *name)?;
            Some((group, at, field))
        };
        let (group, at, field) = groups.find_map(within)?;
        steps.push(PathPart {
            field: group,
            index: None,
        });
        Some((at, field))
    }

    fn unknown(&self, parent: Option<u16>, name: &str, at: usize) -> PathError {
        let known: Vec<Arc<str>> = self.parts(parent).map(|(_, field)| field.name.clone()).collect();
        PathError::Unknown {
            message: self.name.clone(),
            name: name.to_owned(),
            at,
            meant: suggest(name, known.iter().map(|name| &**name)).map(Into::into),
            known,
        }
    }
}

fn index_of(field: &Field, text: &str, at: usize) -> Result<u16, PathError> {
    if !field.is_list() {
        return Err(PathError::NoList {
            name: field.name.clone(),
            at,
        });
    }
    let number = text
        .strip_suffix(']')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let index = number.and_then(|digits| digits.parse().ok());
    let fits = |index: &u16| match field.repeat {
        Repeat::Fixed(count) => *index < count,
        _ => true,
    };
    index.filter(fits).ok_or_else(|| PathError::Index {
        name: field.name.clone(),
        text: text.trim_end_matches(']').to_owned(),
        at,
    })
}

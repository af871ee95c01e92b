//! The form of inputs in the log, including commands.
//!
//! An input is `{"name":{fields}}`. A [`Command`] has the same form, with its number as the first field.

use std::{fmt, sync::LazyLock};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        self, DeserializeSeed, EnumAccess, IntoDeserializer as _, VariantAccess,
        value::{EnumAccessDeserializer, StringDeserializer},
    },
    ser::{self, SerializeMap as _},
};
use serde_json::{Map, Value};

use super::LoggedInput;
use crate::{
    session::{Command, CommandId},
    words::variants,
};

/// The field for the number of a command.
const ID: &str = "id";

/// The names of commands.
static COMMANDS: LazyLock<&[&str]> = LazyLock::new(variants::<Command>);

impl Serialize for LoggedInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Command { id, command } => Numbered(*id, command).serialize(serializer),
            // The derived function, which does not cover commands.
            input => Self::serialize(input, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LoggedInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Happened", &[], Any)
    }
}

/// A command with its number.
struct Numbered<'c>(CommandId, &'c Command);

impl Serialize for Numbered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(id, command) = self;
        let value = serde_json::to_value(command).map_err(ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(1))?;
        for (name, fields) in value.as_object().into_iter().flatten() {
            map.serialize_entry(name, &Fields(*id, fields))?;
        }
        map.end()
    }
}

/// The fields of a command, with its number.
struct Fields<'v>(CommandId, &'v Value);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(CommandId(id), fields) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(ID, id)?;
        for (name, value) in fields.as_object().into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Reads any input, including commands.
struct Any;

impl<'de> de::Visitor<'de> for Any {
    type Value = LoggedInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an input")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, input: A) -> Result<LoggedInput, A::Error> {
        let (name, fields): (String, _) = input.variant()?;
        if COMMANDS.contains(&name.as_str()) {
            let mut fields: Map<String, Value> = fields.newtype_variant()?;
            let id = fields.remove(ID).ok_or_else(|| de::Error::missing_field(ID))?;
            let id = u64::deserialize(id).map_err(de::Error::custom)?;
            let command = Value::Object(Map::from_iter([(name, Value::Object(fields))]));
            return Ok(LoggedInput::Command {
                id: CommandId(id),
                command: Command::deserialize(command).map_err(de::Error::custom)?,
            });
        }
        // The derived function, which does not cover commands.
        LoggedInput::deserialize(EnumAccessDeserializer::new(Other { name, fields }))
    }
}

/// An input whose name was already read.
struct Other<V> {
    name: String,
    fields: V,
}

impl<'de, V: VariantAccess<'de>> EnumAccess<'de> for Other<V> {
    type Error = V::Error;
    type Variant = V;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, V), V::Error> {
        let name: StringDeserializer<V::Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.fields))
    }
}

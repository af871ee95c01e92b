//! Reads a specification of libtw2 as a definition file.

use std::{fmt::Write as _, path::Path};

use teetap_wire::def::{Class, Def, Dialect, Endpoints, Len, Registry, Type};

use super::{
    NAMESPACE,
    spec::{Connless, ConstantValue, DefaultValue, Kind, Member, Message, MessageId, Set, Spec},
};

/// Names and ids of messages of the engine in the specifications of 0.6 and DDNet, with the ids that the games use.
///
/// Source: the enum of `NETMSG_INFO` in `engine/shared/protocol.h` of Teeworlds 0.6 and DDNet, in which `AUTH_START` (20) and
/// `AUTH_RESPONSE` (21) precede `PING`.
const WRONG_IDS: [(&str, u32, u32); 2] = [("ping", 20, 22), ("ping_reply", 21, 23)];

/// Returns a definition file with the messages of a specification.
///
/// # Errors
/// The specification has a type or an id that definition files cannot express. The error names it.
pub(super) fn definitions(spec: &Spec, file: &Path) -> Result<String, String> {
    let dialect = dialect(spec)?;
    let mut out = Writer {
        text: String::new(),
        dialect,
    };
    let name = teetap_wire::printable_path(file);
    let _infallible = write!(
        out.text,
        "# Made by `teetap messages --import` from {name}, a specification of libtw2.\n\nfor {dialect}\n"
    );
    for (sets, keyword) in [(&spec.game_enumerations, "enum"), (&spec.game_flags, "flags")] {
        for set in sets {
            out.set(set, keyword)?;
        }
    }
    for (messages, class) in [
        (&spec.snapshot_objects, Class::Object),
        (&spec.system_messages, Class::System),
        (&spec.game_messages, Class::Game),
    ] {
        for message in messages {
            out.message(message, class)?;
        }
    }
    for message in &spec.connless_messages {
        out.connless(message)?;
    }
    Ok(out.text)
}

/// Returns the protocol, which the constants of a specification tell.
fn dialect(spec: &Spec) -> Result<Dialect, String> {
    let mut found = None;
    let mut is_ddnet = false;
    for constant in &spec.constants {
        match (constant.name.join("_").as_str(), &constant.value) {
            ("version", ConstantValue::String(text)) => found = text.split(' ').next(),
            ("ddnet_version", _) => is_ddnet = true,
            _ => {}
        }
    }
    match (found, is_ddnet) {
        (Some("0.6"), true) => Ok(Dialect::Ddnet),
        (Some("0.6"), false) => Ok(Dialect::V6),
        (Some("0.7"), _) => Ok(Dialect::V7),
        (Some(other), _) => Err(format!(
            "its constant version is of {}; expected 0.6 or 0.7",
            teetap_wire::printable(other.as_bytes())
        )),
        (None, _) => Err("it has no constant version, which tells the protocol".to_owned()),
    }
}

struct Writer {
    text: String,
    dialect: Dialect,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn set(&mut self, set: &Set, keyword: &str) -> Result<(), String> {
        self.line(&format!("\n{keyword} {}", name(&set.name)?));
        for value in &set.values {
            self.line(&format!("  {} {}", value.value, name(&value.name)?));
        }
        Ok(())
    }

    /// Returns the built-in definition with this name, which has attributes that specifications lack.
    fn builtin(&self, class: Class, name: &str) -> Option<&'static Def> {
        let mut defs = Registry::builtin().defs(self.dialect);
        defs.find(|def| def.class == class && *def.name == *name)
    }

    /// Returns the id that the games use for a message.
    fn number(&self, class: Class, name: &str, number: u32) -> u32 {
        let mut wrong = WRONG_IDS.iter();
        let is_known = class == Class::System && self.dialect != Dialect::V7;
        wrong
            .find(|(known, id, _)| is_known && *known == name && *id == number)
            .map_or(number, |(_, _, right)| *right)
    }

    fn message(&mut self, message: &Message, class: Class) -> Result<(), String> {
        let own = name(&message.name)?;
        let id = match (&message.id, &message.id_from) {
            (MessageId::Uuid(_), Some(from))
                if from.algorithm == "uuid_v3" && from.namespace == NAMESPACE =>
            {
                id_name(&from.name)?
            }
            (MessageId::Uuid(uuid), _) => id_name(uuid)?,
            (MessageId::Number(number), _) => self.number(class, &own, *number).to_string(),
        };
        let comment = match &message.id {
            MessageId::Number(number) if id != number.to_string() => {
                format!("# The specification has the wrong id {number}.\n")
            }
            _ => String::new(),
        };
        let builtin = self.builtin(class, &own);
        let has = |attribute: &str| message.attributes.iter().any(|known| known == attribute);
        let way = builtin.map_or_else(|| way(&own), |def| def.way);
        let mut head = format!("\n{comment}{} {id} {own}", class.name());
        if class != Class::Object || way != Endpoints::S2c {
            let _infallible = write!(head, " {}", way.name());
        }
        match class {
            Class::Object => {
                let numbered = matches!(message.id, MessageId::Number(_));
                let agreed = builtin.and_then(|def| def.size?.agreed);
                if numbered && builtin.is_some() && agreed.is_none() {
                    head.push_str(" explicit");
                }
            }
            _ if builtin.is_some_and(|def| def.dead) || way == Endpoints::Demo => {}
            _ => head.push_str(if has("unreliable") { " nonvital" } else { " vital" }),
        }
        self.line(&head);
        if let Some(base) = &message.base {
            self.line(&format!("  include {}", name(base)?));
        }
        self.members(&message.members, &own, builtin, has("dont_validate_size"))
    }

    fn connless(&mut self, message: &Connless) -> Result<(), String> {
        let own = name(&message.name)?;
        let way = self
            .builtin(Class::Connless, &own)
            .map_or(Endpoints::Both, |def| def.way);
        let [0xff, 0xff, 0xff, 0xff, tag @ ..] = message.id else {
            return Err(format!(
                "the id of the connless message {own} does not begin with ffffffff"
            ));
        };
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
        if !tag.iter().all(is_plain) {
            return Err(format!(
                "the id of the connless message {own} is not four characters"
            ));
        }
        let tag: String = tag.iter().copied().map(char::from).collect();
        self.line(&format!("\nconnless {tag} {own} {}", way.name()));
        self.members(&message.members, &own, None, false)
    }

    fn members(
        &mut self,
        members: &[Member],
        owner: &str,
        builtin: Option<&Def>,
        is_optional: bool,
    ) -> Result<(), String> {
        let mut before = String::new();
        for member in members {
            let own = name(&member.name)?;
            let mut ty = self.ty(&member.ty, owner)?;
            if let Kind::Data { .. } = member.ty {
                let size = builtin.and_then(|def| size_of(def, &own));
                let is_free = members.iter().all(|other| other.name.join("_") != "size");
                let size = match size {
                    Some(size) => size.to_owned(),
                    None if is_free => "size".to_owned(),
                    None => format!("{own}_size"),
                };
                self.line(&format!("  {size} int 0.."));
                ty = format!("raw len={size}");
            }
            // The size of an object in a message, such as input.
            if matches!(member.ty, Kind::SnapshotObject { .. }) && before == format!("{own}_size") {
                let _infallible = write!(ty, " bytes={before}");
            }
            let default = match &member.default {
                Some(DefaultValue::Number(value)) => format!(" default={value}"),
                Some(DefaultValue::Bool(value)) => format!(" default={}", u8::from(*value)),
                // The value of a constant of the sources is unknown.
                Some(DefaultValue::Text(_)) | None => String::new(),
            };
            if is_optional || member.default.is_some() {
                ty = optional(&ty) + &default;
            }
            self.line(&format!("  {own} {ty}"));
            before = own;
        }
        Ok(())
    }

    /// Returns the type of a member as written in a definition, with its attributes.
    fn ty(&self, kind: &Kind, owner: &str) -> Result<String, String> {
        Ok(match kind {
            Kind::Array { count, member_type } => match &**member_type {
                // Lists of lists exist only as names in ints.
                Kind::Array {
                    count: ints,
                    member_type,
                } if matches!(**member_type, Kind::Int32 { .. }) => {
                    format!("twstr[{count}] ints={ints}")
                }
                Kind::Array { .. } | Kind::Optional { .. } | Kind::Data { .. } | Kind::Rest => {
                    return Err(format!("{owner} has a list of lists, optional values or bytes"));
                }
                member => {
                    let ty = self.ty(member, owner)?;
                    let (word, attributes) = ty.split_once(' ').unwrap_or((&ty, ""));
                    format!("{word}[{count}] {attributes}")
                }
            },
            Kind::Optional { inner } => optional(&self.ty(inner, owner)?),
            Kind::Int32 { min: None, max: None } => "int".to_owned(),
            Kind::Int32 { min, max } => {
                let open = |end: &Option<i64>| end.map_or_else(String::new, |end| end.to_string());
                format!("int {}..{}", open(min), open(max))
            }
            Kind::Enum { name: set } | Kind::Flags { flags: set } => name(set)?,
            Kind::SnapshotObject { name: object } => name(object)?,
            Kind::Int32Twstring { count } => format!("twstr ints={count}"),
            Kind::ServerinfoClient => match (self.dialect, owner) {
                (Dialect::V7, _) => "client7[*]",
                (_, "info_extended" | "info_extended_more") => "client6x[*]",
                _ => "client6[*]",
            }
            .to_owned(),
            Kind::Boolean => "bool".to_owned(),
            Kind::Int32String => "decstr".to_owned(),
            Kind::PackedAddresses => "addr18[*]".to_owned(),
            Kind::Rest | Kind::Data { .. } => "raw rest".to_owned(),
            Kind::Sha256 => "sha256".to_owned(),
            Kind::String { disallow_cc: true } => "str_strict".to_owned(),
            Kind::String { disallow_cc: false } => "str".to_owned(),
            Kind::Tick => "tick".to_owned(),
            Kind::TuneParam => "tune".to_owned(),
            Kind::Uint8 => "u8".to_owned(),
            Kind::BeUint16 => "be16".to_owned(),
            Kind::Uuid => "uuid".to_owned(),
        })
    }
}

/// Returns the name of the field that states the size of the raw field `data`, which a specification does not name.
fn size_of<'d>(def: &'d Def, data: &str) -> Option<&'d str> {
    let field = def.fields.iter().find(|field| *field.name == *data)?;
    match field.ty {
        Type::Raw(Len::Field(at), _) => Some(&*def.field(at)?.name),
        _ => None,
    }
}

/// Puts a `?` behind the first word of a type.
fn optional(ty: &str) -> String {
    match ty.split_once(' ') {
        Some((word, attributes)) => format!("{word}? {attributes}"),
        None => format!("{ty}?"),
    }
}

/// Returns the direction that the name of a message tells.
fn way(name: &str) -> Endpoints {
    match name.split('_').next() {
        Some("sv") => Endpoints::S2c,
        Some("cl") => Endpoints::C2s,
        Some("de") => Endpoints::Demo,
        _ => Endpoints::Both,
    }
}

/// Returns a name in snake case. `_` at its start, which marks unused members, is removed.
fn name(words: &[String]) -> Result<String, String> {
    let name = words.join("_");
    let bare = name.trim_start_matches('_');
    let is_name = bare.starts_with(|c: char| c.is_ascii_lowercase())
        && bare
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_name {
        let shown = teetap_wire::printable(name.as_bytes());
        return Err(format!(
            "'{shown}' is not a name of lower case letters, digits and `_`"
        ));
    }
    Ok(bare.to_owned())
}

/// Returns a UUID, or the name from which it is made, if a definition can contain it.
fn id_name(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    if is_word {
        Ok(text.to_owned())
    } else {
        let shown = teetap_wire::printable(text.as_bytes());
        Err(format!("'{shown}' is not a UUID or the name of one"))
    }
}

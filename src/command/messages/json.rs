//! `teetap messages --json`: the definitions as one JSON object, for code generators. `docs/messages.schema.json` is its
//! schema.
//!
//! Law: a member that would only state the default (not optional, not secret, no limit) is left out.

use std::collections::BTreeMap;

use serde::Serialize;
use teetap_wire::def::{
    Class, Def, Default, Dialect, Field, Frequency, Id, Label, Len, Registry, Repeat, Secrecy, Set, Type,
    Vitality,
};

use super::uuid_text;

/// The version of the form of the object.
const VERSION: u32 = 1;

/// The protocol variants: name, definitions, whether the text limits of DDNet hold, description.
const VARIANTS: [(&str, Dialect, bool, &str); 4] = [
    ("0.6", Dialect::V6, false, "Teeworlds 0.6 up to 0.6.5"),
    ("ddnet", Dialect::Ddnet, true, "DDNet's 0.6"),
    ("0.7", Dialect::V7, false, "Teeworlds 0.7"),
    ("ddnet-0.7", Dialect::V7, true, "0.7 as DDNet speaks it"),
];

/// Returns the definitions that `is_wanted` accepts, with the named types that they refer to. `None` if there are none.
pub(super) fn specification(registry: &Registry, is_wanted: impl Fn(&Def) -> bool) -> Option<String> {
    let variants: Vec<Variant<'_>> = VARIANTS
        .iter()
        .map(|(name, dialect, is_ddnet, text)| {
            let defs: Vec<&Def> = registry.defs(*dialect).filter(|def| is_wanted(def)).collect();
            let (objects, messages): (Vec<&Def>, Vec<&Def>) =
                defs.iter().copied().partition(|def| def.class == Class::Object);
            Variant {
                name,
                text,
                types: types(&defs),
                messages: messages.into_iter().map(|def| message(def, *is_ddnet)).collect(),
                objects: objects.into_iter().map(|def| message(def, *is_ddnet)).collect(),
            }
        })
        .collect();
    let is_empty = variants
        .iter()
        .all(|variant| variant.messages.is_empty() && variant.objects.is_empty());
    let whole = Specification { v: VERSION, variants };
    if is_empty {
        return None;
    }
    let text = serde_json::to_string(&whole).ok()?;
    Some(text + "\n")
}

#[derive(Serialize)]
struct Specification<'r> {
    v: u32,
    variants: Vec<Variant<'r>>,
}

#[derive(Serialize)]
struct Variant<'r> {
    name: &'r str,
    text: &'r str,
    types: Vec<NamedType<'r>>,
    messages: Vec<Message<'r>>,
    objects: Vec<Message<'r>>,
}

#[derive(Serialize)]
struct NamedType<'r> {
    name: &'r str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    labels: Vec<NamedValue<'r>>,
}

#[derive(Serialize)]
struct NamedValue<'r> {
    value: i64,
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
}

#[derive(Serialize)]
struct Message<'r> {
    class: &'static str,
    name: &'r str,
    id: MessageId<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vital: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    never_sent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<ObjectSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    fields: Vec<Described<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum MessageId<'r> {
    Number(i32),
    Uuid {
        uuid: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'r str>,
    },
    Tag(String),
}

/// Sizes of a snapshot object in ints.
#[derive(Serialize)]
struct ObjectSize {
    full: u16,
    least: u16,
    /// The size that a snapshot delta omits.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreed: Option<u16>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Count<'r> {
    Fixed { count: u16 },
    Field { field: &'r str },
    Params { field: &'r str },
    Rest,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value<'r> {
    Number(i64),
    Text(&'r str),
}

#[derive(Serialize)]
struct Described<'r> {
    name: &'r str,
    #[serde(rename = "type")]
    ty: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'r str>,
    #[serde(skip_serializing_if = "is_false")]
    optional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<Count<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_count: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u16>,
    /// The number of raw bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    len: Option<Count<'r>>,
    /// The bytes that a raw field always has.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<&'r str>,
    /// The number of ints of packed text.
    #[serde(skip_serializing_if = "Option::is_none")]
    ints: Option<u16>,
    /// The earlier field that states the size of an object in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_field: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    transient: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Self>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Returns the enums and flags of the definitions by name.
fn types<'r>(defs: &[&'r Def]) -> Vec<NamedType<'r>> {
    let fields = defs.iter().flat_map(|def| &def.fields);
    let sets: BTreeMap<&str, &Set> = fields
        .filter_map(Field::set)
        .map(|set| (&*set.name, &**set))
        .collect();
    let label = |label: &'r Label| NamedValue {
        value: label.value,
        name: &label.name,
        params: label.params,
        text: label.doc.as_deref(),
    };
    sets.into_values()
        .map(|set| NamedType {
            name: &set.name,
            kind: if set.flags { "flags" } else { "enum" },
            text: set.doc.as_deref(),
            labels: set.labels.iter().map(label).collect(),
        })
        .collect()
}

fn message(def: &Def, is_ddnet: bool) -> Message<'_> {
    let is_object = def.class == Class::Object;
    Message {
        class: def.class.name(),
        name: &def.name,
        id: match &def.id {
            Id::Number(number) => MessageId::Number(*number),
            Id::Uuid { uuid, name } => MessageId::Uuid {
                uuid: uuid_text(uuid),
                name: name.as_deref(),
            },
            Id::Tag(tag) => MessageId::Tag(tag.iter().copied().map(char::from).collect()),
        },
        direction: (!is_object).then(|| def.way.name()),
        vital: match def.vitality {
            Vitality::Vital => Some("always"),
            Vitality::NonVital => Some("never"),
            Vitality::Mirror => Some("as_request"),
            Vitality::Either => Some("either"),
            Vitality::None => None,
        },
        frequency: match def.frequency {
            Frequency::Event => None,
            Frequency::Periodic => Some("periodic"),
            Frequency::Continuous => Some("continuous"),
        },
        never_sent: def.dead,
        size: def.size.map(|size| ObjectSize {
            full: size.full,
            least: size.least,
            agreed: size.agreed,
        }),
        since: def.since.as_deref(),
        aliases: def.aliases.iter().map(|alias| &**alias).collect(),
        text: def.doc.as_deref(),
        fields: fields(def, None, is_ddnet),
    }
}

fn fields(def: &Def, parent: Option<u16>, is_ddnet: bool) -> Vec<Described<'_>> {
    let parts = def.parts(parent);
    parts
        .map(|(at, field)| described(def, at, field, is_ddnet))
        .collect()
}

fn described<'r>(def: &'r Def, at: u16, field: &'r Field, is_ddnet: bool) -> Described<'r> {
    let name_of = |at: u16| def.field(at).map_or("", |field| &*field.name);
    let (mut len, mut expected, mut ints, mut size_field) = (None, None, None, None);
    let (ty, of) = match &field.ty {
        Type::Enum(set) => ("enum", Some(&*set.name)),
        Type::Flags(set) => ("flags", Some(&*set.name)),
        Type::Group { name, bytes } => {
            size_field = bytes.map(name_of);
            ("group", Some(&**name))
        }
        Type::Raw(bytes, text) => {
            len = Some(match bytes {
                Len::Fixed(count) => Count::Fixed { count: *count },
                Len::Field(at) => Count::Field { field: name_of(*at) },
                Len::Rest => Count::Rest,
            });
            expected = text.as_deref();
            ("raw", None)
        }
        Type::Packed(count) => {
            ints = Some(*count);
            ("twstr", None)
        }
        other => (other.name(), None),
    };
    let range = field.is_number().then_some(field.bounds);
    Described {
        name: &field.name,
        ty,
        of,
        optional: field.optional,
        list: match field.repeat {
            Repeat::One => None,
            Repeat::Fixed(count) => Some(Count::Fixed { count }),
            Repeat::Field(at) => Some(Count::Field { field: name_of(at) }),
            Repeat::Params(at) => Some(Count::Params { field: name_of(at) }),
            Repeat::Rest => Some(Count::Rest),
        },
        max_count: field.bounds.count_max,
        min: range.map(|bounds| bounds.min),
        max: range.map(|bounds| bounds.max),
        limit: field.limit_for(is_ddnet),
        len,
        expect: expected,
        ints,
        size_field,
        scale: field.scale(),
        unit: field
            .unit
            .as_deref()
            .or(matches!(field.ty, Type::Tick).then_some("ticks")),
        default: field.default.as_ref().map(|default| match default {
            Default::Int(number) => Value::Number(*number),
            Default::Text(text) => Value::Text(text),
        }),
        secret: match &field.secrecy {
            Secrecy::Open => None,
            Secrecy::Secret => Some("whole"),
            Secrecy::After(_) | Secrecy::Command(_) => Some("part"),
            Secrecy::With(..) => Some("sometimes"),
        },
        transient: field.transient,
        after: field.after.as_deref(),
        text: field.doc.as_deref(),
        fields: if matches!(field.ty, Type::Group { .. }) {
            fields(def, Some(at), is_ddnet)
        } else {
            Vec::new()
        },
    }
}

//! Writes definitions as a specification of libtw2.
//!
//! Law: a member that the specification cannot express ends its message, as in the specifications of libtw2.

use teetap_wire::def::{
    Class, Clean, Def, Default, Dialect, Field, Id, Len, Registry, Repeat, Set as TypeSet, Type, Vitality,
};

use super::{
    super::uuid_text,
    NAMESPACE,
    spec::{
        Connless, Constant, ConstantValue, DataSize, DefaultValue, IdFrom, Kind, Member, Message, MessageId,
        NamedValue, Set, Spec, Words, words,
    },
};

/// Returns the specification of a dialect. Control messages and messages that are never sent are left out.
pub(super) fn spec(registry: &Registry, dialect: Dialect) -> Spec {
    let defs = || registry.defs(dialect).filter(|def| !def.dead);
    let of = |class| {
        let mut found: Vec<&Def> = defs().filter(|def| def.class == class).collect();
        found.sort_by_key(|def| match def.id {
            Id::Number(number) => number,
            _ => i32::MAX,
        });
        found
    };
    let message = |def: &Def| {
        let mut attributes = Vec::new();
        if matches!(
            def.vitality,
            Vitality::NonVital | Vitality::Mirror | Vitality::Either
        ) {
            attributes.push("unreliable");
        }
        if def.size.is_some_and(|size| size.least < size.full) {
            attributes.push("dont_validate_size");
        }
        message(registry, dialect, def, attributes)
    };
    let envelope = |def: &&Def| def.id != Id::Number(0);
    let messages = |class| -> Vec<Message> { of(class).into_iter().filter(envelope).map(message).collect() };
    let mut spec = Spec {
        constants: constants(dialect),
        game_enumerations: sets(registry, dialect, false),
        game_flags: sets(registry, dialect, true),
        game_messages: messages(Class::Game),
        snapshot_objects: messages(Class::Object),
        system_messages: messages(Class::System),
        connless_messages: of(Class::Connless)
            .into_iter()
            .filter_map(|def| connless(registry, dialect, def))
            .collect(),
    };
    mark_encoded(&mut spec);
    spec
}

/// Marks the objects that messages contain.
fn mark_encoded(spec: &mut Spec) {
    let messages = spec.system_messages.iter().chain(&spec.game_messages);
    let members = messages.flat_map(|message| &message.members);
    let names: Vec<Words> = members
        .filter_map(|member| match &member.ty {
            Kind::SnapshotObject { name } => Some(name.clone()),
            _ => None,
        })
        .collect();
    for object in &mut spec.snapshot_objects {
        if names.contains(&object.name) {
            object.attributes.push("msg_encoding".to_owned());
        }
    }
}

/// Returns the constants by which an import recognizes the protocol.
fn constants(dialect: Dialect) -> Vec<Constant> {
    let text = |value: &str| Constant {
        name: words("version"),
        value: ConstantValue::String(value.to_owned()),
    };
    match dialect {
        Dialect::V6 => vec![text("0.6 626fce9a778df4d4")],
        Dialect::Ddnet => vec![
            text("0.6 626fce9a778df4d4"),
            Constant {
                name: words("ddnet_version"),
                value: ConstantValue::Int32(20010),
            },
        ],
        Dialect::V7 => vec![text("0.7 802f1be60a05665f")],
    }
}

/// Returns the enums or flags of a dialect.
fn sets(registry: &Registry, dialect: Dialect, is_flags: bool) -> Vec<Set> {
    let sets = registry.sets(dialect).filter(|set| set.flags == is_flags);
    let written = |set: &TypeSet| Set {
        name: words(&set.name),
        values: set
            .labels
            .iter()
            .map(|label| NamedValue {
                value: label.value,
                name: words(&label.name),
            })
            .collect(),
    };
    sets.map(written).collect()
}

fn message(registry: &Registry, dialect: Dialect, def: &Def, attributes: Vec<&str>) -> Message {
    let (id, id_from) = match &def.id {
        Id::Uuid { uuid, name } => (
            MessageId::Uuid(uuid_text(uuid)),
            name.as_ref().map(|name| IdFrom {
                algorithm: "uuid_v3".to_owned(),
                namespace: NAMESPACE.to_owned(),
                name: name.to_string(),
            }),
        ),
        Id::Number(number) => (
            MessageId::Number(u32::try_from(*number).unwrap_or_default()),
            None,
        ),
        Id::Tag(_) => (MessageId::Number(0), None),
    };
    Message {
        id,
        id_from,
        name: words(&def.name),
        base: None,
        members: members(registry, dialect, def),
        attributes: attributes.into_iter().map(str::to_owned).collect(),
    }
}

fn connless(registry: &Registry, dialect: Dialect, def: &Def) -> Option<Connless> {
    let Id::Tag([a, b, c, d]) = def.id else {
        return None;
    };
    Some(Connless {
        id: [0xff, 0xff, 0xff, 0xff, a, b, c, d],
        name: words(&def.name),
        members: members(registry, dialect, def),
    })
}

fn members(registry: &Registry, dialect: Dialect, def: &Def) -> Vec<Member> {
    let parts: Vec<(u16, &Field)> = def.parts(None).collect();
    let mut members = Vec::with_capacity(parts.len());
    let mut rest = parts.as_slice();
    while let Some(((at, field), behind)) = rest.split_first() {
        rest = behind;
        let sized = behind
            .first()
            .filter(|(_, next)| matches!(next.ty, Type::Raw(Len::Field(size), None) if size == *at));
        let (name, ty) = if let Some((_, data)) = sized {
            rest = behind.get(1..).unwrap_or_default();
            let size = DataSize::SpecifiedBefore;
            (&data.name, Some(Kind::Data { size }))
        } else {
            (&field.name, kind(registry, dialect, def, field))
        };
        let Some(ty) = ty else { break };
        let default = field.default.as_ref().filter(|_| field.optional);
        members.push(Member {
            name: words(name),
            default: default.map(|default| match default {
                Default::Int(value) => DefaultValue::Number(*value),
                Default::Text(text) => DefaultValue::Text(text.to_string()),
            }),
            ty,
        });
    }
    members
}

/// Returns the type of a field. `None` if the specification has none.
fn kind(registry: &Registry, dialect: Dialect, def: &Def, field: &Field) -> Option<Kind> {
    let array = |count, member_type| Kind::Array {
        count,
        member_type: Box::new(member_type),
    };
    let is_object = |name: &str| {
        let mut defs = registry.defs(dialect);
        defs.any(|def| def.class == Class::Object && *def.name == *name)
    };
    let kind = match (&field.ty, field.repeat) {
        (Type::Addr, Repeat::Rest) => Kind::PackedAddresses,
        (Type::Group { name, .. }, Repeat::Rest) if name.starts_with("client") => Kind::ServerinfoClient,
        (Type::Group { name, .. }, Repeat::One) if is_object(name) => {
            Kind::SnapshotObject { name: words(name) }
        }
        (Type::Raw(Len::Rest, None), Repeat::One) => Kind::Rest,
        // The specifications have text in ints only as a single value.
        (Type::Packed(ints), Repeat::Fixed(count)) => {
            let int = Kind::Int32 { min: None, max: None };
            array(count, array(*ints, int))
        }
        (Type::Packed(count), Repeat::One) => Kind::Int32Twstring { count: *count },
        (_, Repeat::One) => single(field)?,
        (_, Repeat::Fixed(count)) => array(count, single(field)?),
        _ => return None,
    };
    // A default makes a member optional. Objects have an attribute that says that their size varies.
    Some(
        if field.optional && field.default.is_none() && def.class != Class::Object {
            Kind::Optional {
                inner: Box::new(kind),
            }
        } else {
            kind
        },
    )
}

fn single(field: &Field) -> Option<Kind> {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let (from, to) = (field.bounds.min, field.bounds.max);
    let int = || Kind::Int32 {
        min: Some(from).filter(|from| *from != low),
        max: Some(to).filter(|to| *to != high),
    };
    Some(match &field.ty {
        Type::Bool => Kind::Boolean,
        Type::Enum(set) => {
            let values = || set.labels.iter().map(|label| label.value);
            if (values().min(), values().max()) == (Some(from), Some(to)) {
                Kind::Enum {
                    name: words(&set.name),
                }
            } else {
                int()
            }
        }
        Type::Flags(set) if (from, to) == (low, high) => Kind::Flags {
            flags: words(&set.name),
        },
        Type::Int | Type::Flags(_) => int(),
        Type::Tick => Kind::Tick,
        Type::Tune => Kind::TuneParam,
        Type::Text(clean) => Kind::String {
            disallow_cc: *clean == Clean::Strict,
        },
        Type::Decimal => Kind::Int32String,
        Type::Uuid => Kind::Uuid,
        Type::Sha256 => Kind::Sha256,
        Type::U8 => Kind::Uint8,
        Type::Be16 => Kind::BeUint16,
        _ => return None,
    })
}

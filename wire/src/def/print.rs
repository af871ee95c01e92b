//! Prints definitions as text, for `teetap messages`.
//!
//! Law: the output is a valid definition file with the same meaning.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use uuid::Uuid;

use super::model::{
    Class, Def, Default, Dialect, Field, Frequency, Gist, Id, Len, Repeat, Secrecy, Set, Type, Vitality,
    Words,
};
use super::registry::Registry;
use super::show::bytes_whole;
use super::syntax::Builtin;

impl Registry {
    /// Returns all definitions called `name`, in every protocol: their text form with ids and documentation, and the
    /// enums, flags and structs they refer to. `None` if there are none. `name` may also be a UUID, with or
    /// without `ex.` before it, or, if a class is given, a number.
    #[must_use]
    pub fn describe(&self, class: Option<Class>, name: &str) -> Option<String> {
        let is_wanted = |def: &&Def| has_id(def, class, name);
        let protos = [crate::Proto::V6, crate::Proto::Ddnet, crate::Proto::V7];
        let mut texts: Vec<(String, Vec<Dialect>)> = Vec::new();
        for proto in protos {
            let identified = self.defs(proto.into()).filter(is_wanted);
            for def in self.named(proto, class, name).chain(identified) {
                let text = def.to_text();
                match texts.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, dialects)) => dialects.push(proto.into()),
                    None => texts.push((text, vec![proto.into()])),
                }
            }
        }
        let blocks = texts.into_iter().map(|(text, dialects)| {
            let names: Vec<_> = dialects.iter().map(|dialect| dialect.name()).collect();
            format!("for {}\n\n{text}", names.join(" "))
        });
        let text = blocks.collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then_some(text)
    }
}

impl Registry {
    /// Returns true if [`Registry::describe`] includes this definition for `class` and `name`.
    #[must_use]
    pub fn is_called(&self, def: &Def, class: Option<Class>, name: &str) -> bool {
        let protos = [crate::Proto::V6, crate::Proto::Ddnet, crate::Proto::V7];
        let mut named = protos
            .into_iter()
            .flat_map(|proto| self.named(proto, class, name));
        has_id(def, class, name) || named.any(|known| std::ptr::eq(known, def))
    }
}

/// Returns true if `name` is the UUID of the definition, with or without `ex.` before it, or, if a class is given, its
/// number.
fn has_id(def: &Def, class: Option<Class>, name: &str) -> bool {
    match &def.id {
        _ if class.is_some_and(|class| class != def.class) => false,
        Id::Number(id) => class.is_some() && name.parse() == Ok(*id),
        Id::Uuid { uuid, .. } => {
            let wanted = Uuid::try_parse(name.strip_prefix("ex.").unwrap_or(name));
            wanted.is_ok_and(|wanted| wanted.as_bytes() == uuid)
        }
        Id::Tag(_) => false,
    }
}

impl Def {
    /// Returns the definition in the text form, after everything it refers to.
    #[must_use]
    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        let mut done = BTreeSet::new();
        for field in &self.fields {
            if let Type::Enum(set) | Type::Flags(set) = &field.ty
                && done.insert(set.name.clone())
            {
                print_set(set, &mut out);
            }
            if let Secrecy::After(words) | Secrecy::Command(words) | Secrecy::With(_, words) = &field.secrecy
                && done.insert(words.name.clone())
            {
                print_words(words, &mut out);
            }
        }
        // Structs are printed in reverse order: inner structs are last in the list, and must be defined before they are
        // used.
        let fields: Vec<_> = (0u16..).zip(&self.fields).collect();
        for (at, field) in fields.into_iter().rev() {
            if let Type::Group { name, .. } = &field.ty
                && done.insert(name.clone())
            {
                let _infallible = writeln!(out, "struct {name}");
                self.print_fields(Some(at), &mut out);
                out.push('\n');
            }
        }
        self.print_head(&mut out);
        self.print_fields(None, &mut out);
        for line in self.gist.iter().flat_map(Gist::lines) {
            let _infallible = writeln!(out, "  gist \"{line}\"");
        }
        out
    }

    fn print_head(&self, out: &mut String) {
        print_doc(self.doc.as_ref(), out);
        let class = self.class.name();
        let (id, comment) = match &self.id {
            Id::Number(number) => (number.to_string(), String::new()),
            Id::Tag(tag) => (tag.map(char::from).iter().collect(), String::new()),
            Id::Uuid { uuid, name } => {
                let text = bytes_whole(&Type::Uuid, uuid);
                match name {
                    Some(name) => (name.to_string(), format!("  # {text}")),
                    None => (text, String::new()),
                }
            }
        };
        let _infallible = write!(out, "{class} {id} {}", self.name);
        if self.class != Class::Object || self.way != super::model::Endpoints::S2c {
            let _infallible = write!(out, " {}", self.way.name());
        }
        if let Some((name, _)) = Vitality::NAMES
            .iter()
            .find(|(_, vitality)| *vitality == self.vitality)
        {
            let _infallible = write!(out, " {name}");
        }
        if let Some((name, _)) = Frequency::NAMES
            .iter()
            .find(|(_, frequency)| *frequency == self.frequency)
        {
            let _infallible = write!(out, " {name}");
        }
        if self.dead {
            out.push_str(" dead");
        }
        let numbered = matches!(self.id, Id::Number(_));
        if numbered && self.size.is_some_and(|size| size.agreed.is_none()) {
            out.push_str(" explicit");
        }
        if let Some(since) = &self.since {
            let _infallible = write!(out, " since={since}");
        }
        for alias in &self.aliases {
            let _infallible = write!(out, " alias={alias}");
        }
        out.push_str(&comment);
        out.push('\n');
    }

    fn print_fields(&self, parent: Option<u16>, out: &mut String) {
        let rows: Vec<_> = self
            .parts(parent)
            .map(|(_, field)| (field, self.type_text(field)))
            .collect();
        let width = |lens: &mut dyn Iterator<Item = usize>| lens.max().unwrap_or(0);
        let names = width(&mut rows.iter().map(|(field, _)| field.name.len()));
        let types = width(&mut rows.iter().map(|(_, ty)| ty.len()));
        for (field, ty) in &rows {
            let line = format!("  {:names$}  {ty:types$}{}", field.name, self.attributes(field));
            out.push_str(line.trim_end());
            if let Some(doc) = &field.doc {
                let _infallible = write!(out, "  # {}", doc.replace('\n', " "));
            }
            out.push('\n');
        }
    }

    fn type_text(&self, field: &Field) -> String {
        let mut text = field.ty.name().to_owned();
        if field.optional {
            text.push('?');
        }
        let _infallible = match field.repeat {
            Repeat::One => Ok(()),
            Repeat::Fixed(count) => write!(text, "[{count}]"),
            Repeat::Field(counter) => write!(text, "[{}]", self.name_of(counter)),
            Repeat::Params(counter) => write!(text, "[{}.params]", self.name_of(counter)),
            Repeat::Rest => write!(text, "[*]"),
        };
        text
    }

    fn attributes(&self, field: &Field) -> String {
        let mut text = String::new();
        let mut add = |attribute: String| {
            text.push_str("  ");
            text.push_str(&attribute);
        };
        add(range(field));
        match &field.ty {
            Type::Raw(len, expect) => {
                add(match len {
                    Len::Fixed(len) => format!("len={len}"),
                    Len::Field(counter) => format!("len={}", self.name_of(*counter)),
                    Len::Rest => "rest".to_owned(),
                });
                add(expect
                    .as_ref()
                    .map_or(String::new(), |expect| format!("expect={expect}")));
            }
            Type::Packed(ints) => add(format!("ints={ints}")),
            Type::Group {
                bytes: Some(counter), ..
            } => add(format!("bytes={}", self.name_of(*counter))),
            _ => {}
        }
        let numbers = [("limit", field.bounds.limit), ("max", field.bounds.count_max)];
        for (name, number) in numbers {
            add(number.map_or(String::new(), |number| format!("{name}={number}")));
        }
        add(field
            .scale
            .map_or(String::new(), |scale| format!("scale={scale}")));
        add(field
            .unit
            .as_ref()
            .map_or(String::new(), |unit| format!("unit={unit}")));
        match &field.default {
            Some(Default::Int(value)) => add(format!("default={value}")),
            Some(Default::Text(value)) => add(format!("default={value}")),
            None => {}
        }
        add(match &field.secrecy {
            Secrecy::Open => String::new(),
            Secrecy::Secret => "secret".to_owned(),
            Secrecy::After(words) => format!("hide_after={}", words.name),
            Secrecy::Command(words) => format!("hide_command={}", words.name),
            Secrecy::With(other, words) => format!("hide_with={}:{}", self.name_of(*other), words.name),
        });
        add(if field.transient {
            "transient".to_owned()
        } else {
            String::new()
        });
        add(field
            .after
            .as_ref()
            .map_or(String::new(), |after| format!("after={after}")));
        let words: Vec<_> = text.split_whitespace().collect();
        words.iter().fold(String::new(), |text, word| text + "  " + word)
    }

    fn name_of(&self, field: u16) -> &str {
        self.field(field).map_or("", |field| &field.name)
    }
}

/// Formats the range of a field; empty if it is the full range of the type.
fn range(field: &Field) -> String {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let usual = match &field.ty {
        Type::Bool => (0, 1),
        Type::U8 => (0, 0xff),
        Type::Be16 => (0, 0xffff),
        Type::Be32 => (0, 0xffff_ffff),
        Type::Decimal => (i64::MIN, i64::MAX),
        Type::Enum(set) => {
            let values = || set.labels.iter().map(|label| label.value);
            (values().min().unwrap_or(low), values().max().unwrap_or(high))
        }
        _ => (low, high),
    };
    if !field.is_number() || (field.bounds.min, field.bounds.max) == usual {
        return String::new();
    }
    let open = |value: i64, end: i64| {
        if value == end {
            String::new()
        } else {
            value.to_string()
        }
    };
    let (low, high) = if matches!(field.ty, Type::Enum(_)) {
        (low, high)
    } else {
        usual
    };
    format!(
        "{}..{}",
        open(field.bounds.min, low),
        open(field.bounds.max, high)
    )
}

impl Type {
    /// Returns the name in definition files: of a built-in type, or of the enum, flags, struct or object.
    #[must_use]
    pub fn name(&self) -> &str {
        let builtin = match self {
            Self::Int => Builtin::Int,
            Self::Bool => Builtin::Bool,
            Self::Tick => Builtin::Tick,
            Self::Tune => Builtin::Tune,
            Self::Enum(set) | Self::Flags(set) => return &set.name,
            Self::Text(clean) => Builtin::Text(*clean),
            Self::Decimal => Builtin::Decimal,
            Self::Raw(..) => Builtin::Raw,
            Self::Uuid => Builtin::Uuid,
            Self::Sha256 => Builtin::Sha256,
            Self::U8 => Builtin::U8,
            Self::Be16 => Builtin::Be16,
            Self::Be32 => Builtin::Be32,
            Self::Addr => Builtin::Addr,
            Self::AddrLegacy => Builtin::AddrLegacy,
            Self::Packed(_) => Builtin::Packed,
            Self::Group { name, .. } => return name,
        };
        Builtin::NAMES
            .iter()
            .find(|(_, known)| *known == builtin)
            .map_or("raw", |(name, _)| name)
    }
}

fn print_doc(doc: Option<&Arc<str>>, out: &mut String) {
    for line in doc.iter().flat_map(|doc| doc.lines()) {
        let _infallible = writeln!(out, "# {line}");
    }
}

fn print_set(set: &Set, out: &mut String) {
    print_doc(set.doc.as_ref(), out);
    let kind = if set.flags { "flags" } else { "enum" };
    let _infallible = writeln!(out, "{kind} {}", set.name);
    for label in &set.labels {
        let _infallible = write!(out, "  {} {}", label.value, label.name);
        if let Some(params) = label.params {
            let _infallible = write!(out, " params={params}");
        }
        if let Some(shown) = &label.shown {
            let _infallible = write!(out, " as={shown}");
        }
        if let Some(doc) = &label.doc {
            let _infallible = write!(out, "  # {}", doc.replace('\n', " "));
        }
        out.push('\n');
    }
    out.push('\n');
}

fn print_words(words: &Words, out: &mut String) {
    let _infallible = writeln!(out, "words {} {}\n", words.name, words.words.join(" "));
}

//! Applies the secrets of the built-in definitions to the definitions of a user's file.
//!
//! Law: a definition file can add secrets but not remove them, because another person may have written it. A field is
//! secret if the built-in or the user's definition marks it as secret. If the user's definition gives the bytes of a
//! secret a different form, all bytes from there on are secret.

use std::{mem::discriminant, sync::Arc};

use super::model::{Def, Endpoints, Field, Secrecy, Type, Words};

/// Adds to definitions the secrets of the built-in definitions of the same messages.
pub(super) fn adopt(defs: &mut [Def], builtin: &[Def]) {
    for def in defs {
        for other in builtin {
            if is_same_message(def, other) {
                unite(&mut def.fields, &other.fields);
            }
        }
    }
}

/// Returns true if both are definitions of the same messages.
pub(super) fn is_same_message(one: &Def, other: &Def) -> bool {
    let is_same_way = one.way == other.way || one.way == Endpoints::Both || other.way == Endpoints::Both;
    one.class == other.class && one.id == other.id && is_same_way
}

fn unite(fields: &mut [Field], builtin: &[Field]) {
    let same = fields
        .iter()
        .zip(builtin)
        .take_while(|(one, other)| is_same_form(one, other));
    let same = same.count();
    let (alike, others) = fields.split_at_mut(same);
    for (field, other) in alike.iter_mut().zip(builtin) {
        let own = std::mem::replace(&mut field.secrecy, Secrecy::Open);
        field.secrecy = union(own, &other.secrecy);
    }
    // Past the first difference, the fields of the two definitions no longer correspond.
    let hidden = builtin.iter().skip(same).map(|field| &field.secrecy);
    for secrecy in hidden.filter(|secrecy| **secrecy != Secrecy::Open) {
        for field in &mut *others {
            let own = std::mem::replace(&mut field.secrecy, Secrecy::Open);
            field.secrecy = match secrecy {
                Secrecy::After(_) | Secrecy::Command(_) if is_text(field) => union(own, secrecy),
                _ => Secrecy::Secret,
            };
        }
    }
}

/// Returns true if two fields have the same wire form.
fn is_same_form(one: &Field, other: &Field) -> bool {
    let is_same_type = match (&one.ty, &other.ty) {
        (Type::Text(_), Type::Text(_)) => true,
        (Type::Group { bytes: one, .. }, Type::Group { bytes: other, .. }) => one == other,
        (one, other) if is_int(one) && is_int(other) => true,
        (Type::Raw(one, _), Type::Raw(other, _)) => one == other,
        (Type::Packed(one), Type::Packed(other)) => one == other,
        (one, other) => discriminant(one) == discriminant(other),
    };
    is_same_type && one.repeat == other.repeat && one.place == other.place
}

const fn is_int(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Int | Type::Bool | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_)
    )
}

const fn is_text(field: &Field) -> bool {
    matches!(field.ty, Type::Text(_) | Type::Group { .. })
}

fn union(one: Secrecy, other: &Secrecy) -> Secrecy {
    match (one, other) {
        (one, Secrecy::Open) => one,
        (Secrecy::Open, other) => other.clone(),
        (Secrecy::After(one), Secrecy::After(other)) => Secrecy::After(both(&one, other)),
        (Secrecy::Command(one), Secrecy::Command(other)) => Secrecy::Command(both(&one, other)),
        (Secrecy::With(at, one), Secrecy::With(place, other)) if at == *place => {
            Secrecy::With(at, both(&one, other))
        }
        _ => Secrecy::Secret,
    }
}

/// Returns the words of both lists.
fn both(one: &Arc<Words>, other: &Arc<Words>) -> Arc<Words> {
    if other.words.iter().all(|word| one.words.contains(word)) {
        return Arc::clone(one);
    }
    let more = other.words.iter().filter(|word| !one.words.contains(word));
    Arc::new(Words {
        name: one.name.clone(),
        words: one.words.iter().chain(more).cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Decoded, Registry, Secrets, Source};
    use crate::{Dir, Proto};

    /// Returns all values of a message, as a line shows them.
    fn shown(text: &str, dir: Dir, data: &[u8]) -> String {
        let registry = Registry::with("theirs.tw", text).map_err(|errors| format!("{errors:?}"));
        let registry = registry.unwrap();
        let mut decoded = Decoded::new();
        let def = decoded.message(&registry, Proto::Ddnet, dir, data).unwrap();
        let rows = decoded.view().rows(def, Source::Bytes(data), Secrets::Hide);
        rows.map(|row| format!("{}={} ", row.name, row.value)).collect()
    }

    #[test]
    fn a_file_removes_no_secret() {
        let auth = [&[0x25_u8][..], b"me\0hunter2\0\x01"].concat();
        let login = [&[0x22_u8, 0x00][..], b"/login hunter2\0"].concat();
        let line = [&[0x17_u8][..], b"sv_password hunter2\0"].concat();
        let (c2s, s2c) = (Dir::C2s, Dir::S2c);
        for (text, dir, data) in [
            // The original form, raw bytes, ints, a text after another field, and no field at all.
            ("", c2s, &auth),
            (
                "system 18 rcon_auth c2s\n  name  str\n  password  str\n  send  int\n",
                c2s,
                &auth,
            ),
            ("system 18 rcon_auth c2s\n  all  raw rest\n", c2s, &auth),
            ("system 18 other c2s\n  all  int[*]\n", c2s, &auth),
            (
                "system 18 rcon_auth c2s\n  a  u8\n  b  str\n  c  str\n",
                c2s,
                &auth,
            ),
            ("system 18 rcon_auth c2s\n", c2s, &auth),
            // A command in chat.
            ("", c2s, &login),
            ("game 17 cl_say c2s\n  team  int\n  message  str\n", c2s, &login),
            ("game 17 cl_say c2s\n  all  raw rest\n", c2s, &login),
            ("words chat_secrets nothing\n", c2s, &login),
            // A line of the remote console.
            ("words console_secrets nothing\n", s2c, &line),
            ("system 11 rcon_line s2c\n  line  str\n", s2c, &line),
        ] {
            let text = if text.is_empty() {
                String::new()
            } else {
                format!("for ddnet\n{text}")
            };
            let shown = shown(&text, dir, data);
            let hex: String = b"hunter2".iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(
                !shown.contains("hunter2") && !shown.contains(&hex),
                "{text}: {shown}"
            );
        }
    }

    #[test]
    fn a_file_adds_secrets() {
        let chat = [&[0x22_u8, 0x00][..], b"hello\0"].concat();
        let text = "for ddnet\ngame 17 cl_say c2s\n  team  int\n  message  str secret\n";
        assert_eq!(shown(text, Dir::C2s, &chat), "team=0 message=••• ");
        assert!(shown("", Dir::C2s, &chat).contains("hello"));
    }
}

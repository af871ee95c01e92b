//! Messages that the user writes, either new messages to send or changes of held messages.
//!
//! Law: the text has the syntax of rules and is checked in the same way. Values are fixed, so that the bytes are known
//! before the message is sent.

use teetap_wire::def::{Datum, Decoded, Dialect, EditError, EncodeError, PathError, Registry};
use teetap_wire::{Dir, Proto};

use crate::check::{Template, check_made};
use crate::diagnostic::{Code, Diagnostic, Severity, finish};
use crate::span::Span;
use crate::syntax::parse_made;
use crate::verdict::Made;

/// A message as the user wrote it.
#[derive(Debug, Clone)]
pub struct Draft {
    template: Template,
    registry: &'static Registry,
}

/// The reason why a draft cannot become a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    /// The protocol does not have the message, or not with these fields.
    #[error("{name} is not a message of {proto} with these fields")]
    NotInProto {
        /// The name as written.
        name: String,
        /// The protocol of the session.
        proto: Proto,
    },
    /// The draft changes another message than the given one.
    #[error("the message is {found}, not {wanted}")]
    OtherMessage {
        /// The name of the given message, or `unknown`.
        found: String,
        /// The name as written.
        wanted: String,
    },
    /// The values do not fit together.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A field does not exist.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The wire format cannot represent a value.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl Draft {
    /// Parses a message to send, such as `s2c sv_chat{client_id: -1, message: "hi"}`. A missing field has its default.
    /// Also returns warnings and notes in the order of the text.
    ///
    /// # Errors
    /// Returns all errors in the order of the text.
    pub fn inject(
        text: &str,
        registry: &'static Registry,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        Self::read(text, true, registry)
    }

    /// Parses the changes of a message, such as `cl_say{message: "hi"}`. A missing field keeps its value.
    ///
    /// # Errors
    /// Returns all errors in the order of the text.
    pub fn edit(text: &str, registry: &'static Registry) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        Self::read(text, false, registry)
    }

    fn read(
        text: &str,
        has_direction: bool,
        registry: &'static Registry,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let made = parse_made(text, has_direction).map_err(|error| vec![error])?;
        let (template, mut diagnostics) = check_made(&made, registry);
        if made.before {
            let what = "`before` needs the message of a rule";
            diagnostics.push(Diagnostic::new(Code::NotHere, Span::new(0, text.len()), what));
        }
        finish(&mut diagnostics);
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
        match template {
            Some(template) if !diagnostics.iter().any(is_error) => {
                Ok((Self { template, registry }, diagnostics))
            }
            _ => {
                diagnostics.retain(is_error);
                Err(diagnostics)
            }
        }
    }

    /// Encodes the message for a session of this protocol.
    ///
    /// # Errors
    /// The protocol does not have the message, or not with these fields, or the values do not fit together.
    pub fn made(&self, proto: Proto) -> Result<Made, DraftError> {
        let template = &self.template;
        let made = template.dir.and_then(|dir| template.made(proto, dir));
        let made = made.ok_or_else(|| DraftError::NotInProto {
            name: template.what.to_string(),
            proto,
        })?;
        Ok(made?)
    }

    /// Changes the fields of a message, given as id and fields without a chunk header. All other bytes stay unchanged.
    ///
    /// # Errors
    /// The text names another message, or the wire format cannot represent a value.
    pub fn edited(&self, proto: Proto, dir: Dir, message: &[u8]) -> Result<Vec<u8>, DraftError> {
        let found = self.registry.known_message(proto, dir, message);
        let dialect = Dialect::from(proto);
        let form = self.template.forms.iter().find(|form| {
            form.dialect == dialect
                && found
                    .as_ref()
                    .is_some_and(|found| std::ptr::eq(found.def, form.def))
        });
        let (Some(form), Some(found)) = (form, found) else {
            return Err(DraftError::OtherMessage {
                found: found.map_or("unknown", |found| &found.def.name).to_owned(),
                wanted: self.template.what.to_string(),
            });
        };
        let mut edited = message.to_vec();
        let mut decoded = Decoded::new();
        for (name, value) in form.fixed() {
            edited = splice(&found, &mut decoded, &edited, (&name, &value))?;
        }
        Ok(edited)
    }
}

fn splice(
    found: &teetap_wire::def::Found<'_>,
    decoded: &mut Decoded,
    message: &[u8],
    (name, value): (&str, &Datum),
) -> Result<Vec<u8>, DraftError> {
    let path = found.def.path(name)?;
    decoded.read(found.def, message, found.body);
    let mut edited = Vec::with_capacity(message.len());
    decoded.splice(found.def, message, &path, value, &mut edited)?;
    Ok(edited)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        let error = |diagnostic: Diagnostic| format!("{} {}", diagnostic.code.name(), diagnostic.message);
        let errors = Draft::inject(text, Registry::builtin()).unwrap_err();
        errors.into_iter().map(error).collect()
    }

    #[test]
    fn a_message_is_made_in_each_protocol_that_has_it() {
        let registry = Registry::builtin();
        let text = "s2c sv_chat{client_id: -1, message: \"hi\"}";
        let (draft, _) = Draft::inject(text, registry).unwrap();
        for proto in Proto::ALL {
            let made = draft.made(proto).unwrap();
            assert!(made.vital && made.dir == Dir::S2c);
            let found = registry.message(proto, Dir::S2c, &made.data).unwrap();
            assert_eq!(&*found.def.name, "sv_chat");
        }
        let (draft, _) = Draft::inject("s2c sv_chat{mode: all, message: \"hi\"} nonvital", registry).unwrap();
        assert!(!draft.made(Proto::V7).unwrap().vital);
        assert_eq!(
            draft.made(Proto::Ddnet).unwrap_err().to_string(),
            "sv_chat is not a message of ddnet with these fields"
        );
    }

    #[test]
    fn an_edit_changes_only_the_fields_that_it_names() {
        let registry = Registry::builtin();
        for proto in Proto::ALL {
            let made = |text: &str| Draft::inject(text, registry).unwrap().0.made(proto).unwrap().data;
            let mut before = made("s2c sv_chat{client_id: 3, message: \"one\"}");
            before.extend(b"surplus");
            let mut after = made("s2c sv_chat{client_id: 3, message: \"two\"}");
            after.extend(b"surplus");
            let (draft, _) = Draft::edit("sv_chat{message: \"two\"}", registry).unwrap();
            assert_eq!(draft.edited(proto, Dir::S2c, &before), Ok(after));
            let motd = made("s2c sv_motd{message: \"one\"}");
            assert_eq!(
                draft.edited(proto, Dir::S2c, &motd).unwrap_err().to_string(),
                "the message is sv_motd, not sv_chat"
            );
            assert_eq!(
                draft.edited(proto, Dir::S2c, &[0xff; 3]).unwrap_err().to_string(),
                "the message is unknown, not sv_chat"
            );
        }
    }

    #[test]
    fn a_wrong_message_is_refused_with_the_cause() {
        for (text, error) in [
            ("", "E001 expected `c2s` or `s2c`, found the end"),
            ("input", "E001 expected `c2s` or `s2c`, found `input`"),
            (
                "s2c sv_chat extra",
                "E001 expected the end of the message, found `extra`",
            ),
            ("s2c sv_caht", "E101 unknown message `sv_caht`"),
            ("c2s sv_chat", "E102 `sv_chat` is never sent c2s"),
            (
                "s2c sv_chat{mesage: \"x\"}",
                "E103 message `sv_chat` has no field `mesage`",
            ),
            (
                "s2c sv_chat{client_id: pkt.size}",
                "E102 the value of `client_id` needs a message that it is computed from",
            ),
            ("before s2c sv_chat", "E102 `before` needs the message of a rule"),
        ] {
            let found = errors(text);
            assert_eq!(found, [error], "{text}");
        }
        let long = format!("s2c sv_chat{{message: \"{}\"}}", "x".repeat(20_000));
        assert_eq!(errors(&long), ["E007 longer than 16384 bytes"]);
    }
}

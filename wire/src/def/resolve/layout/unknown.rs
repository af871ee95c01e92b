//! Errors for unknown names, with suggestions.

use super::Out;
use crate::def::lex::Word;
use crate::def::model::{Class, Dialect};
use crate::def::suggest::{meant_in_source, meant_or_all, suggest};
use crate::def::syntax::{Builtin, Kind, RawField};

impl Out<'_, '_, '_> {
    pub(super) fn unknown_type(&mut self, raw: &RawField<'_>) {
        let name = raw.ty.name;
        if self.reported_elsewhere(name, "type") {
            return;
        }
        let names = self.names;
        let types = || Builtin::NAMES.iter().map(|(name, _)| *name);
        let own = names.sets.keys().chain(names.structs.keys()).copied();
        let own = own.chain(names.objects.keys().copied());
        let help = match suggest(name.text, types().chain(own)) {
            Some(meant) => meant_in_source(meant),
            None if Builtin::named(&raw.name.text).is_some() => {
                format!("the name comes first: `{} {}`", name.text, raw.name.text)
            }
            None => {
                let types = types().collect::<Vec<_>>().join(", ");
                format!("{types}, or an enum, flags, struct or object")
            }
        };
        let message = format!("unknown type `{}`", name.text);
        self.errors.push_about(name, name, message, Some(help));
    }

    pub(super) fn unknown_struct(&mut self, name: Word<'_>) {
        if self.reported_elsewhere(name, "struct") {
            return;
        }
        let known = self.names.structs.keys().chain(self.names.objects.keys());
        let meant = suggest(name.text, known.copied()).map(meant_in_source);
        let message = format!("unknown struct `{}`", name.text);
        self.errors.push_about(name, name, message, meant);
    }

    /// Reports an unknown name among few alternatives.
    pub(super) fn unknown<'k>(
        &mut self,
        name: Word<'_>,
        what: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) {
        let help = Some(meant_or_all(name.text, known)).filter(|help| !help.is_empty());
        let message = format!("unknown {what} `{}`", name.text);
        self.errors.push_about(name, name, message, help);
    }

    /// Reports a type that only other protocols have. Returns false if none has it.
    fn reported_elsewhere(&mut self, name: Word<'_>, what: &str) -> bool {
        let named = self
            .names
            .items
            .iter()
            .filter(|item| item.name.word.text == name.text);
        let bits = named.filter(|item| match &item.kind {
            Kind::Set(_) => what == "type",
            Kind::Layout(layout) => layout
                .head
                .as_ref()
                .is_none_or(|head| head.class == Class::Object),
            Kind::Const(_) | Kind::Words(_) => false,
        });
        let bits = bits.fold(0, |bits, item| bits | item.scope.dialects);
        let others = Dialect::ALL
            .into_iter()
            .filter(|dialect| bits & dialect.bit() != 0);
        let others: Vec<&str> = others.map(Dialect::name).collect();
        if others.is_empty() {
            return false;
        }
        let what = format!("no {what} `{}` for {}", name.text, self.names.dialect);
        let help = Some(format!("there is one for {}", others.join(" and ")));
        self.errors.push_about(name, name, what, help);
        true
    }
}

//! The rules of a run: texts of the command line and files, as one program.
//!
//! Law: a run starts only with a program without errors. While it runs, a changed file is read again. If the file has
//! an error or was deleted, the last good program stays in force and one warning reports it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

use teetap_inspect::jsonl::RuleBody;
use teetap_proxy::session::Level;
use teetap_rules::{
    Diagnostic, Program, Span,
    syntax::{Outlined, outline},
};
use teetap_wire::{
    def::{Registry, suggest},
    printable,
};

mod error;
mod joined;
mod part;

pub use self::{
    error::{ChangeError, Mistakes, RulesError, TextError},
    part::contents,
};
use self::{
    joined::{Joined, indent, line, mistakes},
    part::{FileCheck, MAX_FILE, RuleText},
};

/// The rules of a run, shared with everything that changes them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SharedRules(Arc<Mutex<Rules>>);

impl SharedRules {
    pub fn new(rules: Rules) -> Self {
        Self(Arc::new(Mutex::new(rules)))
    }

    /// Locks the rules, waiting for other users.
    pub fn lock(&self) -> MutexGuard<'_, Rules> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the rules; `None` if they are in use.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Rules>> {
        match self.0.try_lock() {
            Ok(rules) => Some(rules),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A change of the rules of a run.
#[derive(Debug)]
pub struct Change {
    parts: Vec<RuleText>,
    program: Arc<Program>,
    warnings: Vec<String>,
    /// Description of the change.
    what: String,
}

impl Change {
    /// Returns the changed program.
    pub(crate) fn program(&self) -> Arc<Program> {
        Arc::clone(&self.program)
    }
}

/// The rules of a run.
#[derive(Debug)]
pub struct Rules {
    parts: Vec<RuleText>,
    /// True once the rules were changed.
    has_changed: bool,
    /// True for the rules of a journal whose faults are repeated.
    is_fixed: bool,
    registry: &'static Registry,
}

impl Rules {
    /// Returns rules without a statement.
    pub const fn none(registry: &'static Registry) -> Self {
        Self {
            parts: Vec::new(),
            has_changed: false,
            is_fixed: false,
            registry,
        }
    }

    /// Returns the rules of a journal with this name, which cannot be changed.
    pub(crate) fn of_journal(name: &str, text: &str, registry: &'static Registry) -> Self {
        Self {
            parts: vec![RuleText::typed(name, text)],
            is_fixed: true,
            ..Self::none(registry)
        }
    }

    /// Reads the texts of options, with their names, and the files of `--rules`, in this order. Returns `None` if there
    /// are none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(
        texts: &[(&str, String)],
        files: &[PathBuf],
        registry: &'static Registry,
    ) -> Result<Option<Self>, RulesError> {
        let mut parts: Vec<RuleText> = texts
            .iter()
            .map(|(name, text)| RuleText::typed(name, text))
            .collect();
        for path in files {
            parts.push(RuleText::read(path)?);
        }
        Ok((!parts.is_empty()).then_some(Self {
            parts,
            ..Self::none(registry)
        }))
    }

    /// Returns true if there is no statement and no file.
    pub(crate) const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Sets the definitions with which the rules are compiled.
    pub(crate) const fn set_registry(&mut self, registry: &'static Registry) {
        self.registry = registry;
    }

    /// Appends a text with this name, without compiling it.
    pub(crate) fn append(&mut self, name: &str, text: &str) {
        self.parts.push(RuleText::typed(name, text));
    }

    /// Reads a file and appends its text, without compiling it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn append_file(&mut self, path: &Path) -> Result<(), RulesError> {
        self.parts.push(RuleText::read(path)?);
        Ok(())
    }

    /// Compiles the rules. Also returns the warnings.
    ///
    /// # Errors
    /// [`RulesError::Invalid`] with every mistake and its position.
    pub fn compile(&self) -> Result<(Arc<Program>, Mistakes), RulesError> {
        let joined = Joined::new(&self.parts);
        let placed = |diagnostics: Vec<Diagnostic>| mistakes(&self.parts, &joined, &diagnostics);
        match Program::compile(&joined.text, self.registry) {
            Ok((program, warnings)) => Ok((Arc::new(program), placed(warnings))),
            Err(errors) => Err(RulesError::Invalid(placed(errors))),
        }
    }

    /// Returns each text with its name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|part| (&*part.name, &*part.text))
    }

    /// Reads changed files again. Returns lines to print, and the new program if there is one.
    pub(crate) fn reload(&mut self) -> (Vec<(Level, String)>, Option<Arc<Program>>) {
        let mut lines = Vec::new();
        let mut changed = Vec::new();
        for part in &mut self.parts {
            match part.look() {
                FileCheck::Same => {}
                FileCheck::Gone(error) => lines.push((
                    Level::Warning,
                    format!("cannot read {} any more, its last rules stay: {error}", part.name),
                )),
                FileCheck::Other => changed.push(part.name.clone()),
            }
        }
        if changed.is_empty() {
            return (lines, None);
        }
        let parts: Vec<RuleText> = self.parts.iter().map(RuleText::newest).collect();
        let joined = Joined::new(&parts);
        match Program::compile(&joined.text, self.registry) {
            Ok((program, warnings)) => {
                lines.push((Level::Info, format!("{} was read again", changed.join(", "))));
                lines.extend(warnings.iter().map(|warning| line(&parts, &joined, warning)));
                (self.parts, self.has_changed) = (parts, true);
                (lines, Some(Arc::new(program)))
            }
            Err(errors) => {
                let text = format!("{} has errors, the last rules stay", changed.join(", "));
                lines.push((Level::Warning, text));
                lines.extend(errors.iter().map(|error| line(&parts, &joined, error)));
                (lines, None)
            }
        }
    }

    /// Returns true if the rules have changed since the start, or one was switched off.
    pub const fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Records that a rule was switched on or off.
    pub(crate) const fn note_switch(&mut self) {
        self.has_changed = true;
    }

    /// Returns the statements in order, with their spans in the source of the program. Statements with equal texts have
    /// different names.
    pub(crate) fn list(&self) -> Vec<(RuleBody, Span)> {
        let joined = Joined::new(&self.parts);
        let mut list = Vec::new();
        self.each(|index, part, found, name| {
            let before = part.text.get(..found.span.start).unwrap_or_default();
            let body = RuleBody {
                on: true,
                name,
                text: found.text,
                from: part.name.clone(),
                line: before.matches('\n').count() + 1,
                hits: None,
                last_hit: None,
            };
            list.push((body, joined.place_of(index, found.span)));
        });
        list
    }

    /// Calls `each` with every statement, its part and its name.
    fn each(&self, mut each: impl FnMut(usize, &RuleText, Outlined, String)) {
        let mut occurrences: BTreeMap<String, u32> = BTreeMap::new();
        for (index, part) in self.parts.iter().enumerate() {
            for found in outline(&part.text) {
                let name = found.name.clone().unwrap_or_else(|| found.text.clone());
                let count = occurrences.entry(name.clone()).or_default();
                *count += 1;
                let name = match *count {
                    1 => name,
                    count => format!("{name} #{count}"),
                };
                each(index, part, found, name);
            }
        }
    }

    /// Returns the part index and span of a statement that can be changed. Fails for a statement of a file, which must
    /// be changed there.
    fn find_own(&self, wanted: &str) -> Result<(usize, Span), ChangeError> {
        let found = self.find(wanted)?;
        match self.parts.get(found.0) {
            Some(part) if part.file.is_some() => Err(ChangeError::OfFile {
                name: wanted.to_owned(),
                file: part.name.clone(),
            }),
            _ => Ok(found),
        }
    }

    /// Returns the part index and span of a statement.
    fn find(&self, wanted: &str) -> Result<(usize, Span), ChangeError> {
        let mut found = None;
        let mut names = Vec::new();
        self.each(|index, _, statement, name| {
            if name == wanted {
                found = found.or(Some((index, statement.span)));
            }
            names.push(name);
        });
        found.ok_or_else(|| ChangeError::Unknown {
            name: wanted.to_owned(),
            meant: suggest(wanted, names.iter().map(String::as_str)).map(str::to_owned),
        })
    }

    /// Adds a text of this origin after all others.
    pub(crate) fn add(&self, from: &str, text: &str) -> Result<Change, ChangeError> {
        if outline(text).is_empty() {
            return Err(ChangeError::Empty);
        }
        let mut parts = self.parts.clone();
        parts.push(RuleText::typed(from, text));
        self.change(parts, format!("added {}", one_line(text)))
    }

    /// Replaces a statement that was not read from a file.
    pub(crate) fn replace(&self, name: &str, text: &str) -> Result<Change, ChangeError> {
        if outline(text).is_empty() {
            return Err(ChangeError::EmptyReplacement);
        }
        let text = text.get(indent(text).end..).unwrap_or(text).trim_end();
        let what = format!("replaced {} by {}", one_line(name), one_line(text));
        self.change(self.put(name, text)?, what)
    }

    /// Removes a statement that was not read from a file.
    pub(crate) fn remove(&self, name: &str) -> Result<Change, ChangeError> {
        let mut parts = self.put(name, "")?;
        parts.retain(|part| part.file.is_some() || !outline(&part.text).is_empty());
        self.change(parts, format!("removed {}", one_line(name)))
    }

    /// Exchanges two statements that were not read from a file.
    pub(crate) fn swap(&self, one: &str, other: &str) -> Result<Change, ChangeError> {
        let (first, second) = (self.find_own(one)?, self.find_own(other)?);
        let text = |(index, span): (usize, Span)| {
            let part = self.parts.get(index);
            let text = part.and_then(|part| part.text.get(span.start..span.end));
            text.unwrap_or_default().to_owned()
        };
        let mut places = [(first, text(second)), (second, text(first))];
        // Replaces the later statement first, so that the span of the earlier statement stays valid.
        places.sort_by_key(|((index, span), _)| std::cmp::Reverse((*index, span.start)));
        let mut parts = self.parts.clone();
        for ((index, span), text) in places {
            if let Some(part) = parts.get_mut(index) {
                part.text.replace_range(span.start..span.end, &text);
            }
        }
        self.change(
            parts,
            format!("swapped {} and {}", one_line(one), one_line(other)),
        )
    }

    /// Returns the span of a statement in the source of the program, including statements of files, to switch it on or
    /// off.
    pub(crate) fn place(&self, name: &str) -> Result<Span, ChangeError> {
        self.must_be_free()?;
        let (index, span) = self.find(name)?;
        Ok(Joined::new(&self.parts).place_of(index, span))
    }

    fn put(&self, name: &str, text: &str) -> Result<Vec<RuleText>, ChangeError> {
        let (index, span) = self.find_own(name)?;
        let mut parts = self.parts.clone();
        if let Some(part) = parts.get_mut(index) {
            part.text.replace_range(span.start..span.end, text);
        }
        Ok(parts)
    }

    fn must_be_free(&self) -> Result<(), ChangeError> {
        match self.is_fixed {
            true => Err(ChangeError::Fixed),
            false => Ok(()),
        }
    }

    fn change(&self, parts: Vec<RuleText>, what: String) -> Result<Change, ChangeError> {
        self.must_be_free()?;
        let size: usize = parts.iter().map(|part| part.text.len()).sum();
        if size as u64 > MAX_FILE {
            return Err(ChangeError::TooLarge { max: MAX_FILE });
        }
        let joined = Joined::new(&parts);
        let lines = |diagnostics: &[Diagnostic]| -> Vec<String> {
            let lines = diagnostics
                .iter()
                .map(|diagnostic| line(&parts, &joined, diagnostic));
            lines.map(|(_, line)| line).collect()
        };
        match Program::compile(&joined.text, self.registry) {
            Ok((program, warnings)) => Ok(Change {
                warnings: lines(&warnings),
                program: Arc::new(program),
                parts,
                what,
            }),
            Err(errors) => Err(ChangeError::Invalid(lines(&errors))),
        }
    }

    /// Applies a change. Returns its description and its warnings.
    pub(crate) fn accept(&mut self, change: Change) -> (String, Vec<String>) {
        (self.parts, self.has_changed) = (change.parts, true);
        (change.what, change.warnings)
    }
}

/// Returns a text for a report, on one line and cut if it is too long.
pub fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = printable(words.join(" ").as_bytes());
    if line.len() > LONGEST {
        line.truncate(line.floor_char_boundary(LONGEST));
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests;

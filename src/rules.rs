//! The rules of a run: texts of the command line and files, as one program.
//!
//! Law: a run starts only with a program without errors. While it runs, a file that changes is read again; if that has an
//! error, or the file is gone, the last good program stays and one warning reports it.

use std::{
    fs::{self, File},
    io::{self, IsTerminal as _, Read as _, stderr},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use teetap_proxy::session::Level;
use teetap_rules::{Diagnostic, Program, Severity, Span, Style};
use teetap_wire::{def::Registry, printable};

use crate::{exit::Failure, output};

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The rules of a run.
#[derive(Debug)]
pub(crate) struct Rules {
    parts: Vec<Part>,
    registry: &'static Registry,
}

/// A text, and where it comes from.
#[derive(Debug)]
struct Part {
    /// The name in messages, without control characters.
    name: String,
    text: String,
    file: Option<Watched>,
}

/// A file that is read again when it changes.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    /// `None` while it is missing.
    stamp: Option<Stamp>,
}

/// The marks of a change: seconds and nanoseconds of the modification time, length, inode.
type Stamp = (i64, i64, u64, u64);

/// All texts as one.
struct Joined {
    text: String,
    /// For each part: where it begins, and the range of its own text that is left out.
    places: Vec<(usize, Span)>,
}

impl Rules {
    /// Reads the texts of options, with their names, and the files of `--rules`, in this order; `None` if there are none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn read(
        texts: &[(&str, String)],
        files: &[PathBuf],
        registry: &'static Registry,
    ) -> Result<Option<Self>, Failure> {
        let mut parts: Vec<Part> = texts.iter().map(|(name, text)| Part::typed(name, text)).collect();
        for path in files {
            parts.push(Part::read(path).map_err(Failure::usage)?);
        }
        Ok((!parts.is_empty()).then_some(Self { parts, registry }))
    }

    /// Compiles the rules and prints warnings.
    ///
    /// # Errors
    /// The rules are wrong: the error shows every mistake with its place.
    pub(crate) fn compile(&self) -> Result<Arc<Program>, Failure> {
        let joined = Joined::new(&self.parts);
        let style = style();
        let show = |diagnostics: &[Diagnostic]| {
            let shown = diagnostics.iter().map(|diagnostic| {
                let (part, moved) = self.place(&joined, diagnostic);
                moved.render(&part.name, &part.text, style)
            });
            shown.collect::<Vec<_>>().join("\n\n")
        };
        match Program::compile(&joined.text, self.registry) {
            Ok((program, warnings)) => {
                if !warnings.is_empty() {
                    output::say(&show(&warnings));
                }
                Ok(Arc::new(program))
            }
            Err(errors) => Err(Failure::usage(format!("invalid rules\n{}", show(&errors)))),
        }
    }

    /// Returns each text with its name.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|part| (&*part.name, &*part.text))
    }

    /// Reads files that have changed. Returns lines to print, and the program if it is another one.
    pub(crate) fn reload(&mut self) -> (Vec<(Level, String)>, Option<Arc<Program>>) {
        let mut lines = Vec::new();
        let mut changed = Vec::new();
        for part in &mut self.parts {
            match part.look() {
                Look::Same => {}
                Look::Gone(error) => lines.push((
                    Level::Warning,
                    format!("cannot read {} any more, its last rules stay: {error}", part.name),
                )),
                Look::Other => changed.push(part.name.clone()),
            }
        }
        if changed.is_empty() {
            return (lines, None);
        }
        let joined = Joined::new(&self.parts);
        match Program::compile(&joined.text, self.registry) {
            Ok((program, warnings)) => {
                lines.push((Level::Info, format!("{} was read again", changed.join(", "))));
                lines.extend(warnings.iter().map(|warning| self.line(&joined, warning)));
                (lines, Some(Arc::new(program)))
            }
            Err(errors) => {
                let text = format!("{} has errors, the last rules stay", changed.join(", "));
                lines.push((Level::Warning, text));
                lines.extend(errors.iter().map(|error| self.line(&joined, error)));
                (lines, None)
            }
        }
    }

    /// A diagnostic in one line.
    fn line(&self, joined: &Joined, diagnostic: &Diagnostic) -> (Level, String) {
        let (part, moved) = self.place(joined, diagnostic);
        let before = part.text.get(..moved.span.start).unwrap_or(&part.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let help = diagnostic
            .help
            .as_deref()
            .map_or(String::new(), |help| format!("; {help}"));
        let level = match diagnostic.severity() {
            Severity::Error | Severity::Warning => Level::Warning,
            Severity::Note => Level::Info,
        };
        let text = format!(
            "{}:{line}:{column}: [{}] {}{help}",
            part.name,
            diagnostic.code.name(),
            diagnostic.message
        );
        (level, printable(text.as_bytes()))
    }

    /// Returns the part that a diagnostic is about, and the diagnostic with the place in it.
    fn place(&self, joined: &Joined, diagnostic: &Diagnostic) -> (&Part, Diagnostic) {
        let at = joined
            .places
            .iter()
            .rposition(|(start, _)| *start <= diagnostic.span.start);
        let at = at.unwrap_or_default();
        let (start, cut) = joined.places.get(at).copied().unwrap_or((0, Span::new(0, 0)));
        let moved = |place: usize| {
            let place = place.saturating_sub(start);
            place
                + if place >= cut.start {
                    cut.end - cut.start
                } else {
                    0
                }
        };
        let mut diagnostic = diagnostic.clone();
        diagnostic.span = Span::new(moved(diagnostic.span.start), moved(diagnostic.span.end));
        static NOTHING: Part = Part {
            name: String::new(),
            text: String::new(),
            file: None,
        };
        (self.parts.get(at).unwrap_or(&NOTHING), diagnostic)
    }
}

impl Joined {
    /// Joins texts. The first statement of each begins a statement, even if it is indented.
    fn new(parts: &[Part]) -> Self {
        let mut text = String::new();
        let mut places = Vec::new();
        for part in parts {
            let cut = indent(&part.text);
            places.push((text.len(), cut));
            text.push_str(part.text.get(..cut.start).unwrap_or_default());
            text.push_str(part.text.get(cut.end..).unwrap_or_default());
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        Self { text, places }
    }
}

/// The indentation of the first statement of a text.
fn indent(text: &str) -> Span {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with('#') {
            return Span::new(start, start + line.len() - code.len());
        }
        start += line.len();
    }
    Span::new(0, 0)
}

/// The result of a look at a file.
enum Look {
    Same,
    Other,
    /// For the first time, why it cannot be read.
    Gone(String),
}

impl Part {
    fn typed(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            file: None,
        }
    }

    fn read(path: &Path) -> Result<Self, String> {
        let name = printable(path.to_string_lossy().as_bytes());
        // The time is taken before the contents, so that a later change is noticed.
        let stamp = stamp(path);
        let text = contents(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        let stamp = stamp.map_err(|error| format!("cannot read {name}: {error}"))?;
        Ok(Self {
            name,
            text,
            file: stamp.map(|stamp| Watched {
                path: path.to_owned(),
                stamp: Some(stamp),
            }),
        })
    }

    /// Looks for a change, and reads it.
    fn look(&mut self) -> Look {
        let Some(file) = &mut self.file else {
            return Look::Same;
        };
        let found = match stamp(&file.path) {
            Ok(found) if found.is_some() && found == file.stamp => return Look::Same,
            Ok(found) => contents(&file.path).map(|text| (found, text)),
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok((stamp, text)) => {
                file.stamp = stamp;
                if text == self.text {
                    return Look::Same;
                }
                self.text = text;
                Look::Other
            }
            Err(error) => match file.stamp.take() {
                Some(_) => Look::Gone(error),
                None => Look::Same,
            },
        }
    }
}

/// The stamp of a file; `None` for what is not a regular file, such as a pipe, and can be read once only.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let found = fs::metadata(path)?;
    Ok(found
        .is_file()
        .then(|| (found.mtime(), found.mtime_nsec(), found.len(), found.ino())))
}

/// Returns the style of diagnostics on stderr.
pub(crate) fn style() -> Style {
    if stderr().is_terminal() {
        Style::Coloured
    } else {
        Style::Plain
    }
}

/// Reads a text of at most [`MAX_FILE`] bytes; `-` is stdin.
///
/// # Errors
/// Returns the reason why the file cannot be read.
pub(crate) fn contents(path: &Path) -> Result<String, String> {
    let path = if path == Path::new("-") {
        Path::new("/dev/stdin")
    } else {
        path
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("larger than {} KiB", MAX_FILE >> 10));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str], files: &[PathBuf]) -> Rules {
        let texts: Vec<_> = texts.iter().map(|text| ("--rule", (*text).to_owned())).collect();
        Rules::read(&texts, files, Registry::builtin()).unwrap().unwrap()
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.tap");
        (folder, path)
    }

    fn texts(lines: &[(Level, String)], path: &Path) -> Vec<String> {
        let name = path.to_string_lossy();
        lines
            .iter()
            .map(|(_, line)| line.replace(&*name, "FILE"))
            .collect()
    }

    #[test]
    fn each_text_begins_a_statement_and_errors_have_its_places() {
        let error = rules(&["link both loss 5%", "  drup when c2s", "link up"], &[]).compile();
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("--> --rule:1:3\n") && text.contains("--> --rule:1:6\n"),
            "{text}"
        );
        assert!(text.contains("  |   ^^^^\n"), "{text}");
        rules(&["link both loss 5%", "\n # a comment\n\tlink both dup 1%"], &[])
            .compile()
            .unwrap();
    }

    #[test]
    fn a_changed_file_is_read_again_and_an_erroneous_one_keeps_the_last_program() {
        let (_folder, path) = folder();
        fs::write(&path, "link both loss 5%\n").unwrap();
        let mut rules = rules(&[], std::slice::from_ref(&path));
        rules.compile().unwrap();
        assert!(rules.reload().0.is_empty());
        fs::write(&path, "link both loss 50%\n").unwrap();
        let (lines, program) = rules.reload();
        assert_eq!(texts(&lines, &path), ["FILE was read again"]);
        assert_eq!(program.unwrap().source(), "link both loss 50%\n");
        fs::write(&path, "link both\n loss 5\n").unwrap();
        let (lines, program) = rules.reload();
        assert!(program.is_none());
        assert_eq!(
            texts(&lines, &path),
            [
                "FILE has errors, the last rules stay",
                "FILE:2:7: [E202] expected a percentage, found `5`; write `5%`"
            ]
        );
        assert!(rules.reload().0.is_empty());
    }

    #[test]
    fn a_file_that_vanishes_is_reported_once_and_read_when_it_is_back() {
        let (_folder, path) = folder();
        fs::write(&path, "link both loss 5%\n").unwrap();
        let mut rules = rules(&[], std::slice::from_ref(&path));
        fs::remove_file(&path).unwrap();
        let (lines, program) = rules.reload();
        assert_eq!(
            texts(&lines, &path),
            ["cannot read FILE any more, its last rules stay: No such file or directory (os error 2)"]
        );
        assert!(program.is_none() && rules.reload().0.is_empty());
        fs::write(&path, "link both loss 6%\n").unwrap();
        assert!(rules.reload().1.is_some());
    }

    #[test]
    fn files_that_are_no_text_or_too_large_are_refused() {
        let (folder, path) = folder();
        for (bytes, error) in [
            (b"link \xff".to_vec(), "not UTF-8 at byte 5"),
            (vec![b'#'; 2 << 20], "larger than 1024 KiB"),
        ] {
            fs::write(&path, bytes).unwrap();
            let found = Part::read(&path).unwrap_err();
            assert!(found.ends_with(error), "{found}");
        }
        assert!(Part::read(folder.path()).unwrap_err().contains("directory"));
        let odd = folder.path().join("a\u{1b}[2J.tap");
        let text = Part::read(&odd).unwrap_err();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

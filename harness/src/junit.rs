//! JUnit reports, which continuous integration reads.
//!
//! Law: the document is well-formed, whatever its texts contain. Characters that XML cannot represent, that change the
//! direction of text or that are invisible become escapes.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use teetap_inspect::jsonl::rfc3339;
use teetap_proxy::io::files::{Access, PATIENCE, PipeWriter, PrivateError, open_private};
use teetap_wire::{is_deceptive, is_invisible, printable_path};

/// File to which a report will be written.
#[derive(Debug)]
pub struct Report {
    path: PathBuf,
    file: File,
    /// False for a pipe or a device.
    is_regular: bool,
    /// Maximum time for which a pipe is full before the report is given up.
    patience: Duration,
}

/// Reason why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The system refuses access to the file.
    #[error("cannot write the JUnit report {path}: {error}")]
    System {
        /// Path, printable.
        path: String,
        /// Error of the system.
        error: io::Error,
    },
    /// The path cannot be used for a report.
    #[error("cannot write the JUnit report {path}: {error}")]
    Path {
        /// Path, printable.
        path: String,
        /// Reason why the path is refused.
        error: PrivateError,
    },
}

/// Tests of one run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name of the suite, such as `teetap HOST:PORT`.
    pub name: String,
    /// Start time of the run.
    pub wall: SystemTime,
    /// Duration of all tests.
    pub time: Duration,
    /// Names and values of properties, such as the seed.
    pub properties: Vec<(&'static str, String)>,
    /// Tests, in the order of the report.
    pub cases: Vec<Case>,
}

/// A test with its outcome.
#[derive(Clone, Debug)]
pub struct Case {
    /// Group of the test.
    pub class: String,
    /// Name of the test in its group.
    pub name: String,
    /// Duration of the test.
    pub time: Duration,
    /// Outcome of the test.
    pub outcome: Outcome,
    /// Text about the test, such as the line that repeats it. Empty = none.
    pub output: String,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The expectation was met.
    Passed,
    /// The expectation was not met, for this reason.
    Failed(String),
    /// The test could not be run, for this reason.
    Broken(String),
    /// There was nothing to test, for this reason.
    Skipped(String),
}

impl Report {
    /// Creates the file, which only its owner can read. An existing file is emptied.
    ///
    /// # Errors
    /// The file cannot be created, or the path cannot be used for a report.
    pub fn create(path: &Path) -> Result<Self, ReportError> {
        let failed = |error| ReportError::System {
            path: printable_path(path),
            error,
        };
        let opened = open_private(path, Access::Append).map_err(|error| match error {
            PrivateError::System(error) => failed(error),
            error => ReportError::Path {
                path: printable_path(path),
                error,
            },
        })?;
        if opened.is_regular {
            opened.file.set_len(0).map_err(failed)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file: opened.file,
            is_regular: opened.is_regular,
            patience: PATIENCE,
        })
    }

    /// Writes a report.
    ///
    /// # Errors
    /// The file cannot be written, or the reader of a pipe does not read for [`PATIENCE`].
    pub fn write(mut self, suite: &Suite) -> Result<(), ReportError> {
        let document = suite.document();
        let written = match self.is_regular {
            true => self.file.write_all(document.as_bytes()),
            false => PipeWriter::new(self.file, self.patience).write_all(document.as_bytes()),
        };
        written.map_err(|error| ReportError::System {
            path: printable_path(&self.path),
            error,
        })
    }
}

impl Suite {
    /// Returns the report as XML.
    fn document(&self) -> String {
        let count = |of: fn(&Outcome) -> bool| self.cases.iter().filter(|case| of(&case.outcome)).count();
        let mut xml = Xml::default();
        xml.open("testsuites", &[]);
        xml.open(
            "testsuite",
            &[
                ("name", &self.name),
                ("tests", &self.cases.len().to_string()),
                (
                    "failures",
                    &count(|outcome| matches!(outcome, Outcome::Failed(_))).to_string(),
                ),
                (
                    "errors",
                    &count(|outcome| matches!(outcome, Outcome::Broken(_))).to_string(),
                ),
                (
                    "skipped",
                    &count(|outcome| matches!(outcome, Outcome::Skipped(_))).to_string(),
                ),
                ("time", &seconds(self.time)),
                ("timestamp", &rfc3339(self.wall)),
            ],
        );
        if !self.properties.is_empty() {
            xml.open("properties", &[]);
            for (name, value) in &self.properties {
                xml.leaf("property", &[("name", name), ("value", value)], "");
            }
            xml.close("properties");
        }
        self.cases.iter().for_each(|case| case.add_to(&mut xml));
        xml.close("testsuite");
        xml.close("testsuites");
        xml.0
    }
}

impl Case {
    fn add_to(&self, xml: &mut Xml) {
        let time = seconds(self.time);
        xml.open(
            "testcase",
            &[("classname", &*self.class), ("name", &self.name), ("time", &time)],
        );
        let found = match &self.outcome {
            Outcome::Passed => None,
            Outcome::Failed(why) => Some(("failure", why)),
            Outcome::Broken(why) => Some(("error", why)),
            Outcome::Skipped(why) => Some(("skipped", why)),
        };
        if let Some((element, why)) = found {
            let first = why.lines().next().unwrap_or_default();
            let text = if element == "skipped" { "" } else { why };
            xml.leaf(element, &[("message", first)], text);
        }
        if !self.output.is_empty() {
            xml.leaf("system-out", &[], &self.output);
        }
        xml.close("testcase");
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// A document that is being written.
struct Xml(String);

impl Default for Xml {
    fn default() -> Self {
        Self("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned())
    }
}

impl Xml {
    fn open(&mut self, element: &str, attributes: &[(&str, &str)]) {
        self.begin(element, attributes);
        self.0.push_str(">\n");
    }

    fn close(&mut self, element: &str) {
        let _never_fails = writeln!(self.0, "</{element}>");
    }

    /// Appends an element with a text, or without one.
    fn leaf(&mut self, element: &str, attributes: &[(&str, &str)], text: &str) {
        self.begin(element, attributes);
        if text.is_empty() {
            self.0.push_str("/>\n");
            return;
        }
        self.0.push('>');
        self.text(text, false);
        let _never_fails = writeln!(self.0, "</{element}>");
    }

    fn begin(&mut self, element: &str, attributes: &[(&str, &str)]) {
        let _never_fails = write!(self.0, "<{element}");
        for (name, value) in attributes {
            let _never_fails = write!(self.0, " {name}=\"");
            self.text(value, true);
            self.0.push('"');
        }
    }

    /// Appends a text. Line ends in attributes become references, since readers turn plain ones into spaces.
    fn text(&mut self, text: &str, is_attribute: bool) {
        for c in text.chars() {
            let _never_fails = match c {
                '&' => write!(self.0, "&amp;"),
                '<' => write!(self.0, "&lt;"),
                '>' => write!(self.0, "&gt;"),
                '"' if is_attribute => write!(self.0, "&quot;"),
                '\t' | '\n' if is_attribute => write!(self.0, "&#{};", u32::from(c)),
                '\t' | '\n' => write!(self.0, "{c}"),
                c if is_deceptive(c) || is_invisible(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    write!(self.0, "{}", c.escape_unicode())
                }
                c => write!(self.0, "{c}"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_counts_texts_and_no_raw_markup() {
        let case = |name: &str, outcome| Case {
            class: "teetap".to_owned(),
            name: name.to_owned(),
            time: Duration::from_millis(1500),
            outcome,
            output: String::new(),
        };
        let suite = Suite {
            name: "a <b> & \"c\"".to_owned(),
            wall: SystemTime::UNIX_EPOCH,
            time: Duration::from_millis(2034),
            properties: vec![("seed", "7".to_owned())],
            cases: vec![
                case("one", Outcome::Passed),
                case(
                    "two\n\u{1b}[2J\u{202e}\u{200b}",
                    Outcome::Failed("no\r\n]]> &\u{ffff}\u{0}\u{2066}".to_owned()),
                ),
                Case {
                    output: "teetap run".to_owned(),
                    ..case("three", Outcome::Broken("é".to_owned()))
                },
                case("four", Outcome::Skipped("not <tested>".to_owned())),
            ],
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("junit.xml");
        Report::create(&path).unwrap().write(&suite).unwrap();
        let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites>
<testsuite name=\"a &lt;b&gt; &amp; &quot;c&quot;\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"2.034\" timestamp=\"1970-01-01T00:00:00.000000Z\">
<properties>
<property name=\"seed\" value=\"7\"/>
</properties>
<testcase classname=\"teetap\" name=\"one\" time=\"1.500\">
</testcase>
<testcase classname=\"teetap\" name=\"two&#10;\\u{1b}[2J\\u{202e}\\u{200b}\" time=\"1.500\">
<failure message=\"no\">no\\u{d}
]]&gt; &amp;\\u{ffff}\\u{0}\\u{2066}</failure>
</testcase>
<testcase classname=\"teetap\" name=\"three\" time=\"1.500\">
<error message=\"é\">é</error>
<system-out>teetap run</system-out>
</testcase>
<testcase classname=\"teetap\" name=\"four\" time=\"1.500\">
<skipped message=\"not &lt;tested&gt;\"/>
</testcase>
</testsuite>
</testsuites>
";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }

    /// A program that opened the pipe, but does not read it, must not stop the run for ever.
    #[test]
    fn a_reader_that_does_not_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let mut options = std::fs::OpenOptions::new();
        let _stalled = options.read(true).write(true).open(&path).unwrap();
        let case = Case {
            class: "teetap".to_owned(),
            name: "x".repeat(1 << 20),
            time: Duration::ZERO,
            outcome: Outcome::Passed,
            output: String::new(),
        };
        let suite = Suite {
            name: "teetap".to_owned(),
            wall: SystemTime::UNIX_EPOCH,
            time: Duration::ZERO,
            properties: Vec::new(),
            cases: vec![case],
        };
        let mut report = Report::create(&path).unwrap();
        report.patience = Duration::from_millis(100);
        let error = report.write(&suite).unwrap_err().to_string();
        assert!(
            error.ends_with("the reader of the pipe has not read for 0 s"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_cannot_be_created_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Report::create(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the JUnit report "), "{error}");
    }
}

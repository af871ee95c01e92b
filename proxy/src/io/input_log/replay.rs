//! Runs a log through a new core.

use std::{fmt, io::BufRead};

use teetap_wire::def::{DefError, Registry};

use super::{
    Compile, Compiled, Cut, Definitions, Entry, Header, LoggedInput, LoggedOutput, ReadError, Reader,
};
use crate::session::{Hub, Time};

/// The definitions with which a log is replayed, or the errors in the definitions that the log contains.
pub type Loaded = Result<&'static Registry, Vec<DefError>>;

/// The functions that read the texts in a log.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    /// Loads these definitions in addition to the built-in ones.
    pub registry: &'a dyn Fn(&[Definitions]) -> Loaded,
    /// Compiles the text of a program.
    pub program: &'a dyn Fn(&str, &'static Registry) -> Compiled,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The first line.
    pub header: Header,
    /// Number of inputs that were repeated.
    pub inputs: u64,
    /// Number of datagrams among the inputs.
    pub received: u64,
    /// Number of datagrams that the core sent and that are equal to those in the log.
    pub sent: u64,
    /// The time of the last input.
    pub until: Time,
    /// The first difference, at which the replay stopped.
    pub difference: Option<Difference>,
    /// How the log ends after the last input; `None` for a complete log.
    pub cut: Option<Cut>,
}

/// An output that differs from the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the line with the input that caused the output, from 1.
    pub line: u64,
    /// The time of that input.
    pub at: Time,
    /// Position of the output among the outputs of the input, from 1.
    pub output: usize,
    /// The output in the log; `None` if there are no more.
    pub expected: Option<LoggedOutput>,
    /// The output of the replay; `None` if there are no more.
    pub came: Option<LoggedOutput>,
}

/// Runs a log through a new core and compares all outputs, up to the first difference.
///
/// # Errors
/// If the log, its definitions or a program in it cannot be read; see [`ReadError`].
pub fn check(log: impl BufRead, texts: Texts<'_>) -> Result<Checked, ReadError> {
    let mut reader = Reader::open(log)?;
    let header = reader.header().clone();
    let registry = (texts.registry)(&header.definitions).map_err(ReadError::Definitions)?;
    let config = header.config(registry);
    let config = config.ok_or_else(|| ReadError::NotALog("the secret is not 16 bytes long".into()))?;
    let mut hub = Hub::new(config, header.route());
    let mut checked = Checked {
        header,
        inputs: 0,
        received: 0,
        sent: 0,
        until: Time::ZERO,
        difference: None,
        cut: None,
    };
    let compile = |source: &str| (texts.program)(source, registry);
    for line in reader.by_ref() {
        let (line, entry) = line?;
        checked.step(&mut hub, line, entry, &compile)?;
        if checked.difference.is_some() {
            break;
        }
    }
    checked.cut = reader.cut().cloned();
    Ok(checked)
}

impl Checked {
    /// Repeats one input.
    fn step(
        &mut self,
        hub: &mut Hub,
        line: u64,
        entry: Entry,
        compile: Compile<'_>,
    ) -> Result<(), ReadError> {
        let Entry { at, input, outputs } = entry;
        self.until = Time(at);
        let again = input.input(compile);
        let again = again.map_err(|error| ReadError::Program { line, error })?;
        hub.handle(Time(at), again);
        self.inputs += 1;
        let datagram = matches!(
            input,
            LoggedInput::FromClient { .. } | LoggedInput::FromServer { .. }
        );
        self.received += u64::from(datagram);
        let mut expected = outputs.into_iter();
        let mut ordinal = 0;
        loop {
            let came = next(hub);
            let expected = expected.next();
            ordinal += 1;
            match (came, expected) {
                (None, None) => return Ok(()),
                (came, expected) if came == expected => {
                    self.sent += u64::from(came.is_some_and(|came| came.is_datagram()));
                }
                (came, expected) => {
                    self.difference = Some(Difference {
                        line,
                        at: Time(at),
                        output: ordinal,
                        expected,
                        came,
                    });
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the next output that is not an event.
fn next(hub: &mut Hub) -> Option<LoggedOutput> {
    while let Some(output) = hub.poll() {
        if let Some(wanted) = LoggedOutput::from_output(&output) {
            return Some(wanted);
        }
    }
    None
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            at,
            output,
            expected,
            came,
        } = self;
        let text = |wanted: &Option<LoggedOutput>| {
            wanted
                .as_ref()
                .map_or("nothing".to_owned(), LoggedOutput::to_string)
        };
        writeln!(f, "line {line}, at {at} s, output {output} differs")?;
        writeln!(f, "  expected: {}", text(expected))?;
        write!(f, "  came:     {}", text(came))
    }
}

impl fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").finish_non_exhaustive()
    }
}

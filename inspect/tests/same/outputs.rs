//! The outputs of a run as texts, and their checksums per second.

use std::fmt::{self, Write as _};

use teetap_inspect::{
    DecodedEvent, Decoder, Style, Subscribers, Subscription, Verbosity, Viewer, jsonl, rows,
};
use teetap_kit::world::transcript;
use teetap_proxy::session::{Event, Output, Time};
use teetap_repeatable::checksum;
use teetap_rules::Filter;
use teetap_wire::def::{Registry, Secrets};

/// Names of the outputs, in the order of [`Outputs::texts`].
pub(crate) const NAMES: [&str; 5] = ["core", "rows", "selected", "json", "due"];

/// Filters that select some of the messages: the filter of the run, and the filter of a subscriber.
const FILTERS: [&str; 2] = [
    "(vital or lint or ctrl) and not sv_tune_params",
    "c2s and (input.direction != 0 or cl_say or resend) or any(snap.character.x > 400)",
];

/// Returns the bytes as hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The part of each output that belongs to one second.
pub(crate) struct Second<'o> {
    number: usize,
    parts: Vec<&'o str>,
}

impl fmt::Display for Second<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "second {:2}:", self.number)?;
        for (name, part) in NAMES.iter().zip(&self.parts) {
            let (lines, sum) = (part.lines().count(), checksum(part) & 0xffff_ffff);
            write!(f, " {name} {lines} {sum:08x}")?;
        }
        Ok(())
    }
}

/// Collects the outputs of a run.
pub(crate) struct Outputs {
    /// Decodes all messages.
    whole: Decoder,
    /// Decodes only messages that pass the filters.
    part: Decoder,
    subscription: Subscription,
    texts: [String; NAMES.len()],
    /// Length of each text at the end of each second.
    ends: Vec<[usize; NAMES.len()]>,
}

impl Outputs {
    pub(crate) fn new() -> Self {
        let registry = Registry::builtin();
        let [shown, subscribed] = FILTERS.map(|text| match Filter::parse(text, registry) {
            Ok((filter, _)) => filter,
            Err(errors) => panic!("{text}: {errors:?}"),
        });
        let mut whole = Decoder::new(registry);
        whole.decode_everything();
        whole.follow_changes();
        let mut part = Decoder::new(registry);
        part.show_only(shown);
        let subscribers = Subscribers::default();
        let subscription = subscribers.subscribe(Some(subscribed)).expect("a free slot");
        part.serve(subscribers);
        Self {
            whole,
            part,
            subscription,
            texts: Default::default(),
            ends: Vec::new(),
        }
    }

    fn line(&mut self, name: &str, line: &str) {
        let at = NAMES
            .iter()
            .position(|known| *known == name)
            .expect("a known output");
        self.texts[at].push_str(line);
        self.texts[at].push('\n');
    }

    /// Records an output of the core other than an event.
    pub(crate) fn sent(&mut self, now: u64, output: &Output<'_>) {
        let line = match output {
            Output::ToServer { upstream, bytes } => format!("{now} to server {} {}", upstream.0, hex(bytes)),
            Output::ToClient {
                listener,
                addr,
                bytes,
            } => {
                format!("{now} to client {} {addr} {}", listener.0, hex(bytes))
            }
            other => format!("{now} {other:?}"),
        };
        self.line("core", &line);
    }

    /// Records an event in all outputs.
    pub(crate) fn event(&mut self, event: &Event) {
        self.due(event.at);
        self.line("core", &transcript(event));
        let decoded = self.whole.decode(event.clone());
        self.show(&decoded);
        if let Some(reading) = decoded.reading {
            self.whole.recycle(reading);
        }
        let decoded = self.part.decode(event.clone());
        let viewers = [Viewer::Run, Viewer::Subscriber(self.subscription.slot())];
        for viewer in viewers {
            let style = Style {
                viewer,
                quiet: viewer == Viewer::Run,
                ..Style::default()
            };
            for row in rows(&decoded, style) {
                self.line("selected", row.text());
            }
        }
    }

    /// Records an event as text in every style.
    fn show(&mut self, decoded: &DecodedEvent) {
        let style = Style {
            viewer: Viewer::Everything,
            verbosity: Verbosity::Bytes,
            items: true,
            secrets: Secrets::Show,
            ..Style::default()
        };
        for row in rows(decoded, style) {
            self.line("rows", row.text());
        }
        let style = Style {
            json: true,
            secrets: Secrets::Hide,
            ..style
        };
        let mut json = Vec::new();
        jsonl::event(decoded, style, &mut json);
        self.line("json", String::from_utf8(json).expect("JSON is UTF-8").trim_end());
    }

    /// Records the notices that become due before a time.
    pub(crate) fn due(&mut self, before: Time) {
        while let Some(due) = self.whole.due(before) {
            let mut text = String::new();
            for row in rows(&due, Style::default()) {
                let _infallible = write!(text, "{} ", row.text());
            }
            self.line("due", &text);
        }
        while self.part.due(before).is_some() {}
    }

    /// Marks the end of a second in all outputs.
    pub(crate) fn end_second(&mut self) {
        self.ends.push(self.texts.each_ref().map(String::len));
    }

    /// Returns the outputs with their names.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        NAMES
            .into_iter()
            .zip(self.texts.iter().map(String::as_str))
            .collect()
    }

    /// Returns the outputs of each second.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = Second<'_>> {
        let starts = std::iter::once([0; NAMES.len()]).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .enumerate()
            .map(|(number, (start, end))| Second {
                number,
                parts: (0..NAMES.len())
                    .map(|at| &self.texts[at][start[at]..end[at]])
                    .collect(),
            })
    }
}

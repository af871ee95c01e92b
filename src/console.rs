//! Carries out the requests of the terminal UI.

use std::{
    fs,
    io::{Seek as _, Write as _},
    path::Path,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use teetap_capture::{Run, Target};
use teetap_engine::Handle;
use teetap_inspect::{
    DecodedEvent,
    control::{Command, RuleCommand},
    jsonl::ResultBody,
};
use teetap_proxy::{
    io::{Seen, files::create_new},
    session::Level,
};
use teetap_tui::{App, NoProxy, Reply, Request, RequestError};
use teetap_wire::{printable, printable_path};
use tempfile::NamedTempFile;

use crate::{figure::figure, wake::Wake};

/// Connection from the screen to the proxy, or to the files of a recording.
#[derive(Debug)]
pub(crate) struct Console {
    /// `None` for a recording.
    handle: Option<Handle>,
    reports: mpsc::Sender<Wake>,
    /// Description of the run for saved files.
    run: Run,
    /// Temporary file with the last copied text, which is deleted at the end of the run.
    copied: Option<NamedTempFile>,
    /// Threads that save files. The run joins them at its end, so that the files are complete.
    saving: Vec<JoinHandle<()>>,
}

impl Drop for Console {
    fn drop(&mut self) {
        for thread in self.saving.drain(..) {
            // The thread has printed its panic.
            let _panicked = thread.join();
        }
    }
}

impl Console {
    pub(crate) fn new(handle: Handle, reports: mpsc::Sender<Wake>, run: Run) -> Self {
        Self {
            reports,
            handle: Some(handle),
            run,
            copied: None,
            saving: Vec::new(),
        }
    }

    /// Returns a console without a proxy, which only saves and copies.
    pub(crate) fn of_recording(reports: mpsc::Sender<Wake>, run: Run) -> Self {
        Self {
            handle: None,
            reports,
            run,
            copied: None,
            saving: Vec::new(),
        }
    }

    /// Carries out the pending requests, and the requests that their answers cause.
    pub(crate) fn carry_out(&mut self, app: &mut App) {
        loop {
            let requests = app.take_requests();
            if requests.is_empty() {
                return;
            }
            for request in &requests {
                let result = self.result(request);
                app.answer(request, result);
            }
        }
    }

    fn result(&mut self, request: &Request) -> Result<Reply, RequestError> {
        match request {
            Request::Save { path, events } => return self.save(path, events.clone()),
            Request::Copy(text) => return self.copy(text),
            Request::Run(_) | Request::RunAll(_) => {}
        }
        let Some(handle) = &self.handle else {
            return Err(NoProxy.into());
        };
        let mut reply = done("", &[]);
        for command in request.commands() {
            let result = handle.carry_out(command).result;
            let result = result.map_err(|error| RequestError::Refused(error.into()))?;
            reply = answer(command, result);
        }
        Ok(reply)
    }

    /// Writes events to a new file on a thread of its own, which reports the result.
    fn save(&mut self, path: &str, events: Vec<Arc<DecodedEvent>>) -> Result<Reply, RequestError> {
        let failed = |cause| RequestError::Save {
            path: path.to_owned(),
            cause,
        };
        let target = Target::parse(path).map_err(|why| failed(why.into()))?;
        if target.is_stdout() {
            return Err(failed("name a file".into()));
        }
        let mut file = create_new(Path::new(path)).map_err(|error| failed(error.into()))?;
        let count = events.len();
        let (run, reports, name) = (self.run.clone(), self.reports.clone(), path.to_owned());
        let write = move || {
            let mut encoder = target.encoder(run);
            let mut bytes = Vec::new();
            encoder.start(&mut bytes);
            for event in events {
                let at = event.event.at;
                encoder.seen(&Seen::Event(event), at, &mut bytes);
            }
            let (level, text) = match file.write_all(&bytes) {
                Ok(()) => (Level::Info, format!("saved {count} events to {name}")),
                Err(error) => {
                    let _incomplete = fs::remove_file(&name);
                    (Level::Warning, format!("cannot save to '{name}': {error}"))
                }
            };
            // The run may already have ended.
            let _ended = reports.send(Wake::Report(level, text));
        };
        let thread = thread::Builder::new()
            .name("save".into())
            .spawn(write)
            .map_err(|error| failed(error.into()))?;
        self.saving.retain(|thread| !thread.is_finished());
        self.saving.push(thread);
        Ok(done(&format!("saving to {path}"), &[]))
    }

    /// Writes the copied text to a file that only the user can read.
    fn copy(&mut self, text: &str) -> Result<Reply, RequestError> {
        let copied = match &mut self.copied {
            Some(file) => file,
            none => {
                let mut named = tempfile::Builder::new();
                named.prefix("teetap-copy-").suffix(".txt");
                none.insert(named.tempfile().map_err(RequestError::Copy)?)
            }
        };
        let path = copied.path().to_owned();
        let file = copied.as_file_mut();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(RequestError::Copy)?;
        let text = format!(
            "copied by OSC 52; until the end of the run also in {}",
            printable_path(&path)
        );
        Ok(done(&text, &[]))
    }
}

/// Returns the reply to a successful command.
fn answer(command: &Command, result: ResultBody) -> Reply {
    match result {
        ResultBody {
            rules: Some(list), ..
        } => Reply::Rules(list),
        ResultBody { held: Some(list), .. } => Reply::Held(list),
        result => match figures(&result) {
            text if text.is_empty() => done(said(command), &result.warnings),
            text => done(&text, &result.warnings),
        },
    }
}

/// Returns the results that the screen has no place for, each with its name; empty if there are none.
fn figures(result: &ResultBody) -> String {
    let object = serde_json::to_value(result).unwrap_or_default();
    let results = object.as_object().into_iter().flatten();
    let results = results.filter(|(name, value)| *name != "warnings" && !value.is_null());
    let texts: Vec<String> = results
        .map(|(name, value)| figure(name, value).join(" "))
        .collect();
    printable(texts.join("; ").as_bytes())
}

/// Returns the sentence about a successful command; empty if the screen shows the effect.
fn said(command: &Command) -> &'static str {
    match command {
        Command::Inject(_) => "sent",
        Command::Release(_) => "released",
        Command::Drop(_) => "dropped",
        Command::Edit(_) => "changed; it is still held",
        Command::Close { .. } => "closed",
        Command::Stop {} => "ending the run",
        Command::Resync { .. } => "requested a complete snapshot from the server",
        Command::Rules { change: Some(change) } => match change {
            RuleCommand::Add { .. } => "added",
            RuleCommand::Replace { .. } => "replaced",
            RuleCommand::Swap { .. } => "swapped",
            RuleCommand::Remove { .. } => "removed",
            RuleCommand::On { .. } => "on",
            RuleCommand::Off { .. } => "off",
            // The screen shows the rules.
            RuleCommand::List => "",
        },
        _ => "done",
    }
}

fn done(text: &str, warnings: &[String]) -> Reply {
    let warnings: String = warnings
        .iter()
        .map(|warning| format!("; warning: {warning}"))
        .collect();
    Reply::Done(format!("{text}{warnings}").trim_start_matches("; ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The screen shows each change of a rule, but not whether its command was carried out.
    #[test]
    fn each_change_of_the_rules_has_a_sentence() {
        let (name, text) = (|| "a".to_owned(), || "drop".to_owned());
        let changes = [
            (RuleCommand::Add { text: text() }, "added"),
            (
                RuleCommand::Replace {
                    name: name(),
                    text: text(),
                },
                "replaced",
            ),
            (
                RuleCommand::Swap {
                    name: name(),
                    with: name(),
                },
                "swapped",
            ),
            (RuleCommand::Remove { name: name() }, "removed"),
            (RuleCommand::On { name: name() }, "on"),
            (RuleCommand::Off { name: name() }, "off"),
        ];
        for (change, sentence) in changes {
            let command = Command::Rules { change: Some(change) };
            match answer(&command, ResultBody::default()) {
                Reply::Done(text) => assert_eq!(text, sentence),
                other => panic!("{command:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_result_without_a_place_on_the_screen_is_shown() {
        let text = |result| match answer(&Command::Sessions {}, result) {
            Reply::Done(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(text(ResultBody::default()), "done");
        let result = ResultBody {
            warnings: vec!["unused".to_owned()],
            sessions: Some(Vec::new()),
            ..ResultBody::default()
        };
        assert_eq!(text(result), "sessions []; warning: unused");
    }
}

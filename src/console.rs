//! Requests of the terminal UI, carried out.

use std::{
    fs,
    io::{self, Seek as _, Write as _},
    path::Path,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use teetap_capture::{Run, Target};
use teetap_inspect::{DecodedEvent, jsonl::RuleBody};
use teetap_proxy::{
    io::{Seen, files::create_new},
    session::{Level, SessionId},
};
use teetap_tui::{
    App,
    request::{Reply, Request, Rule},
};
use teetap_wire::printable_path;
use tempfile::NamedTempFile;

use crate::{
    orders::{Form, Orders, edited},
    wake::Wake,
};

/// The way from the screen to the proxy, or to the files of a recording.
#[derive(Debug)]
pub(crate) struct Console {
    /// `None` for a recording.
    orders: Option<Orders>,
    reports: mpsc::Sender<Wake>,
    /// The run, as recordings name it.
    run: Run,
    /// The file of the last text that was copied, until the end of the run.
    copied: Option<NamedTempFile>,
    /// The threads that save: the run ends after them, so that files are whole.
    saving: Vec<JoinHandle<()>>,
}

impl Drop for Console {
    fn drop(&mut self) {
        for thread in self.saving.drain(..) {
            // A panic was printed by its thread.
            let _panicked = thread.join();
        }
    }
}

impl Console {
    pub(crate) fn new(orders: Orders, run: Run) -> Self {
        Self {
            reports: orders.reports.clone(),
            orders: Some(orders),
            run,
            copied: None,
            saving: Vec::new(),
        }
    }

    /// A console without a proxy, which saves and copies.
    pub(crate) fn of_recording(reports: mpsc::Sender<Wake>, run: Run) -> Self {
        Self {
            orders: None,
            reports,
            run,
            copied: None,
            saving: Vec::new(),
        }
    }

    /// Carries out the requests that wait, and those that follow from the answers.
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

    fn result(&mut self, request: &Request) -> Result<Reply, String> {
        match request {
            Request::Save { path, events } => return self.save(path, events.clone()),
            Request::Copy(text) => return self.copy(text),
            _ => {}
        }
        let Some(orders) = &self.orders else {
            return Err("this screen shows a recording: there is no proxy".to_owned());
        };
        match request {
            Request::Inject { session, text } => {
                let (form, warnings) = Form::read(text, orders.registry)?;
                let listed = orders.choose(session.map(number))?;
                orders.inject(listed.id, form.made(listed.proto)?)?;
                Ok(done("sent", &warnings))
            }
            Request::Send { session, message } => {
                orders.inject(*session, message.clone())?;
                Ok(done("sent", &[]))
            }
            Request::Held => orders.held(None).map(|held| Reply::Held(held.into_vec())),
            Request::Release(waiting) => orders.release(waiting).map(|()| done("released", &[])),
            Request::Drop(waiting) => orders.drop_held(waiting).map(|()| done("dropped", &[])),
            Request::Edit(waiting, text) => {
                let (data, warnings) = edited(text, waiting, orders.registry)?;
                orders.edit(waiting, data)?;
                Ok(done("changed; it is still held", &warnings))
            }
            Request::Rules => {
                let rules = orders.list_rules()?;
                Ok(Reply::Rules(rules.into_iter().map(rule).collect()))
            }
            Request::AddRule(text) => {
                let warnings = orders.change(|rules| rules.add("screen", text))?;
                Ok(done("added", &warnings))
            }
            Request::ReplaceRule { name, text } => {
                let warnings = orders.change(|rules| rules.replace(name, text))?;
                Ok(done("", &warnings))
            }
            Request::RemoveRule(name) => {
                let warnings = orders.change(|rules| rules.remove(name))?;
                Ok(done("removed", &warnings))
            }
            Request::SwapRules(one, other) => {
                let warnings = orders.change(|rules| rules.swap(one, other))?;
                Ok(done("", &warnings))
            }
            Request::SwitchRules { names, on } => {
                names.iter().try_for_each(|name| orders.switch(name, *on))?;
                Ok(done(if *on { "on" } else { "off" }, &[]))
            }
            Request::Close { session, reason } => {
                let listed = orders.choose(session.map(number))?;
                orders.close(Some(listed.id), None, reason.clone().into_bytes())?;
                Ok(done("closed", &[]))
            }
            Request::Resync { session } => {
                let listed = orders.choose(session.map(number))?;
                orders.resync(listed.id)?;
                Ok(done("requested a complete snapshot from the server", &[]))
            }
            // Above.
            Request::Save { .. } | Request::Copy(_) => Ok(done("", &[])),
        }
    }

    /// Writes events to a new file, on a thread of its own; the end is reported.
    fn save(&mut self, path: &str, events: Vec<Arc<DecodedEvent>>) -> Result<Reply, String> {
        let target = Target::parse(path).map_err(|why| format!("cannot save to '{path}': {why}"))?;
        let failed = |error: io::Error| format!("cannot save to '{path}': {error}");
        let mut file = create_new(Path::new(path)).map_err(failed)?;
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
            // The run may be over.
            let _ended = reports.send(Wake::Report(level, text));
        };
        let thread = thread::Builder::new()
            .name("save".into())
            .spawn(write)
            .map_err(failed)?;
        self.saving.retain(|thread| !thread.is_finished());
        self.saving.push(thread);
        Ok(done(&format!("saving to {path}"), &[]))
    }

    /// Keeps a text in a file that only the user can read.
    fn copy(&mut self, text: &str) -> Result<Reply, String> {
        let failed = |error: io::Error| format!("copied by OSC 52; cannot write a file: {error}");
        let copied = match &mut self.copied {
            Some(file) => file,
            none => {
                let mut named = tempfile::Builder::new();
                named.prefix("teetap-copy-").suffix(".txt");
                none.insert(named.tempfile().map_err(failed)?)
            }
        };
        let path = copied.path().to_owned();
        let file = copied.as_file_mut();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(failed)?;
        let text = format!(
            "copied by OSC 52; until the end of the run also in {}",
            printable_path(&path)
        );
        Ok(done(&text, &[]))
    }
}

const fn number(session: SessionId) -> u32 {
    session.0
}

fn done(text: &str, warnings: &[String]) -> Reply {
    let warnings: String = warnings
        .iter()
        .map(|warning| format!("; warning: {warning}"))
        .collect();
    Reply::Done(format!("{text}{warnings}").trim_start_matches("; ").to_owned())
}

fn rule(body: RuleBody) -> Rule {
    Rule {
        name: body.name,
        text: body.text,
        from: body.from,
        on: body.on,
        hits: body.hits,
        last: body.last_hit,
    }
}

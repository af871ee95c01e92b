//! `teetap report FILE`: a recording summed up as Markdown.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use teetap_capture::{
    Format, Item, ReadError, Run, Tally,
    reading::{Recording, ahead::Reader},
    scrub::{Keep, Scrubber},
};
use teetap_inspect::{
    explain,
    report::{Collected, Collector, Ladder, Place, page::Page},
};
use teetap_proxy::{
    io::files::{PATIENCE, PipeWriter, is_pipe},
    session::{EventKind, SessionId},
};
use teetap_wire::{
    def::{Registry, Secrets},
    printable_path,
};

use super::file;
use crate::{
    cli::ReportOptions,
    exit::{Exit, Failure},
    output::{self, print},
    repeat::quoted,
};

/// Runs the command.
///
/// # Errors
/// A file cannot be opened or written, or is not a recording; no output is left then. The readable part of a damaged
/// recording is summed up, with a warning.
pub(crate) fn report(options: &ReportOptions) -> anyhow::Result<Exit> {
    let registry = options.contents.registry()?;
    let source = Source::open(options)?;
    let shown = printable_path(file::shown(&options.file));
    let mut filter = Filter::new(options, registry);
    if let Some(scrubber) = &mut filter.scrubber
        && options.keep_text
    {
        // Texts of rules precede the traffic that shows which of them are secrets.
        source.each(&mut |item| {
            if let Item::Event(event) = item {
                let _replaced = scrubber.event(event);
            }
            true
        })?;
    }
    filter.know_secrets(options, registry);
    let only = options.session.map(SessionId);
    let read = collect(&source, &mut filter, (registry, only))?;
    if let Some(error @ ReadError::Unknown(_)) = &read.damage
        && read.items <= 1
    {
        return Err(Failure::damaged(format!("{shown}: {error}")).into());
    }
    read.must_be_worth_it(options, &shown)?;
    let around = read
        .place()
        .map(|place| around(&source, &mut filter, registry, place));
    let (ladder, bytes) = around.transpose()?.unzip();
    let explanations = match (
        ladder.as_ref().and_then(|ladder| ladder.found.as_ref()),
        bytes.flatten(),
    ) {
        (Some(found), Some(bytes)) => {
            let options = explain::Options {
                registry,
                secrets: options.contents.secrets(),
                proto: Some(found.proto),
                dir: Some(found.dir),
            };
            explain::explain(&bytes, options)
        }
        _ => Vec::new(),
    };
    let damage = read.damage.as_ref().map(ToString::to_string);
    let name = options.file.file_name().unwrap_or_else(|| OsStr::new("stdin"));
    let name = if options.file == Path::new(file::STDIN) {
        "stdin".into()
    } else {
        printable_path(name)
    };
    let repeat = repeat(&read, options, &name);
    let page = Page {
        file: &name,
        version: env!("CARGO_PKG_VERSION"),
        run: read.run.as_ref(),
        tally: read.tally,
        damage: damage.as_deref(),
        numbers: &read.numbers,
        texts: read.texts.as_ref(),
        is_scrubbed: filter.scrubber.is_some() && !options.keep_text,
        only: options.session,
        ladder: ladder.as_ref(),
        explanations: &explanations,
        repeat: &repeat,
    };
    write(options.output.as_deref(), &page.text())?;
    if let Some(error) = damage {
        output::print_status(&format!(
            "teetap: warning: {shown}: {error}; the report is about the part before it"
        ));
        return Ok(Exit::Damaged);
    }
    Ok(Exit::Ok)
}

/// A recording that can be read several times.
struct Source<'a> {
    options: &'a ReportOptions,
    /// Copy of stdin, or of a pipe; `None` for a file.
    copy: Option<File>,
}

impl<'a> Source<'a> {
    fn open(options: &'a ReportOptions) -> Result<Self, Failure> {
        let shown = printable_path(file::shown(&options.file));
        let cannot = |error: io::Error| Failure::network(format!("cannot read {shown}: {error}"));
        let mut input = file::open(options.quiet, &options.file)?;
        let mut copy = None;
        if input.is_live {
            // Refuses an endless device before it is copied.
            Format::detect(&mut input.bytes)
                .map_err(|error| Failure::damaged(format!("{shown}: {error}")))?;
            let mut file = tempfile::tempfile().map_err(cannot)?;
            io::copy(&mut input.bytes, &mut file).map_err(cannot)?;
            copy = Some(file);
        }
        Ok(Self { options, copy })
    }

    /// Passes every item to `each`, until it returns false. Returns the totals, and the damage that ended the reading.
    fn each(&self, each: &mut dyn FnMut(Item) -> bool) -> Result<(Tally, Option<ReadError>), Failure> {
        let options = self.options;
        let shown = printable_path(file::shown(&options.file));
        let input = match &self.copy {
            Some(copy) => copy
                .try_clone()
                .and_then(file::of_file)
                .map_err(|error| Failure::network(format!("cannot read {shown}: {error}")))?,
            None => file::open(options.quiet, &options.file)?,
        };
        let progress = input.progress;
        let recording = Recording::open(input.bytes);
        let recording = recording.map_err(|error| Failure::damaged(format!("{shown}: {error}")))?;
        let mut recording = Reader::Direct(recording);
        let damage = loop {
            match recording.read() {
                Ok(Some(item)) => {
                    if !each(item) {
                        break None;
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        if let Some(progress) = progress {
            progress.end();
        }
        Ok((recording.tally(), damage))
    }
}

/// Replaces what the report must not show.
struct Filter {
    /// `None` if everything is shown.
    scrubber: Option<Scrubber>,
}

impl Filter {
    fn new(options: &ReportOptions, registry: &'static Registry) -> Self {
        let shows_all = options.contents.secrets() == Secrets::Show;
        let keep = Keep {
            unknown: false,
            text: options.keep_text,
        };
        Self {
            scrubber: (!shows_all).then(|| Scrubber::new(registry, keep)),
        }
    }

    /// Replaces the scrubber of a first reading by one that knows all secrets of the recording.
    fn know_secrets(&mut self, options: &ReportOptions, registry: &'static Registry) {
        if options.keep_text
            && let Some(finder) = self.scrubber.take()
        {
            let keep = Keep {
                unknown: false,
                text: true,
            };
            self.scrubber = Some(Scrubber::new(registry, keep).with_secrets(finder.into_secrets()));
        }
    }

    /// Returns an item with placeholders.
    fn item(&mut self, item: Item) -> Item {
        let Some(scrubber) = &mut self.scrubber else {
            return item;
        };
        match item {
            Item::Start { wall, mut run } => {
                if let Some(run) = &mut run {
                    scrubber.run(run);
                }
                Item::Start { wall, run }
            }
            Item::Event(event) => {
                let link = match &event.what {
                    EventKind::Datagram(datagram) => datagram.link.clone(),
                    _ => Box::default(),
                };
                let mut event = scrubber.event(event);
                // The effects of link lines contain no text.
                if let EventKind::Datagram(datagram) = &mut event.what {
                    datagram.link = link;
                }
                Item::Event(event)
            }
            Item::Log { at, level, text } => {
                let text = scrubber.text(&text);
                Item::Log { at, level, text }
            }
            gap @ Item::Gap { .. } => gap,
        }
    }
}

impl Filter {
    /// Returns the bytes of a datagram whose texts are replaced by placeholders; `None` if the item is not a datagram, or
    /// the datagram cannot be read.
    fn datagram(&mut self, item: Item) -> Option<Vec<u8>> {
        let blanked = |filter: &Self| filter.scrubber.as_ref().map(|scrubber| scrubber.tally().blanked);
        let before = blanked(self);
        let item = self.item(item);
        let is_readable = blanked(self) == before;
        let Item::Event(event) = item else { return None };
        let EventKind::Datagram(datagram) = event.what else {
            return None;
        };
        let bytes = datagram.received().or_else(|| datagram.sent().next());
        bytes.filter(|_| is_readable).map(<[u8]>::to_vec)
    }
}

/// A recording that was read.
struct Read {
    /// The recording as it is.
    numbers: Collected,
    /// The recording as it is shown; `None` if everything is shown.
    texts: Option<Collected>,
    /// The last run, as it is shown.
    run: Option<Run>,
    /// The command line that the last run names for its repetition.
    repeat: Option<String>,
    tally: Tally,
    damage: Option<ReadError>,
    items: u64,
}

impl Read {
    /// Refuses a recording without traffic, and a session that it does not have.
    fn must_be_worth_it(&self, options: &ReportOptions, shown: &str) -> Result<(), Failure> {
        if let Some(session) = options.session
            && !self.numbers.has_sessions()
        {
            return Err(Failure::usage(format!("{shown} has no session {session}")));
        }
        let has_any = self.numbers.bits.datagrams > 0 || !self.numbers.findings.list.is_empty();
        if has_any || self.run.is_some() || self.damage.is_some() {
            return Ok(());
        }
        let why = match self.tally.foreign + self.tally.other {
            0 => "it is empty".to_owned(),
            count => format!("{count} other packets"),
        };
        Err(Failure::usage(format!(
            "cannot report on {shown}: it has no datagram of the game: {why}"
        )))
    }

    /// Returns the place of the first finding that is in a session.
    fn place(&self) -> Option<Place> {
        self.numbers.findings.list.first().and_then(Place::of)
    }
}

/// Reads the whole recording.
fn collect(
    source: &Source<'_>,
    filter: &mut Filter,
    (registry, only): (&'static Registry, Option<SessionId>),
) -> Result<Read, Failure> {
    let secrets = match filter.scrubber {
        Some(_) => Secrets::Hide,
        None => Secrets::Show,
    };
    let new = || Collector::new(registry, secrets, only);
    let mut numbers = new();
    let mut texts = filter.scrubber.is_some().then(new);
    let (mut run, mut repeat, mut items) = (None, None, 0);
    let (tally, damage) = source.each(&mut |item| {
        items += 1;
        let shown = match &mut texts {
            Some(texts) => {
                let shown = filter.item(copy(&item));
                learn(&shown, &mut run, &mut repeat);
                texts.record(shown);
                None
            }
            None => Some(()),
        };
        if shown.is_some() {
            learn(&item, &mut run, &mut repeat);
        }
        numbers.record(item);
        true
    })?;
    Ok(Read {
        numbers: numbers.finish(),
        texts: texts.map(Collector::finish),
        run,
        repeat,
        tally,
        damage,
        items,
    })
}

/// Learns the metadata of a run from a shown item.
fn learn(item: &Item, run: &mut Option<Run>, repeat: &mut Option<String>) {
    match item {
        Item::Start { run: started, .. } => {
            run.clone_from(started);
            *repeat = None;
        }
        Item::Log { text, .. } => {
            let line = text.lines().find_map(|line| line.split_once("repeat: "));
            if let Some((_, line)) = line {
                *repeat = Some(line.to_owned());
            }
        }
        _ => {}
    }
}

fn copy(item: &Item) -> Item {
    match item {
        Item::Start { wall, run } => Item::Start {
            wall: *wall,
            run: run.clone(),
        },
        Item::Event(event) => Item::Event(event.clone()),
        Item::Log { at, level, text } => Item::Log {
            at: *at,
            level: *level,
            text: text.clone(),
        },
        Item::Gap { at, lost } => Item::Gap { at: *at, lost: *lost },
    }
}

/// Collects the messages around a place. Also returns the bytes of its datagram that may be shown; `None` if there is
/// no datagram, or if its texts cannot be found.
fn around(
    source: &Source<'_>,
    filter: &mut Filter,
    registry: &'static Registry,
    place: Place,
) -> Result<(Ladder, Option<Vec<u8>>), Failure> {
    let mut ladder = Ladder::new(registry, place);
    let mut bytes = None;
    source.each(&mut |item| {
        let had = ladder.found.is_some();
        let shown = copy(&item);
        ladder.record(item);
        if !had && ladder.found.is_some() {
            bytes = filter.datagram(shown);
        }
        !ladder.is_complete()
    })?;
    ladder.finish();
    Ok((ladder, bytes))
}

/// Returns the command lines that repeat the run, or show the recording.
fn repeat(read: &Read, options: &ReportOptions, name: &str) -> String {
    let name = quoted(OsStr::new(name));
    let hides = options.contents.secrets() == Secrets::Hide && !options.keep_text;
    let run = match (&read.repeat, &read.run) {
        (Some(line), _) if !hides => format!("{line}\n"),
        (_, Some(run)) if hides => format!(
            "# the server, options and rules are hidden: --show-secrets shows the whole line\nteetap run SERVER --seed {}\n",
            run.seed
        ),
        (_, Some(run)) => format!(
            "teetap run {} --seed {}\n",
            quoted(OsStr::new(&run.target)),
            run.seed
        ),
        _ => String::new(),
    };
    let first = read.numbers.findings.list.first();
    let filter = first.and_then(|finding| finding.filter());
    let filter = filter.map_or(String::new(), |filter| {
        let code = first.map_or(String::new(), |finding| finding.topic.to_string());
        format!(
            "teetap open {name} -f {}\nteetap explain {code}\n",
            quoted(OsStr::new(&filter))
        )
    });
    format!("{run}teetap judge {name}\n{filter}")
}

/// Writes the report to a file or to stdout.
fn write(output: Option<&Path>, text: &str) -> Result<(), anyhow::Error> {
    let Some(path) = output.filter(|path| *path != Path::new("-")) else {
        print(text)?;
        return Ok(());
    };
    let cannot = |error: &io::Error| {
        let error = error.to_string();
        // Leaves out the name of the temporary file.
        let why = error.split_once(" at path ").map_or(&*error, |(why, _)| why);
        Failure::network(format!("cannot write {}: {why}", printable_path(path)))
    };
    if is_pipe(path) {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::network(format!("cannot write {}: {error}", printable_path(path)))
        };
        let mut pipe = PipeWriter::open(path, PATIENCE).map_err(|error| failed(&error))?;
        return match pipe.write_all(text.as_bytes()) {
            // Like stdout, a pipe whose reader has read enough is no error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(&error).into()),
            _ => Ok(()),
        };
    }
    if fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
        // A device cannot be replaced.
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(|error| cannot(&error))?;
        return Ok(file.write_all(text.as_bytes()).map_err(|error| cannot(&error))?);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(".part")
        .tempfile_in(folder);
    let mut file = file.map_err(|error| cannot(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| cannot(&error))?;
    file.persist(path).map_err(|error| cannot(&error.error))?;
    Ok(())
}

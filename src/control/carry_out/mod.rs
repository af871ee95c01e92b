//! Commands carried out: by the core, or on the rules of the run.
//!
//! Law: each gets one result. A command that names no session is about the only one that is online.

use serde_json::{Map, Value};
use teetap_inspect::{
    Verbosity,
    jsonl::{ListedBody, ResultBody, RuleBody, StatsBody, WaitingBody},
};
use teetap_proxy::{
    io::Request,
    session::{Command as Core, Held, Level, Listed, SessionId, State, Time, Waiting, WhichRule},
};
use teetap_rules::{
    Diagnostic, Draft, Filter, Made, Span,
    syntax::{Expr, Kind},
};
use teetap_wire::{
    Dir, Proto, Side,
    def::{Field, Registry},
    printable,
};

use super::{
    Parts, Shared,
    request::{self, Close, Command, Direction, Inject, Sides, Subscribe},
};
use crate::rules::{Change, Rules, one_line};

/// The maximum number of bytes of an injected message: no chunk is larger.
const MAX_MESSAGE: usize = 1400;

/// The maximum number of sessions that an error lists.
const LISTED: usize = 8;

/// The answer to a command.
pub(super) struct Reply {
    /// The session that it was about.
    pub(super) session: Option<u32>,
    pub(super) result: Result<ResultBody, String>,
}

/// The result of a command, or the reason why it is refused.
type Outcome = Result<ResultBody, String>;

/// Carries out a command.
pub(super) fn carry_out(command: Command, shared: &Shared) -> Reply {
    let mut session = None;
    let result = match command {
        // They belong to the connection.
        Command::Subscribe(_) | Command::Unsubscribe => Ok(ResultBody::default()),
        Command::Sessions => sessions(shared),
        Command::Stats => stats(shared),
        Command::Inject(wanted) => inject(&wanted, shared, &mut session),
        Command::Close(wanted) => close(wanted, shared, &mut session),
        Command::Resync(wanted) => choose(shared, wanted.session, &mut session)
            .and_then(|listed| ask(shared, Core::Resync { session: listed.id })),
        Command::Held(wanted) => held(shared, wanted.session, &mut session),
        Command::Release(wanted) => find(shared, wanted, &mut session).and_then(|waiting| {
            let held = Held::One(waiting.dir, waiting.held);
            let session = waiting.session;
            ask(shared, Core::Release { session, held })
        }),
        Command::Edit(wanted) => edit(&wanted, shared, &mut session),
        Command::Drop(wanted) => find(shared, wanted, &mut session).and_then(|waiting| {
            let Waiting {
                session, dir, held, ..
            } = waiting;
            ask(shared, Core::Drop { session, dir, held })
        }),
        Command::Rules => rules(shared),
        Command::RuleAdd(wanted) => shared.change(|rules| rules.add(&wanted.text)),
        Command::RuleReplace(wanted) => shared.change(|rules| rules.replace(&wanted.name, &wanted.text)),
        Command::RuleRemove(wanted) => shared.change(|rules| rules.remove(&wanted.name)),
        Command::RuleOn(wanted) => switch(shared, &wanted.name, true),
        Command::RuleOff(wanted) => switch(shared, &wanted.name, false),
    };
    Reply { session, result }
}

impl Shared {
    fn rules<T>(&self, act: impl FnOnce(&mut Rules) -> T) -> T {
        act(&mut self.parts.rules.lock())
    }

    /// Changes the rules, and returns once the change has its effect.
    fn change(&self, act: impl FnOnce(&Rules) -> Result<Change, String>) -> Outcome {
        let commands = &self.parts.commands;
        // Under the lock, so that programs are set in the order of the changes.
        let (what, warnings) = self.rules(|rules| {
            let change = act(rules)?;
            let program = Request::Program(Some(change.program()));
            commands.send(program).map_err(|busy| busy.to_string())?;
            Ok::<_, String>(rules.accept(change))
        })?;
        commands.look().map_err(|busy| busy.to_string())?;
        self.report(Level::Info, format!("control socket: {what}"));
        Ok(ResultBody {
            warnings,
            ..ResultBody::default()
        })
    }
}

/// Lists the rules, with the state of those that are set.
fn rules(shared: &Shared) -> Outcome {
    // Under the lock, so that the report is of the same rules.
    let (list, report) = shared.rules(|rules| (rules.list(), shared.parts.commands.report()));
    let report = report.map_err(|busy| busy.to_string())?;
    let body = |(mut body, place): (RuleBody, Span)| {
        for rule in report.rules.iter().filter(|rule| is_in(rule.place, place)) {
            body.on = rule.is_enabled;
            body.hits = Some(rule.hits.count);
            body.last_hit = rule.hits.last.map(|hit| Time(hit.at));
        }
        let mut lines = report.lines.iter().filter(|line| is_in(line.place, place));
        body.on &= lines.all(|line| line.is_enabled);
        body
    };
    Ok(ResultBody {
        rules: Some(list.into_iter().map(body).collect()),
        ..ResultBody::default()
    })
}

/// Switches what a statement sets on or off: a rule, a link line, or the link lines of a profile.
fn switch(shared: &Shared, name: &str, on: bool) -> Outcome {
    // Under the lock, so that the numbers are of the same rules.
    let result = shared.rules(|rules| {
        let place = rules.place(name)?;
        let report = shared.parts.commands.report().map_err(|busy| busy.to_string())?;
        let of_rules = report.rules.iter().filter(|rule| is_in(rule.place, place));
        let mut targets: Vec<WhichRule> = of_rules.map(|rule| WhichRule::Number(rule.id)).collect();
        let of_lines = report.lines.iter().filter(|line| is_in(line.place, place));
        targets.extend(of_lines.map(|line| WhichRule::Line(line.id)));
        targets.dedup();
        if targets.is_empty() {
            return Err(format!("{name} is neither a rule nor a link line"));
        }
        for rule in targets {
            ask(shared, Core::Toggle { rule, enabled: on })?;
        }
        rules.note_switch();
        Ok(ResultBody::default())
    });
    if result.is_ok() {
        let way = if on { "on" } else { "off" };
        shared.report(
            Level::Info,
            format!("control socket: switched {way} {}", one_line(name)),
        );
    }
    result
}

/// Returns true if a rule or link line belongs to a statement.
const fn is_in(place: Span, statement: Span) -> bool {
    statement.start <= place.start && place.end <= statement.end
}

fn sessions(shared: &Shared) -> Outcome {
    let look = shared.parts.commands.look().map_err(|busy| busy.to_string())?;
    Ok(ResultBody {
        sessions: Some(look.sessions.iter().map(ListedBody::from).collect()),
        ..ResultBody::default()
    })
}

fn stats(shared: &Shared) -> Outcome {
    let look = shared.parts.commands.look().map_err(|busy| busy.to_string())?;
    let (connections, subscribed) = shared.load();
    Ok(ResultBody {
        stats: Some(StatsBody::new(&look, connections, subscribed)),
        ..ResultBody::default()
    })
}

/// Sends a command to the core and waits for its answer.
fn ask(shared: &Shared, command: Core) -> Outcome {
    list(shared, command).map(|_| ResultBody::default())
}

/// Sends a command to the core. Returns the held messages that its answer lists.
fn list(shared: &Shared, command: Core) -> Result<Box<[Waiting]>, String> {
    let answer = shared.parts.commands.ask(command);
    let answer = answer.map_err(|busy| busy.to_string())?;
    answer.result.map_err(std::borrow::Cow::into_owned)?;
    Ok(answer.held.unwrap_or_default())
}

/// Lists what is held in one session, or in all.
fn held(shared: &Shared, wanted: Option<u32>, session: &mut Option<u32>) -> Outcome {
    *session = wanted;
    let command = Core::List {
        session: wanted.map(SessionId),
    };
    let Parts {
        registry, secrets, ..
    } = shared.parts;
    let list = list(shared, command)?;
    let body = |waiting: &Waiting| WaitingBody::decoded(waiting, registry, secrets);
    Ok(ResultBody {
        held: Some(list.iter().map(body).collect()),
        ..ResultBody::default()
    })
}

/// Returns the one message that is held under a number. Notes its session in `session`.
fn find(shared: &Shared, wanted: request::Waiting, session: &mut Option<u32>) -> Result<Waiting, String> {
    let list = list(shared, Core::List { session: None })?;
    let found = only(&list, wanted)?;
    *session = Some(found.session.0);
    Ok(found.clone())
}

fn only(list: &[Waiting], wanted: request::Waiting) -> Result<&Waiting, String> {
    let dir = wanted.dir.map(Dir::from);
    let is_meant = |waiting: &&Waiting| {
        waiting.held.0 == wanted.held
            && wanted.session.is_none_or(|session| waiting.session.0 == session)
            && dir.is_none_or(|dir| waiting.dir == dir)
    };
    let found: Vec<&Waiting> = list.iter().filter(is_meant).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] => Err(format!("no message is held under {}", wanted.held)),
        several => {
            let place = |waiting: &&Waiting| format!("{}/{}", waiting.session.0, waiting.dir);
            let places: Vec<String> = several.iter().take(LISTED).map(place).collect();
            let (count, places) = (several.len(), places.join(", "));
            let held = wanted.held;
            Err(format!(
                "{count} messages are held under {held}; name session and direction: {places}"
            ))
        }
    }
}

/// Replaces the contents of a held message.
fn edit(wanted: &request::Edit, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    let place = request::Waiting {
        held: wanted.held,
        session: wanted.session,
        dir: wanted.dir,
    };
    let registry = shared.parts.registry;
    let waiting = find(shared, place, session)?;
    let (data, warnings) = edited(wanted, &waiting, registry)?;
    let Waiting {
        session, dir, held, ..
    } = waiting;
    let command = Core::Edit {
        session,
        dir,
        held,
        data: data.into(),
    };
    let result = ask(shared, command)?;
    Ok(ResultBody { warnings, ..result })
}

/// Returns the new bytes of a held message, and the warnings about them.
fn edited(
    wanted: &request::Edit,
    waiting: &Waiting,
    registry: &'static Registry,
) -> Result<(Vec<u8>, Vec<String>), String> {
    let text = match wanted {
        request::Edit {
            message: Some(text),
            fields: None,
            hex: None,
            ..
        } => text.clone(),
        request::Edit {
            message: None,
            fields: Some(fields),
            hex: None,
            ..
        } => {
            let found = registry.message(waiting.proto, waiting.dir, &waiting.data);
            let found = found.filter(|found| !found.unknown);
            let found =
                found.ok_or_else(|| "the message is unknown: replace its bytes with hex".to_owned())?;
            written(&found.def.name, Some(fields), registry)?
        }
        request::Edit {
            message: None,
            fields: None,
            hex: Some(hex),
            ..
        } => return Ok((bytes(waiting.dir, waiting.vital, hex)?.data, Vec::new())),
        _ => return Err("invalid edit: expected one of message, fields and hex".to_owned()),
    };
    let (draft, warnings) = Draft::edit(&text, registry).map_err(|errors| lines(&errors).join("; "))?;
    let data = draft.edited(waiting.proto, waiting.dir, &waiting.data)?;
    Ok((data, lines(&warnings)))
}

/// Returns the session of this number, or the only one that is online. Notes its number in `session`.
fn choose(shared: &Shared, wanted: Option<u32>, session: &mut Option<u32>) -> Result<Listed, String> {
    let look = shared.parts.commands.look().map_err(|busy| busy.to_string())?;
    let chosen = pick(&look.sessions, wanted)?;
    *session = Some(chosen.id.0);
    Ok(*chosen)
}

fn pick(sessions: &[Listed], wanted: Option<u32>) -> Result<&Listed, String> {
    let online: Vec<&Listed> = sessions
        .iter()
        .filter(|listed| listed.state == State::Online)
        .collect();
    match (wanted, online.as_slice()) {
        (Some(number), _) => sessions
            .iter()
            .find(|listed| listed.id.0 == number)
            .ok_or_else(|| match online.as_slice() {
                [] => format!("there is no session {number}, and none is online"),
                online => format!("there is no session {number}; online: {}", names(online)),
            }),
        (None, [only]) => Ok(only),
        (None, []) => Err("no session is online".to_owned()),
        (None, several) => Err(format!(
            "{} sessions are online; name one of {}",
            several.len(),
            names(several)
        )),
    }
}

/// Returns the sessions by number, with protocol and client.
fn names(sessions: &[&Listed]) -> String {
    let shown = sessions.iter().take(LISTED);
    let mut shown: Vec<String> = shown
        .map(|listed| format!("{} ({}, {})", listed.id.0, listed.proto, listed.client))
        .collect();
    if sessions.len() > LISTED {
        shown.push(format!("{} more", sessions.len() - LISTED));
    }
    shown.join(", ")
}

fn inject(wanted: &Inject, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    let registry = shared.parts.registry;
    let (form, warnings) = Form::read(wanted, registry)?;
    let listed = choose(shared, wanted.session, session)?;
    let message = form.made(listed.proto)?;
    let session = listed.id;
    let result = ask(shared, Core::Inject { session, message })?;
    Ok(ResultBody { warnings, ..result })
}

/// A message to inject.
enum Form {
    Draft(Draft),
    Bytes(Made),
}

impl Form {
    fn read(wanted: &Inject, registry: &'static Registry) -> Result<(Self, Vec<String>), String> {
        let text = match wanted {
            Inject {
                message: Some(text),
                dir: None,
                name: None,
                fields: None,
                vital: None,
                hex: None,
                ..
            } => match bytes_of(text) {
                Some(made) => return made.map(|made| (Self::Bytes(made), Vec::new())),
                None => text.clone(),
            },
            Inject {
                message: None,
                dir: Some(dir),
                name: None,
                fields: None,
                hex: Some(hex),
                ..
            } => {
                let made = bytes((*dir).into(), wanted.vital.unwrap_or(true), hex)?;
                return Ok((Self::Bytes(made), Vec::new()));
            }
            Inject {
                message: None,
                dir: Some(dir),
                name: Some(name),
                hex: None,
                ..
            } => {
                let message = written(name, wanted.fields.as_ref(), registry)?;
                let nonvital = if wanted.vital == Some(false) {
                    " nonvital"
                } else {
                    ""
                };
                format!("{} {message}{nonvital}", Dir::from(*dir))
            }
            _ => {
                let why = "expected message alone, or dir and name, or dir and hex";
                return Err(format!("invalid inject: {why}"));
            }
        };
        let (draft, warnings) = Draft::inject(&text, registry).map_err(|errors| lines(&errors).join("; "))?;
        Ok((Self::Draft(draft), lines(&warnings)))
    }

    fn made(self, proto: Proto) -> Result<Made, String> {
        match self {
            Self::Draft(draft) => draft.made(proto),
            Self::Bytes(made) => Ok(made),
        }
    }
}

/// Reads `s2c vital 0x06`. `None` if the text is in another form.
fn bytes_of(text: &str) -> Option<Result<Made, String>> {
    let mut words = text.split_ascii_whitespace();
    let dir = match words.next()? {
        "c2s" => Dir::C2s,
        "s2c" => Dir::S2c,
        _ => return None,
    };
    let vital = match words.next()? {
        "vital" => true,
        "nonvital" => false,
        _ => return None,
    };
    let hex = words.next()?.strip_prefix("0x")?;
    let rest: String = words.collect();
    Some(bytes(dir, vital, &[hex, &rest].concat()))
}

fn bytes(dir: Dir, vital: bool, hex: &str) -> Result<Made, String> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let pairs = digits.as_deref().map(<[u8]>::as_chunks::<2>);
    let data: Vec<u8> = match pairs {
        Some((pairs, [])) if !pairs.is_empty() => pairs.iter().map(|[high, low]| high << 4 | low).collect(),
        _ => return Err("invalid hex: expected two digits for each byte of id and fields".to_owned()),
    };
    if data.len() > MAX_MESSAGE {
        return Err(format!("the message is longer than {MAX_MESSAGE} bytes"));
    }
    Ok(Made { dir, vital, data })
}

/// Returns a name and JSON fields in the syntax of rules.
fn written(name: &str, fields: Option<&Map<String, Value>>, registry: &Registry) -> Result<String, String> {
    let is_word = |text: &str| {
        let mut chars = text.chars();
        !text.is_empty() && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    if !is_word(name) {
        return Err(format!("invalid name {}", Value::from(name)));
    }
    let mut parts = Vec::new();
    for (field, value) in fields.into_iter().flatten() {
        if !is_word(field) {
            return Err(format!("invalid field {}", Value::from(field.as_str())));
        }
        let shown = match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            // The name of a value.
            Value::String(text) if is_word(text) && is_number(registry, name, field) => text.clone(),
            Value::String(text) => Expr::new(Kind::Text(text.clone()), Span::default()).to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                let why = "expected a number, a string, true or false";
                return Err(format!("invalid value of the field {field}: {why}"));
            }
        };
        parts.push(format!("{field}: {shown}"));
    }
    Ok(format!("{name}{{{}}}", parts.join(", ")))
}

/// Returns true if a field of a message is a number in a protocol.
fn is_number(registry: &Registry, name: &str, field: &str) -> bool {
    Proto::ALL.into_iter().any(|proto| {
        registry.named(proto, None, name).any(|def| {
            def.parts(None)
                .any(|(_, part): (_, &Field)| *part.name == *field && part.is_number())
        })
    })
}

fn close(wanted: Close, shared: &Shared, session: &mut Option<u32>) -> Outcome {
    if wanted.all && wanted.session.is_some() {
        return Err("invalid close: session and all exclude each other".to_owned());
    }
    let session = match wanted.all {
        true => None,
        false => Some(choose(shared, wanted.session, session)?.id),
    };
    let side = match wanted.side {
        Sides::Client => Some(Side::Client),
        Sides::Server => Some(Side::Server),
        Sides::Both => None,
    };
    let reason = wanted.reason.into_bytes().into();
    let command = Core::Close {
        session,
        side,
        reason,
    };
    ask(shared, command)
}

impl Subscribe {
    /// Returns the filter, and the warnings about it.
    pub(super) fn filter(&self, registry: &Registry) -> Result<(Option<Filter>, Vec<String>), String> {
        let Some(text) = &self.filter else {
            return Ok((None, Vec::new()));
        };
        match Filter::parse(text, registry) {
            Ok((filter, warnings)) => Ok((Some(filter), lines(&warnings))),
            Err(errors) => Err(format!("invalid filter: {}", lines(&errors).join("; "))),
        }
    }

    pub(super) fn verbosity(&self) -> Result<Verbosity, String> {
        match self.verbose {
            0 => Ok(Verbosity::Messages),
            1 => Ok(Verbosity::Datagrams),
            2 => Ok(Verbosity::Bytes),
            other => Err(format!("invalid verbose {other}: expected 0, 1 or 2")),
        }
    }
}

impl From<Direction> for Dir {
    fn from(dir: Direction) -> Self {
        match dir {
            Direction::C2s => Self::C2s,
            Direction::S2c => Self::S2c,
        }
    }
}

/// Returns diagnostics in a line each.
fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    let line = |diagnostic: &Diagnostic| {
        let more = diagnostic.help.iter().chain(&diagnostic.notes);
        let more: String = more.map(|more| format!("; {more}")).collect();
        let text = format!("[{}] {}{more}", diagnostic.code.name(), diagnostic.message);
        printable(text.as_bytes())
    };
    diagnostics.iter().map(line).collect()
}

#[cfg(test)]
mod tests;

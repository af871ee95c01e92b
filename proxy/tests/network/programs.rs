//! Rules and link lines drawn at random. Whatever they are, the law of sessions holds, and an input log and a
//! journal of decisions repeat the run.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc, time::Duration};

use teetap_kit::{
    codec::Variant,
    link::{Conditions, Random, SECOND},
    peer::Peer,
    rules::compiled,
    world::{HubObserver, Middle, World, config, route},
};
use teetap_proxy::{
    io::input_log::{LoggedInput, LoggedOutput},
    session::{Hub, Input, Output, Time},
};
use teetap_rules::{Decision, Program};

use crate::run::{self, Fate, Plan, Side, server_peer};

const KINDS: [Variant; 6] = [
    Variant::V7,
    Variant::Ddnet,
    Variant::V65,
    Variant::V6,
    Variant::D7,
    Variant::Ddnet,
];

const ACTIONS: [&str; 22] = [
    "drop",
    "lose",
    "lose 2 times",
    "delay 40ms",
    "delay 10ms..300ms",
    "delay 20ms..90ms unordered",
    "dup",
    "dup 2 gap 30ms",
    "corrupt 2 bits",
    "corrupt 1 bytes",
    "swap",
    "reorder 3",
    "hold until vital and n == 9 max 700ms",
    "hold until s2c max 300ms unordered",
    "pause max 400ms",
    "inject s2c sv_broadcast{message: \"b\"}",
    "inject before c2s cl_say{message: \"m\"}",
    "inject s2c sv_motd nonvital",
    "log",
    "mark",
    "pass",
    "dup, delay 15ms",
];

const CONDITIONS: [&str; 9] = [
    "c2s",
    "s2c",
    "c2s and vital",
    "s2c and vital",
    "vital and pkt.size > 30",
    "pkt.chunks > 1",
    "s2c and t > 3s",
    "c2s and not vital",
    "c2s and vital and pkt.seq in {4..60}",
];

const MODIFIERS: [&str; 12] = [
    "chance 20%",
    "chance 50%",
    "every 7",
    "every 300ms",
    "skip 4",
    "first 9",
    "max 3 per 1s",
    "from 2s",
    "to 6s",
    "after s2c and vital",
    "until t > 7s",
    "per global",
];

const LINKS: [&str; 9] = [
    "link both delay 30ms jitter 20ms loss 4%",
    "link c2s loss gemodel 2% 30% dup 3%",
    "link s2c delay 25ms reorder 10% gap 2 dup 4%",
    "link both rate 400kbit queue 16kB",
    "link both blackhole from 4s to 4500ms",
    "link s2c delay 10ms jitter 8ms pareto loss 3%",
    "link both loss 8% delay 12ms after c2s and vital and n == 5 until t > 7s",
    "link c2s dup 5% until count(ctrl.keepalive) > 3",
    "link both delay 9ms loss 3% connless",
];

fn kind(seed: u64) -> Variant {
    KINDS[usize::try_from(seed % KINDS.len() as u64).unwrap()]
}

fn conditions(seed: u64) -> Conditions {
    if seed.is_multiple_of(4) {
        Conditions::bad(0.03)
    } else {
        Conditions::GOOD
    }
}

/// Returns the text of some random rules, sometimes with link lines.
fn source(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x7a57);
    let mut pick = |list: &[&'static str]| list[usize::try_from(random.below(list.len() as u64)).unwrap()];
    let mut lines = Vec::new();
    for number in 0..1 + seed % 5 {
        let modifiers = match (seed / 5 + number) % 4 {
            0 => String::new(),
            1 => format!(" {} {}", pick(&MODIFIERS[..2]), pick(&MODIFIERS[3..4])),
            _ => format!(" {}", pick(&MODIFIERS)),
        };
        let action = pick(&ACTIONS);
        // A corrupted control message may become a CLOSE, and without control messages there is no session. A
        // client of D7 never repeats its TOKEN request.
        let chunks = match action.split(' ').next() {
            Some("corrupt" | "drop") => " and not ctrl",
            Some("lose") if kind(seed) == Variant::D7 => " and not ctrl",
            _ => "",
        };
        lines.push(format!(
            "r{number}: {action} when {}{chunks}{modifiers}",
            pick(&CONDITIONS)
        ));
    }
    for _ in 0..seed % 3 {
        lines.push(pick(&LINKS).to_owned());
    }
    lines.join("\n")
}

/// The inputs and outputs of a hub.
type Log = Rc<RefCell<Vec<(Time, LoggedInput, Vec<LoggedOutput>)>>>;

#[derive(Debug)]
struct Clerk(Log);

impl HubObserver for Clerk {
    fn input(&mut self, at: Time, input: &Input<'_>) {
        self.0
            .borrow_mut()
            .push((at, LoggedInput::from(input), Vec::new()));
    }

    fn output(&mut self, output: &Output<'_>) {
        if let (Some((.., outputs)), Some(wanted)) =
            (self.0.borrow_mut().last_mut(), LoggedOutput::from_output(output))
        {
            outputs.push(wanted);
        }
    }
}

/// The result of a run.
struct Ran {
    log: Log,
    decisions: Vec<Decision>,
    sides: [Side; 2],
    world: World,
    fate: Fate,
}

/// Runs a program. `draws` is the seed of its random decisions.
fn run(seed: u64, draws: u64, program: Arc<Program>) -> Ran {
    let plan = Plan {
        variant: kind(seed),
        conditions: conditions(seed),
        talk: 10 * SECOND,
        // A sender retransmits its oldest message once a second, and some rules lose two copies of each.
        settle: 3600 * SECOND,
        ..Plan::default()
    };
    let mut config = config(seed, Some(Duration::MAX), false);
    // This test is not about the loss of datagrams that DDNet sends once.
    config.heals = true;
    config.seed = draws;
    let mut hub = Hub::new(config, route());
    hub.record_decisions();
    let log = Log::default();
    let mut world = run::world_with(seed, &plan, Middle::Hub(Box::new(hub)));
    world.witness = Some(Box::new(Clerk(Rc::clone(&log))));
    world.input(Input::Program(Some(program)));
    let (sides, fate) = run::converse(seed, &plan, &mut world);
    let decisions = world.hub().unwrap().decisions();
    Ran {
        log,
        decisions,
        sides,
        world,
        fate,
    }
}

/// Replays a log with a new hub. Fails at the first difference.
fn replays(seed: u64, draws: u64, log: &Log) -> Result<(), String> {
    let mut config = config(seed, Some(Duration::MAX), false);
    // This test is not about the loss of datagrams that DDNet sends once.
    config.heals = true;
    config.seed = draws;
    let mut hub = Hub::new(config, route());
    let compile = |source: &str| compiled(source).map(|program| (*program).clone());
    for (at, happened, expected) in log.borrow().iter() {
        hub.handle(*at, happened.input(&compile).map_err(|error| error.to_string())?);
        let mut came = Vec::new();
        while let Some(output) = hub.poll() {
            came.extend(LoggedOutput::from_output(&output));
        }
        if came != *expected {
            return Err(format!("{at:?}: {expected:?} expected, {came:?} came"));
        }
    }
    Ok(())
}

/// Checks that the received messages differ from the sent messages only as the program allows.
fn lawful(seed: u64, source: &str, ran: &Ran) -> Result<(), String> {
    let loses = conditions(seed) != Conditions::GOOD || source.contains("loss");
    if ran.fate == Fate::NeverJoined && kind(seed) == Variant::D7 && loses {
        // A client of D7 never repeats its TOKEN request.
        return Ok(());
    }
    if ran.fate != Fate::Complete {
        return Err(format!("{:?}", ran.fate));
    }
    let server = server_peer(&ran.world).ok_or("no slot")?;
    let client = &ran.world.clients[0].peer;
    for peer in [client, server] {
        let counters = peer.counters;
        let illegal = counters.ahead
            + counters.malformed
            + counters.missing_chunks
            + counters.trailing
            + counters.stray;
        if illegal > 0 {
            return Err(format!("{:?}: {counters:?}", peer.role()));
        }
    }
    received(source, &ran.sides[0], server)?;
    received(source, &ran.sides[1], client)
}

fn received(source: &str, side: &Side, receiver: &Peer) -> Result<(), String> {
    let has = |words: &[&str]| words.iter().any(|word| source.contains(word));
    if has(&["corrupt"]) {
        // A corrupted text may equal the text of another message.
        return Ok(());
    }
    let order: BTreeMap<&[u8], usize> = (0..)
        .zip(&side.sent)
        .map(|(at, message)| (&**message, at))
        .collect();
    let mut counts = vec![0; side.sent.len()];
    let mut last = 0;
    for message in receiver.delivered.iter().filter(|message| message.vital) {
        let Some(&at) = order.get(&*message.data) else {
            if has(&["inject"]) {
                continue;
            }
            return Err(format!(
                "{:?} was never sent",
                String::from_utf8_lossy(&message.data)
            ));
        };
        counts[at] += 1;
        if at < last && !has(&["swap", "reorder 3", "unordered", "gap 30ms"]) {
            return Err(format!("message {at} came after {last}"));
        }
        last = last.max(at);
    }
    let copies = |word: &str, each: usize| each * source.matches(word).count();
    let most = 1 + copies(": dup", 1) + copies(": dup 2", 1);
    let least = usize::from(!has(&["drop"]));
    let odd = counts.iter().position(|count| *count > most || *count < least);
    match odd {
        None => Ok(()),
        Some(at) => Err(format!(
            "message {at} came {} times, not {least} to {most}",
            counts[at]
        )),
    }
}

#[test]
fn random_programs_keep_the_law_and_repeat() {
    let mut faults = 0;
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    for seed in 20_000..if is_long { 24_000 } else { 20_200 } {
        let source = source(seed);
        let failed = |why: String| format!("seed {seed}: {why}\n{source}");
        let program = compiled(&source).unwrap_or_else(|errors| panic!("seed {seed}: {errors:?}\n{source}"));
        let first = run(seed, seed, Arc::clone(&program));
        lawful(seed, &source, &first).map_err(failed).unwrap();
        replays(seed, seed, &first.log).map_err(failed).unwrap();
        faults += first.decisions.len();
        if seed % 3 > 0 {
            continue;
        }
        // With given decisions, another seed makes no difference.
        let repeating = Arc::new(program.repeating(&first.decisions).unwrap());
        let second = run(seed, !seed, repeating);
        if second.decisions != first.decisions {
            let parted = first
                .decisions
                .iter()
                .zip(&second.decisions)
                .find(|(one, other)| one != other);
            panic!("seed {seed}: other decisions: {parted:?}\n{source}");
        }
        let outputs = |log: &Log| -> Vec<_> {
            log.borrow()
                .iter()
                .map(|(at, _, outputs)| (*at, outputs.clone()))
                .collect()
        };
        if outputs(&second.log) != outputs(&first.log) {
            panic!("seed {seed}: other datagrams\n{source}");
        }
        replays(seed, !seed, &second.log).map_err(failed).unwrap();
    }
    assert!(faults > 7_000, "{faults}");
}

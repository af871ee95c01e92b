//! A session on the bench: a test writes the datagrams of both sides, and the datagrams sent are compared
//! word for word.
//!
//! A datagram is a line of text: the side (`S` server, `C` client; for an input the sender, for an output the
//! receiver), `R` if it requests resends, `Z` if it is compressed (only for inputs), `a` and the ack, then its chunks as `number:message`, with `*`
//! after the number for a resent chunk and `-` for a non-vital one. A message with a given length is written
//! `name/length`, DDNet's `redirect` to a port `>port`, bytes `=hex`. Without chunks the line ends with
//! `keepalive`, `accept`, `close reason`, or nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use teetap_kit::rules::made;
use teetap_kit::{
    codec::{Chunk, Datagram, Flags, Token, Variant, control, extended, parse},
    link::{Conditions, SECOND},
    peer::{Options, Peer, Policy, Server},
    rules::{BOTH, program},
    world::{Middle, World, client_addr, config, listen_addr, route},
};
use teetap_proxy::session::{
    self, Action, Answer, Command, CommandId, Config, EventKind, HeldId, Hub, Input, ListenerId, Notice,
    Output, Placed, SessionId, Time, UpstreamId,
};
use teetap_rules::{Decide, Fate, Made, Message, Program, RuleId, Shared, Verdict};
use teetap_wire::{Code, Dir, Packet, Scratch};

/// One variant for each kind of framing.
pub(crate) const KINDS: [Variant; 4] = [Variant::V7, Variant::V65, Variant::Ddnet, Variant::V6];

/// The verdicts by message; other messages pass.
pub(crate) type Script = Vec<(&'static str, Verdict)>;

/// A session whose client has sent one message, which was acked. The server has sent none.
pub(crate) struct Bench {
    pub(crate) kind: Variant,
    hub: Box<Hub>,
    now: u64,
    upstream: UpstreamId,
    /// The tokens that the client and the server send.
    shown: [Token; 2],
    /// The tokens that they expect.
    expected: [Token; 2],
    /// The messages on which rules have decided.
    pub(crate) decided: Arc<Mutex<Vec<String>>>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) answers: Vec<Answer>,
    last_command: u64,
    /// The record of each chunk in renumbered directions.
    pub(crate) placed: Vec<Placed>,
    /// The reported numbers of held messages.
    pub(crate) held: Vec<HeldId>,
    /// The notes on acks outside their window.
    pub(crate) odd_acks: Vec<Code>,
    /// The requested listen sockets, with the ports of their servers.
    pub(crate) wanted_listeners: Vec<(u32, u16)>,
}

/// Runs a test on a session of each kind.
pub(crate) fn on_each_kind(test: impl Fn(&mut Bench)) {
    for kind in KINDS {
        test(&mut Bench::new(kind));
    }
}

/// Runs a test on a session of each kind, with rules in both directions.
pub(crate) fn with_rules(script: &Script, test: impl Fn(&mut Bench)) {
    on_each_kind(|bench| {
        bench.program(script.clone());
        test(bench);
    });
}

/// Returns a verdict with this fate.
pub(crate) fn fate(name: &'static str, fate: Fate) -> (&'static str, Verdict) {
    (name, Verdict::from_fate(fate))
}

impl Bench {
    fn new(kind: Variant) -> Self {
        Self::with(kind, config(3, None, true))
    }

    pub(crate) fn with(kind: Variant, config: Config) -> Self {
        let mut world = World::new(
            Middle::Hub(Box::new(Hub::new(config, route()))),
            Server::new(kind, Policy::default(), 3),
            Conditions::GOOD,
            3,
        );
        let options = Options::saying(b"hello");
        let mut client = Peer::client(kind, options, 3);
        client.connect(0);
        world.add(client, Conditions::GOOD, 3);
        world.run(3 * SECOND);
        let (client_expects, client_shows) = world.clients[0].peer.tokens();
        let (_, slot) = world.server.peers().next().unwrap();
        let (server_expects, server_shows) = slot.tokens();
        assert_eq!(
            [slot.numbers(), world.clients[0].peer.numbers()],
            [(0, 1, 0), (1, 0, 1)]
        );
        let Middle::Hub(hub) = world.middle else {
            panic!("the middle is a hub");
        };
        Self {
            kind,
            hub,
            now: world.now,
            upstream: world.sockets[0],
            shown: [client_shows, server_shows],
            expected: [client_expects, server_expects],
            decided: Arc::default(),
            notices: Vec::new(),
            answers: Vec::new(),
            last_command: 0,
            placed: Vec::new(),
            held: Vec::new(),
            odd_acks: Vec::new(),
            wanted_listeners: Vec::new(),
        }
    }

    pub(crate) fn program(&mut self, script: Script) {
        let decided = self.decided.clone();
        let rules = move |_| Rules {
            script: script.clone(),
            decided: decided.clone(),
        };
        self.input(Input::Program(program(BOTH, rules)));
    }

    pub(crate) fn command(&mut self, command: Command) -> Vec<String> {
        self.last_command += 1;
        let id = CommandId(self.last_command);
        let before = self.answers.len();
        let sent = self.input(Input::Command { id, command });
        let ids: Vec<_> = self.answers[before..].iter().map(|answer| answer.id).collect();
        assert_eq!(ids, [id], "one answer to each command");
        sent
    }

    /// Returns the results of all commands.
    pub(crate) fn results(&self) -> Vec<Result<(), &str>> {
        let results = self.answers.iter().map(|answer| &answer.result);
        results
            .map(|result| result.as_ref().copied().map_err(|why| &**why))
            .collect()
    }

    pub(crate) fn inject(&mut self, message: Made) -> Vec<String> {
        let Made { dir, vital, data, .. } = message;
        self.command(Command::Inject {
            session: SessionId(1),
            dir,
            vital,
            data: data.into(),
        })
    }

    pub(crate) fn release(&mut self, key: u64) -> Vec<String> {
        let session = SessionId(1);
        self.command(Command::Release { session, key })
    }

    /// Releases one held message of the server.
    pub(crate) fn release_one(&mut self, held: HeldId) -> Vec<String> {
        let (session, dir) = (SessionId(1), Dir::S2c);
        self.command(Command::ReleaseOne { session, dir, held })
    }

    /// Replaces the program.
    pub(crate) fn set(&mut self, program: Option<Arc<Program>>) -> Vec<String> {
        self.input(Input::Program(program))
    }

    /// Reports that a listen socket is open, on port 9000 plus its number.
    pub(crate) fn listens(&mut self, listener: u32) -> Vec<String> {
        let listener = ListenerId(listener);
        let local = listen_addr(listener);
        self.input(Input::ListenerOpened { listener, local })
    }

    /// Reports that a listen socket cannot be opened.
    pub(crate) fn listens_not(&mut self, listener: u32, error: &str) -> Vec<String> {
        let listener = ListenerId(listener);
        self.input(Input::ListenerFailed { listener, error })
    }

    /// Sends a datagram of one side and checks the datagrams that are sent for it.
    #[track_caller]
    pub(crate) fn is(&mut self, line: &str, leaves: &[&str]) {
        let got = self.send(line);
        assert_eq!(got, leaves, "{:?}: {line}", self.kind);
    }

    /// Lets time pass and checks the datagrams that are sent, each with the milliseconds since the start of
    /// the wait.
    #[track_caller]
    pub(crate) fn after(&mut self, ms: u64, leaves: &[&str]) {
        let got = self.wait(ms);
        assert_eq!(got, leaves, "{:?}: {ms} ms", self.kind);
    }

    /// Returns the number of decisions about a message.
    pub(crate) fn decisions(&self, message: &str) -> usize {
        let decided = self.decided.lock().unwrap();
        decided.iter().filter(|text| *text == message).count()
    }

    pub(crate) fn send(&mut self, line: &str) -> Vec<String> {
        self.send_with_tail(line, &[])
    }

    /// Sends a datagram of one side with bytes after its last chunk.
    pub(crate) fn send_with_tail(&mut self, line: &str, tail: &[u8]) -> Vec<String> {
        let by_client = line.starts_with('C');
        let mut bytes = self.encode(line);
        bytes.extend(tail);
        let upstream = self.upstream;
        let bytes = &*bytes;
        if by_client {
            let (listener, addr) = (ListenerId::FIRST, client_addr(0));
            self.input(Input::FromClient {
                listener,
                addr,
                bytes,
            })
        } else {
            self.input(Input::FromServer { upstream, bytes })
        }
    }

    pub(crate) fn wait(&mut self, ms: u64) -> Vec<String> {
        let begun = self.now;
        let end = begun + ms * 1000;
        let mut lines = Vec::new();
        while let Some(at) = self.hub.deadline().map(|at| at.0).filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let ms = Duration::from_micros(self.now - begun).as_millis();
            let left = self.input(Input::Timeout);
            lines.extend(left.into_iter().map(|line| format!("{ms}: {line}")));
        }
        self.now = end;
        lines
    }

    fn input(&mut self, input: Input<'_>) -> Vec<String> {
        self.hub.handle(Time(self.now), input);
        let mut left = Vec::new();
        while let Some(output) = self.hub.poll() {
            match output {
                Output::ToClient { bytes, .. } => left.push(('C', bytes.to_vec())),
                Output::ToServer { upstream, bytes } => {
                    assert_eq!(upstream, self.upstream);
                    left.push(('S', bytes.to_vec()));
                }
                Output::Event(event) => match event.what {
                    // Every test sets its rules.
                    EventKind::Notice(Notice::RulesSet { .. }) => {}
                    EventKind::Notice(notice) => self.notices.push(notice),
                    EventKind::Answer(answer) => self.answers.push(answer),
                    EventKind::Datagram(datagram) => {
                        check_places(&datagram);
                        let codes = datagram.notes.iter().map(|note| note.code);
                        let is_odd = |code: &Code| matches!(code, Code::AckAhead | Code::AckBehind);
                        self.odd_acks.extend(codes.filter(is_odd));
                        self.held
                            .extend(datagram.placed.iter().filter_map(|placed| placed.held));
                        self.placed.extend(datagram.placed);
                    }
                    EventKind::Session(_) | EventKind::Connless(_) => {}
                },
                Output::OpenListener { listener, port } => self.wanted_listeners.push((listener.0, port)),
                Output::OpenUpstream { .. } | Output::CloseUpstream(_) => {}
            }
        }
        left.iter()
            .map(|(side, bytes)| self.decode(*side, bytes))
            .collect()
    }

    fn encode(&self, line: &str) -> Vec<u8> {
        let mut words = line.split(' ').peekable();
        let side = words.next().unwrap();
        let resend = words.next_if_eq(&"R").is_some();
        let compressed = words.next_if_eq(&"Z").is_some();
        let ack = words.next().unwrap().strip_prefix('a').unwrap().parse().unwrap();
        let shown = self.shown[usize::from(side == "S")];
        let token = (self.kind != Variant::V6).then_some(shown);
        match words.peek() {
            Some(&"keepalive") => return control::control(self.kind, ack, token, control::KEEPALIVE, &[]),
            Some(&"accept") => return control::control(self.kind, ack, token, control::ACCEPT, &[]),
            Some(&"close") => return control::close(self.kind, ack, token, words.nth(1).unwrap_or_default()),
            _ => {}
        }
        let mut datagram = Datagram::of_chunks(self.kind, ack, token, words.map(chunk).collect());
        datagram.head.flags = Flags {
            resend,
            compressed,
            ..Flags::default()
        };
        datagram.build()
    }

    fn decode(&self, side: char, bytes: &[u8]) -> String {
        let datagram = parse(self.kind, bytes).unwrap();
        let head = datagram.head;
        let expected = self.expected[usize::from(side == 'S')];
        assert_eq!(head.token, (self.kind != Variant::V6).then_some(expected));
        assert!(
            datagram.trailing.is_empty() && head.spare == 0,
            "{:02x?}, spare {}",
            datagram.trailing,
            head.spare
        );
        let mut words = vec![side.to_string()];
        if head.flags.resend {
            words.push("R".into());
        }
        words.push(format!("a{}", head.ack));
        if head.flags.control {
            words.push(match datagram.payload.split_first() {
                Some((&control::KEEPALIVE, [])) => "keepalive".into(),
                Some((&control::ACCEPT, [])) => "accept".into(),
                Some((&control::CLOSE, reason)) => format!("close {}", String::from_utf8_lossy(reason)),
                other => format!("{other:?}"),
            });
        } else {
            assert!(
                head.flags.resend || !datagram.chunks.is_empty(),
                "an empty data packet"
            );
            assert_eq!(datagram.chunks.len(), usize::from(head.num_chunks));
            words.extend(datagram.chunks.iter().map(text));
        }
        words.join(" ")
    }
}

/// Parses `7*:name/100` as a chunk.
fn chunk(word: &str) -> Chunk {
    let (number, name) = word.split_once(':').unwrap();
    let (number, resend) = number
        .strip_suffix('*')
        .map_or((number, false), |number| (number, true));
    let (name, len) = name
        .split_once('/')
        .map_or((name, name.len()), |(name, len)| (name, len.parse().unwrap()));
    let mut data = name.as_bytes().to_vec();
    data.resize(len, b'.');
    if let Some(port) = name.strip_prefix('>') {
        data = extended::redirect(port.parse().unwrap());
    }
    if let Some(hex) = name.strip_prefix('=') {
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        data = (0..hex.len()).step_by(2).map(byte).collect();
    }
    Chunk {
        seq: (number != "-").then(|| number.parse().unwrap()),
        resend,
        data,
    }
}

fn text(chunk: &Chunk) -> String {
    let number = chunk.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
    let star = if chunk.resend { "*" } else { "" };
    if let Some(port) = extended::redirect_port(&chunk.data) {
        return format!("{number}{star}:>{port}");
    }
    if chunk.data.iter().any(u8::is_ascii_control) {
        let hex: String = chunk.data.iter().map(|byte| format!("{byte:02x}")).collect();
        return format!("{number}{star}:={hex}");
    }
    let data = String::from_utf8_lossy(&chunk.data);
    let name = data.trim_end_matches('.');
    let len = if name.len() == data.len() {
        String::new()
    } else {
        format!("/{}", data.len())
    };
    format!("{number}{star}:{name}{len}")
}

/// Checks that the reported place of each message is right, and that every message that was forwarded now has
/// a place.
fn check_places(datagram: &session::Datagram) {
    let mut scratches = [Scratch::new(), Scratch::new()];
    let [one, other] = &mut scratches;
    let Some(Ok(received)) = datagram.packet(one) else {
        return;
    };
    for (placed, chunk) in datagram.placed.iter().zip(received.chunks()) {
        let went = matches!(
            placed.action,
            Action::Pass | Action::Edit | Action::Corrupt | Action::Repeat
        );
        assert_eq!(placed.sent.is_some(), went, "{placed:?}");
        let Some(at) = placed.sent else { continue };
        let sent = datagram.sent().nth(at.datagram.into()).unwrap();
        let packet = Packet::parse(datagram.proto, sent, other).unwrap();
        let (start, len) = (usize::from(at.at), usize::from(at.len));
        let is_there = packet
            .chunks()
            .any(|chunk| (chunk.end() - chunk.data.len(), chunk.data.len()) == (start, len));
        assert!(is_there, "{placed:?}");
        if placed.action == Action::Pass {
            assert_eq!(&packet.payload[start..start + len], chunk.data);
        }
    }
}

struct Rules {
    script: Script,
    decided: Arc<Mutex<Vec<String>>>,
}

impl Decide for Rules {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        let text = match extended::redirect_port(message.data) {
            Some(port) => format!(">{port}"),
            None => String::from_utf8_lossy(message.data)
                .trim_end_matches('.')
                .to_owned(),
        };
        let rule = self.script.iter().position(|(name, _)| *name == text);
        self.decided.lock().unwrap().push(text);
        rule.map_or(Verdict::PASS, |rule| Verdict {
            rules: vec![RuleId(u16::try_from(rule).unwrap())],
            ..self.script[rule].1.clone()
        })
    }
}

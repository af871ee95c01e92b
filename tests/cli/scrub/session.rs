//! Scrubs a whole session, after which no text of a peer, a rule or the user may be left. The session has rules that
//! report, fail and expect, commands of the control socket, and findings.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::{SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use teetap_kit::{
    binary::{place, run},
    capture,
    control::Control,
};
use teetap_wire::{
    Dir, Flags, Header, Proto, Seq, Trailing,
    def::{Datum, Registry},
    write, write_chunk,
};

use super::given::scrub;
use crate::teetap;

/// A part of every public text of the session, and a part of every secret.
const TEXT: &str = "zqx7";
const SECRET: &str = "sec9q";

/// The rules of the run.
const RULES: [&str; 7] = [
    "log \"zqx7log pw={.password}\" when rcon_auth",
    "zqx7rule: pass when rcon_auth.password == \"sec9qliteral\"",
    "pass when rcon_cmd.cmd == \"sec9qother\" or cl_say.message contains \"zqx7literal\"",
    "mark zqx7mark when cl_say",
    "log \"{.name} {.clan} says zqx7 /zqx7info and make sure\" when cl_start_info",
    "expect sv_motd.message == \"zqx7expected\" within 5s when rcon_cmd",
    "fail \"zqx7fail\" when cl_call_vote",
];

/// Two scripted peers of 0.6.4, which has no tokens, with the proxy between them.
struct Session {
    teetap: Child,
    client: UdpSocket,
    server: UdpSocket,
    /// The upstream socket of the proxy.
    upstream: SocketAddr,
    /// The last sequence number of each direction.
    numbers: [u16; 2],
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

impl Session {
    fn open(recording: &Path, control: &Path) -> Self {
        let (client, server) = (socket(), socket());
        let target = server.local_addr().unwrap().to_string();
        let mut command = teetap();
        command.args([
            &target,
            "-l",
            "127.0.0.1:0",
            "--json",
            "--until",
            "cl_emoticon",
            "-w",
        ]);
        command.arg(recording).arg("--control").arg(control);
        for rule in RULES {
            command.args(["-r", rule]);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut teetap = command.spawn().unwrap();
        let mut lines = BufReader::new(teetap.stdout.take().unwrap()).lines();
        let start: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        // Otherwise its output would fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        client.connect(start["listen"].as_str().unwrap()).unwrap();
        client.send(&[0x10, 0, 0, 1]).unwrap();
        let upstream = loop {
            let (datagram, from) = received(&server);
            if datagram.starts_with(&[0x10, 0, 0, 1]) {
                break from;
            }
        };
        server.send_to(&[0x10, 0, 0, 2], upstream).unwrap();
        let mut session = Self {
            teetap,
            client,
            server,
            upstream,
            numbers: [0; 2],
        };
        session.await_client(|datagram| datagram.starts_with(&[0x10, 0, 0, 2]));
        session.client.send(&[0x10, 0, 0, 3]).unwrap();
        session.send(Dir::S2c, &[("sv_motd", &[("message", "zqx7motd")])]);
        session
    }

    fn await_client(&self, wanted: impl Fn(&[u8]) -> bool) {
        let mut buffer = [0; 2048];
        loop {
            let len = self.client.recv(&mut buffer).unwrap();
            if wanted(&buffer[..len]) {
                return;
            }
        }
    }

    /// Sends vital messages in one compressed datagram.
    fn send(&mut self, dir: Dir, messages: &[(&str, &[(&str, &str)])]) {
        let mut payload = Vec::new();
        for (name, fields) in messages {
            let number = &mut self.numbers[dir as usize];
            *number += 1;
            let message = message(name, fields);
            write_chunk(Proto::V6, Some(Seq::new(*number)), false, &message, &mut payload).unwrap();
        }
        let header = Header {
            flags: Flags::empty(),
            ack: Seq::new(self.numbers[1 - dir as usize]),
            num_chunks: u8::try_from(messages.len()).unwrap(),
            token: None,
        };
        let mut datagram = Vec::new();
        write(
            Proto::V6,
            &header,
            &payload,
            Some(Trailing::Always),
            &mut datagram,
        );
        match dir {
            Dir::C2s => self.client.send(&datagram).unwrap(),
            Dir::S2c => self.server.send_to(&datagram, self.upstream).unwrap(),
        };
        // Sent separately, so that the proxy receives each datagram before the next.
        std::thread::sleep(Duration::from_millis(20));
    }

    fn end(mut self) {
        let end = teetap_kit::binary::wait_end(&mut self.teetap, Duration::from_secs(20));
        // A rule failed the run.
        assert_eq!(end.unwrap(), Some(1));
    }
}

fn received(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2048];
    let (len, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..len].to_vec(), from)
}

fn message(name: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let def = Registry::builtin().named(Proto::V6, None, name).next().unwrap();
    let values = fields.iter().map(|(name, value)| (*name, Datum::from(*value)));
    let mut out = Vec::new();
    def.encode(&Datum::group(values), &mut out).unwrap();
    out
}

/// Records a session with texts and secrets everywhere.
fn recorded(path: &Path) {
    let socket = path.with_extension("sock");
    let mut session = Session::open(path, &socket);
    let mut control = Control::connect(&socket).unwrap();
    control
        .done(json!({"cmd": "rule_add", "text": "zqx7added: log \"zqx7x\" when sv_chat"}))
        .unwrap();
    let _refused = control
        .refused(json!({"cmd": "rule_remove", "name": "zqx7none"}))
        .unwrap();
    session.send(
        Dir::C2s,
        &[(
            "info",
            &[("version", "0.6 626fce9a778df4d4"), ("password", "sec9qserver")],
        )],
    );
    session.send(
        Dir::C2s,
        &[
            // Longer than receivers keep, which causes a finding.
            (
                "cl_start_info",
                &[("name", "zqx7 a name that is too long"), ("clan", "zqx7clan")],
            ),
            ("rcon_auth", &[("password", "sec9qrcon")]),
            ("cl_say", &[("message", "zqx7 hello there")]),
            ("cl_say", &[("message", "/login sec9qme sec9qpw")]),
        ],
    );
    session.send(
        Dir::S2c,
        &[
            ("sv_chat", &[("message", "zqx7 chat of the server")]),
            ("sv_broadcast", &[("message", "zqx7 broadcast")]),
            ("rcon_line", &[("line", "zqx7 sv_password sec9qline")]),
            (
                "sv_vote_set",
                &[("description", "zqx7vote"), ("reason", "zqx7reason")],
            ),
        ],
    );
    session.send(Dir::C2s, &[("rcon_cmd", &[("cmd", "sv_password sec9qcmd")])]);
    control
        .done(json!({"cmd": "inject", "message": "s2c sv_broadcast{message: \"zqx7injected\"}"}))
        .unwrap();
    session.send(
        Dir::C2s,
        &[("cl_call_vote", &[("value", "zqx7value"), ("reason", "zqx7why")])],
    );
    session.end();
}

/// Returns true if a recording contains a text in any form: as bytes, in a compressed datagram, in hex, with two
/// bytes per character, or escaped.
fn has(path: &Path, text: &str) -> bool {
    let lines = fs::read(path).unwrap();
    let mut all = vec![lines.clone()];
    if path.extension().unwrap() == "pcapng" {
        for leg in capture::read_recording(path).unwrap() {
            let inflated = leg
                .payload
                .get(3..)
                .and_then(|rest| teetap_kit::huffman::decompress(rest, 1400));
            all.extend(inflated);
        }
    }
    // The datagrams in JSON lines are hex.
    for word in lines.split(|byte| !byte.is_ascii_hexdigit()) {
        let bytes: Option<Vec<u8>> = word
            .chunks_exact(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let Some(bytes) = bytes.filter(|bytes| bytes.len() > 3) else {
            continue;
        };
        all.extend(teetap_kit::huffman::decompress(&bytes[3..], 1400));
        all.push(bytes);
    }
    let bytes = text.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let escaped: String = bytes.iter().map(|byte| format!("\\u{byte:04x}")).collect();
    let wide: Vec<u8> = bytes.iter().flat_map(|byte| [*byte, 0]).collect();
    // Each int of a snapshot contains four characters, with 128 added to each.
    let packed: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x80).collect();
    let folded = [bytes.to_vec(), hex.into(), escaped.into(), wide, packed];
    folded.iter().any(|form| {
        let upper = form.to_ascii_uppercase();
        capture::holds(&all, form) || capture::holds(&all, &upper)
    })
}

fn scrubbed(path: &Path, name: &str, args: &[&str]) -> PathBuf {
    let out = path
        .with_file_name(name)
        .with_extension(path.extension().unwrap());
    scrub(path, &out, args, 0);
    out
}

#[test]
fn no_text_and_no_secret_of_a_session_is_left() {
    for ending in ["pcapng", "jsonl"] {
        let (_folder, path) = place("run");
        let path = path.with_extension(ending);
        recorded(&path);
        assert!(has(&path, TEXT) && has(&path, SECRET), "{ending}");
        let out = scrubbed(&path, "out", &[]);
        assert!(!has(&out, TEXT), "{ending}");
        assert!(!has(&out, SECRET), "{ending}");
        let again = scrubbed(&out, "again", &[]);
        assert!(fs::read(&again).unwrap() == fs::read(&out).unwrap(), "{ending}");
        // The messages and the summary of the run are still there.
        let (shown, log) = run(teetap().arg("open").arg(&out), 0);
        for message in ["rcon_auth", "cl_say", "sv_motd", "rule_log", "cl_call_vote"] {
            let is_shown = shown.contains(message) || message == "rule_log" && shown.contains("note: rule ");
            assert!(is_shown, "{message}: {shown}");
        }
        if ending == "pcapng" {
            assert!(log.contains(" packets recorded to FILE, ended by ***"), "{log}");
            assert!(log.contains(", exit 1"), "{log}");
        }
    }
}

#[test]
fn secrets_are_replaced_even_if_texts_stay() {
    for ending in ["pcapng", "jsonl"] {
        let (_folder, path) = place("run");
        let path = path.with_extension(ending);
        recorded(&path);
        // Recordings by earlier versions have the secret in the report of a rule. The secret has as many bytes as the
        // dots.
        let (dots, secret) = ("pw=•••".as_bytes(), b"pw=sec9qrcon");
        let mut bytes = fs::read(&path).unwrap();
        let places: Vec<usize> = (0..bytes.len() - dots.len())
            .filter(|at| bytes[*at..].starts_with(dots))
            .collect();
        assert!(!places.is_empty(), "{ending}");
        for at in places {
            bytes[at..at + dots.len()].copy_from_slice(secret);
        }
        fs::write(&path, bytes).unwrap();
        let out = scrubbed(&path, "out", &["--keep-text"]);
        assert!(!has(&out, SECRET), "{ending}");
        for text in [
            "zqx7 hello there",
            "zqx7added",
            "zqx7mark",
            "says zqx7 /zqx7info and make sure",
        ] {
            assert!(has(&out, text), "{ending} {text}");
        }
        let again = scrubbed(&out, "again", &["--keep-text"]);
        assert!(fs::read(&again).unwrap() == fs::read(&out).unwrap(), "{ending}");
    }
}

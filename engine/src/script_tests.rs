//! A regression test: a script sends every form of every command to the control socket of a run with two sessions, and
//! all answers and all lines for the user must be the same as before.
//!
//! After an intended change, run `INSTA_UPDATE=always cargo test -p teetap-engine script` and look at the difference.

use std::{io::Read as _, net::Shutdown};

use serde_json::Value;

use super::*;

/// Rules of the run: one of each kind that commands can switch, list and change.
const RULES: &str = "keep: pause max 60s when cl_say\n# a comment\nlink s2c delay 0s from 500s\ndrop when sv_motd\n\
                     twice: dup when sv_chat from 400s\nvar $seen = t when cl_emoticon\n";

/// A CONNECT of 0.6 without a token, and its answer.
const CONNECT_6: [u8; 4] = [0x10, 0, 0, 1];
const ACCEPT_6: [u8; 4] = [0x10, 0, 0, 2];

/// A client of 0.6 and the address of its session as the server sees it.
struct Player {
    socket: UdpSocket,
    upstream: SocketAddr,
    /// The sequence number of its last vital message.
    last: u8,
}

impl Player {
    /// Joins a run.
    fn join(run: &Run, server: &UdpSocket) -> Self {
        let (socket, mut buffer) = (socket(), [0; 1400]);
        socket.send_to(&CONNECT_6, run.addr()).unwrap();
        // Sessions that are online send keepalives.
        let upstream = loop {
            let (len, from) = server.recv_from(&mut buffer).unwrap();
            if buffer[..len] == CONNECT_6 {
                break from;
            }
        };
        server.send_to(&ACCEPT_6, upstream).unwrap();
        socket.recv_from(&mut buffer).unwrap();
        let mut player = Self {
            socket,
            upstream,
            last: 0,
        };
        // The session is online once the server has acked a message of the client: `cl_emoticon`, `sv_chat`.
        player.say(run, &[0x2e, 2]);
        while server.recv_from(&mut buffer).unwrap().1 != upstream || buffer[6] != 0x2e {}
        player.hears(server, 1);
        player
    }

    /// Lets the server send its vital message of this number, and waits for it.
    fn hears(&self, server: &UdpSocket, number: u8) {
        let bytes = [&[0, 1, 1, 0x40, 6, number][..], b"\x06\0\0hi\0"].concat();
        server.send_to(&bytes, self.upstream).unwrap();
        let mut buffer = [0; 1400];
        while !buffer.windows(3).any(|part| part == b"hi\0") {
            self.socket.recv_from(&mut buffer).unwrap();
        }
    }

    /// Sends a vital message of less than 16 bytes.
    fn say(&mut self, run: &Run, data: &[u8]) {
        self.last += 1;
        let len = u8::try_from(data.len()).unwrap();
        let bytes = [&[0, 0, 1, 0x40, len, self.last], data].concat();
        self.socket.send_to(&bytes, run.addr()).unwrap();
    }
}

/// Returns the forms of commands about held messages.
fn about_held() -> Vec<String> {
    let mut lines = Vec::new();
    for cmd in ["edit", "release", "drop"] {
        for held in [9, 1, 2] {
            for session in ["", ",\"session\":9", ",\"session\":2", ",\"session\":1"] {
                for dir in [",\"dir\":\"s2c\"", "", ",\"dir\":\"c2s\""] {
                    let fields = if cmd == "edit" {
                        ",\"fields\":{\"message\":\"changed\"}"
                    } else {
                        ""
                    };
                    lines.push(format!("\"cmd\":\"{cmd}\",\"held\":{held}{session}{dir}{fields}"));
                }
            }
        }
        lines.push("\"cmd\":\"held\"".to_owned());
    }
    lines
}

/// Commands before those about held messages: lines that are no command, the rules, messages.
const FIRST: &str = r##"
"cmd":"sessions"
"cmd":"held"
"cmd":"held","session":1
"cmd":"held","session":7
"cmd":"rules"
"cmd":"nothing"
"cmd":"stats","since":1
"cmd":5
"no":"command"
"cmd":"rule_add","text":""
"cmd":"rule_add","text":"# only a comment"
"cmd":"rule_add","text":"drup when sv_motd"
"cmd":"rule_add","text":"drop when sv_motd and c2s"
"cmd":"rule_add","text":"drop when sv_motd\nlater: drop when sv_chat from 900s"
"cmd":"rules"
"cmd":"rule_off","name":"later"
"cmd":"rule_off","name":"link s2c delay 0s from 500s"
"cmd":"rule_off","name":"var $seen = t when cl_emoticon"
"cmd":"rule_off","name":"drop when sv_motd #2"
"cmd":"rule_off","name":"drop when sv_motd #3"
"cmd":"rules"
"cmd":"rule_on","name":"later"
"cmd":"rule_on","name":"link s2c delay 0s from 500s"
"cmd":"rule_on","name":"twice"
"cmd":"rule_on","name":"twise"
"cmd":"rule_replace","name":"twice","text":"twice: dup 2 when sv_chat from 400s"
"cmd":"rule_replace","name":"twice","text":""
"cmd":"rule_replace","name":"none","text":"drop when sv_chat"
"cmd":"rule_swap","name":"twice","with":"later"
"cmd":"rule_swap","name":"twice","with":"nobody"
"cmd":"rules"
"cmd":"rule_remove","name":"later"
"cmd":"rule_remove","name":"drop when sv_motd #2"
"cmd":"rule_remove","name":"link both loss 3%"
"cmd":"rules"
"cmd":"inject"
"cmd":"inject","message":"s2c sv_broadcast{message: \"hi\"}"
"cmd":"inject","session":9,"message":"s2c sv_broadcast{message: \"hi\"}"
"cmd":"inject","session":1,"message":"s2c sv_broadcast{message: \"hi\"}"
"cmd":"inject","session":2,"message":"s2c sv_brodcast{message: \"hi\"}"
"cmd":"inject","session":2,"message":"c2s sv_broadcast{message: \"hi\"}"
"cmd":"inject","session":2,"message":"c2s cl_say{message: \"hi\"} nonvital"
"cmd":"inject","session":2,"dir":"s2c","name":"sv_chat","fields":{"message":"a \"b\"","client_id":-1},"vital":false
"cmd":"inject","session":2,"dir":"s2c","name":"sv_chat","fields":{"client_id":[1]}
"cmd":"inject","session":2,"dir":"s2c","hex":"0"
"cmd":"inject","session":2,"dir":"s2c","hex":"0661","vital":true
"cmd":"resync"
"cmd":"resync","session":1
"cmd":"resync","session":8
"cmd":"edit","session":1,"dir":"c2s","held":1,"hex":"zz"
"cmd":"edit","session":1,"dir":"c2s","held":1
"cmd":"edit","session":1,"dir":"c2s","held":1,"message":"cl_say{message: \"whole\"}"
"cmd":"edit","session":1,"dir":"c2s","held":1,"message":"sv_chat{message: \"whole\"}"
"cmd":"edit","session":2,"dir":"c2s","held":1,"fields":{"mesage":"x"}
"cmd":"edit","session":2,"dir":"c2s","held":2,"hex":"22006100"
"cmd":"held"
"cmd":"subscribe","filter":"cl_sya"
"cmd":"subscribe","verbose":9
"cmd":"unsubscribe"
"##;

/// Commands after those about held messages.
const LAST: &str = r#"
"cmd":"sessions"
"cmd":"close"
"cmd":"close","all":true,"session":1
"cmd":"close","session":7
"cmd":"close","session":1,"side":"client","reason":"out"
"cmd":"close","session":1
"cmd":"inject","message":"s2c sv_broadcast{message: \"to the only one\"}"
"cmd":"resync"
"cmd":"close","all":true,"reason":"all"
"cmd":"rule_off","name":"keep"
"#;

/// Replaces values that differ from run to run: times, and the ports of addresses.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("t" | "opened" | "last_hit" | "until", Value::Number(_)) => *value = Value::from("time"),
                    ("client", Value::String(_)) => *value = Value::from("address"),
                    _ => without_times(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Returns a line without the ports of these addresses.
fn without_ports(mut line: String, addrs: &[SocketAddr]) -> String {
    for (number, addr) in addrs.iter().enumerate() {
        line = line.replace(&addr.to_string(), &format!("address {number}"));
    }
    line
}

#[test]
fn all_commands_of_a_script_are_answered_as_before() {
    let server = socket();
    let builder = Builder::new(server.local_addr().unwrap()).rules(RULES).seed(1);
    let (run, _control, _folder, path) = controlled(builder);
    let mut players = [(); 2].map(|()| Player::join(&run, &server));
    let mut script = Script::new(&path);
    // Each session holds two messages; the server's message passes once they were processed.
    for player in &mut players {
        player.say(&run, b"\x22\0first\0");
        player.say(&run, b"\x22\0second\0");
        player.hears(&server, 2);
    }
    let addrs = players
        .each_ref()
        .map(|player| player.socket.local_addr().unwrap());
    let mut text = String::new();
    let lines = FIRST.lines().map(str::to_owned).chain(about_held());
    let lines = lines.chain(LAST.lines().map(str::to_owned));
    for (id, line) in lines.filter(|line| !line.is_empty()).enumerate() {
        script.send(&format!("{{\"id\":{id},{line}}}\n"));
        let answer = script.line(&format!("\"id\":{id},"));
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        without_times(&mut answer);
        let answer = without_ports(answer.to_string(), &addrs);
        text += &format!("> {line}\n{answer}\n");
        for (level, line) in run.news() {
            text += &format!("{level}: {line}\n");
        }
    }
    // Lines that have no number.
    for line in ["[]", "{}", "\u{fffd}", "{\"id\":-1}", "{\"id\":1} {}"] {
        script.send(&format!("{line}\n"));
        text += &format!("> {line}\n{}", without_time(&script.line("answer")));
    }
    // The rest of a line that is too long is no command.
    script.send(&"x".repeat(2 << 20));
    text += &without_time(&script.line("longer"));
    script.send("\",\"id\":7}\n{\"id\":8,\"cmd\":\"held\"}\n");
    text += &without_time(&script.line("answer"));
    insta::assert_snapshot!(text);
}

/// Returns an answer without its time, as a line.
fn without_time(answer: &str) -> String {
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    without_times(&mut answer);
    format!("{answer}\n")
}

/// A script that only listens receives the events up to the end of the run and the last line, and the file is removed.
#[test]
fn a_subscriber_that_sends_no_more_receives_everything() {
    let server = socket();
    let (run, control, _folder, path) = controlled(Builder::new(server.local_addr().unwrap()));
    let mut player = Player::join(&run, &server);
    let mut script = Script::new(&path);
    script.send("{\"id\":1,\"cmd\":\"subscribe\",\"filter\":\"cl_emoticon\"}\n");
    script.line("\"id\":1");
    script.0.get_ref().shutdown(Shutdown::Write).unwrap();
    for emoticon in [3, 4] {
        player.say(&run, &[0x2e, emoticon]);
        script.line("cl_emoticon");
    }
    control.finish(b"the summary\n".to_vec());
    script.line("the summary");
    let mut rest = String::new();
    script.0.read_to_string(&mut rest).unwrap();
    assert_eq!((&*rest, path.exists()), ("", false));
}

//! Options, texts and refusals: every command with its options, its help, and command lines and files with mistakes.

use super::{check, listed};
use crate::teetap;

/// Recordings for the options: a run of teetap with two legs, and a session of 0.7.
const FILES: [&str; 2] = ["capture/src/own/v1.pcapng", "tests/captures/loss-tw07.pcap"];

/// Commands with options for the recording `FILE`.
const PRINTING: &[&str] = &[
    "open FILE --from 1s --to 2s",
    "open FILE --from 150ms -q",
    "open FILE --to 0s -v",
    "open FILE --from 9min",
    "open FILE --wide --time run",
    "open FILE --time wall -v",
    "open FILE --time delta --fold",
    "open FILE --no-fold -q",
    "open FILE --fold --wide -f vital",
    "open FILE -f sv_chat",
    "open FILE -f snap --until any_snap",
    "open FILE --until c2s -v",
    "open FILE --until rcon_auth",
    "open FILE --json --until con_ready",
    "open FILE --json -q",
    "open FILE --json -vv --from 500ms --to 900ms",
    "open FILE --color always",
    "open FILE --color always -vv --ascii",
    "open FILE --color always --fold --time delta",
    "open FILE --color never -v --show-secrets",
    "open FILE -q -v",
    "open FILE --fold -v",
    "open FILE --tui",
    "TEETAP_QUIET=1 open FILE",
    "TEETAP_JSON=yes TEETAP_FILTER=lint open FILE",
    "TEETAP_TIME=never open FILE",
    "TEETAP_WIDE=maybe open FILE",
    "TEETAP_FILTER=vital and open FILE",
    "grep vital FILE -c",
    "grep snap FILE -m 1",
    "grep c2s FILE -A 1 -B 2 -m 2",
    "grep s2c FILE -C 1 -m 3 -v",
    "grep lint FILE -C 100 --color always",
    "grep input FILE --json -m 2",
    "grep vital FILE -c -m 4",
    "grep vital FILE -c --json",
    "grep nothing FILE",
    "grep connless FILE --from 100ms --to 800ms",
    "judge FILE",
    "judge FILE -q",
    "judge FILE -v --color always",
    "judge FILE --only seq-again,resend-request -v",
    "judge FILE --ignore seq-again --ignore login-stalled --json",
    "judge FILE --only wrong-tokn",
    "judge FILE --junit OUT -v --show-secrets",
    "scrub FILE -o OUT -q",
    "scrub FILE -o OUT --keep-unknown",
    "scrub FILE -o FILE",
    "diff FILE",
    "diff FILE FILE",
    "diff FILE FILE -v --color always",
    "diff FILE#1 FILE#2 -v",
    "diff FILE#1@client FILE#1@server --json",
    "diff FILE@client",
    "diff FILE#9 FILE",
    "diff FILE museum/too-many-chunks.pcap --until c2s",
    "diff FILE tests/captures/map-tw07.pcap --until con_ready --color always",
    "diff FILE tests/captures/map-dd.pcap --ignore map_data --ignore name -q",
    "diff FILE tests/captures/map-dd.pcap --ignore nothing",
    "diff FILE tests/captures/map-dd.pcap --until rcon_auth",
    "diff FILE tests/captures/map-tw07.pcap --filter vital -v",
    "check rules/examples/lost-vitals.tap --against FILE -q",
    "check rules/examples/resend-storm.tap rules/examples/stall.tap --against FILE",
    "explain FILE",
    "replay --check FILE",
    "replay FILE",
    "fmt FILE",
    "check FILE",
    "shrink FILE -- true",
    "museum map-twice --save FILE",
];

/// Commands without a file: pages, lists, scripts, and mistakes.
const OTHERS: &[&str] = &[
    "",
    "-V",
    "--help",
    "-h",
    "help",
    "help grep",
    "man",
    "museum",
    "museum --json",
    "museum nothing",
    "museum map-twise",
    "museum map-twice",
    "museum pickup-size --json",
    "museum resized-item -v --color always",
    "museum map-twice --save OUT",
    "messages",
    "messages --form",
    "messages sv_chat --form",
    "messages svchat",
    "messages sys.4",
    "messages NETMSGTYPE_SV_CHAT",
    "messages snap.character",
    "messages --messages none.tw",
    "config",
    "config path",
    "config template",
    "config nothing",
    "TEETAP_SEED=5 TEETAP_RULE=drop config",
    "TEETAP_ASCII=1 config show --color always",
    "completions bash",
    "completions zsh",
    "completions fish",
    "completions tcsh",
    "explain",
    "explain wrong-token ack-ahead",
    "explain wrong-tokn",
    "explain wrong-token --json",
    "explain none.bin",
    "explain 00zz",
    "explain 0",
    "explain museum",
    "open none.pcap",
    "open museum",
    "open Cargo.toml",
    "judge Cargo.toml",
    "judge /dev/null",
    "scrub Cargo.toml -o OUT",
    "diff Cargo.toml museum/map-twice.pcap",
    "diff none.pcap none.pcap",
    "diff - -",
    "grep",
    "grep vital",
    "grep vital museum/map-twice.pcap -m 0",
    "open museum/map-twice.pcap --from x",
    "open museum/map-twice.pcap --from 5parsecs",
    "open museum/map-twice.pcap --time now",
    "open museum/map-twice.pcap --colour always",
    "open museum/map-twice.pcap --listen :0",
    "--json open museum/map-twice.pcap",
    "-q judge museum/map-twice.pcap",
    "opne museum/map-twice.pcap",
    "run",
    "run host:0",
    "run host:x",
    "run [::1",
    "run 192.0.2.1 --junit a.xml --log a.xml",
    "run 192.0.2.1 -w x.txt",
    "run 192.0.2.1 -w a.jsonl --input-log a.jsonl",
    "run 192.0.2.1 -r dropp",
    "run 192.0.2.1 --link nonsense",
    "run 192.0.2.1 --profile 5g",
    "run 192.0.2.1 -R none.tap",
    "run 192.0.2.1 -r exit --faults-from none.jsonl",
    "run 192.0.2.1 --fail-on vital,",
    "run 192.0.2.1 --until",
    "run 192.0.2.1 --timeout 0x",
    "run 192.0.2.1 --seed -1",
    "run 192.0.2.1 -l 1.2.3.4:0",
    "run 192.0.2.1 -l nowhere",
    "run 192.0.2.1 --proto 0.5",
    "run 192.0.2.1 --control /nonexistent/a",
    "run 192.0.2.1 --tui",
    "TEETAP_LISTEN=x run 192.0.2.1",
    "TEETAP_SEED=x run 192.0.2.1",
    "TEETAP_PROTO=x explain 00",
    "demo --seconds 0",
    "demo --proto 0.7",
    "torture 192.0.2.1",
    "torture 192.0.2.1 --jobs 0 -- true",
    "shrink none.jsonl -- true",
    "shrink none.jsonl",
    "shrink none.jsonl --runs 2 --fails 3 -- true",
    "ctl none.sock sessions",
    "ctl none.sock",
    "ctl none.sock nothing",
    "ctl none.sock inject",
    "ctl none.sock rules add",
    "ctl none.sock --session 0 held",
    "ctl none.sock release x",
    "fmt none.tap",
    "fmt --write -",
    "fmt --check --write x",
    "check",
    "check none.tap",
    "check --explain rules/profiles/3g.tap rules/profiles/satellite.tap",
    "replay --check none.log",
];

/// Files of rules, right and wrong.
const RULES: &[&str] = &[
    "drop when sv_chat\n# a comment\nname :  delay 20ms..40ms when c2s   and vital\n",
    "drop when sv_chatt\n",
    "drop wen sv_chat\ndelay x when c2s\n",
    "a: drop when c2s\na: drop when s2c\n",
    "link both delay 5ms loss 2%\nlink both delay 5ms\nlink s2c loss 101%\n",
    "set sv_chat.message = 5 when sv_chat\nset input.direction = \"x\" when input\n",
    "set cl_say.message = \"x\" when sv_chat\n",
    "let a = b\nlet b = a\ndrop when a\n",
    "var $x = 1 when c2s\nlog \"{$x} {$y} {pkt.size} {nothing}\" when c2s\n",
    "inject s2c sv_chat{message: \"hi\"} when cl_say\ninject c2s sv_chat{} when c2s\nreply cl_say{message: \"\"} when c2s\n",
    "exit 300 when c2s\nfail when s2c and c2s\nexpect sv_chat within 5 when cl_say\n",
    "profile mine {\n  link both delay 10ms\n}\nuse \"mine\"\nuse \"other\"\nseed 7\nseed 8\n",
    "use \"3g\"\nuse \"wifi-bad\"\nclose both \"bye\" when sv_motd\nstall 300ms when s2c\nswap when c2s\nreorder 3 when c2s\n",
    "drop when pkt.size > 5 and pkt.size > \"a\" or not (vital\n",
    "hold until seen(con_ready) max 2s when c2s\npause when c2s max 1 per 10s\nlose 2 times when s2c chance 150%\n",
    "drop when c2s first 0\ndrop when c2s every 0 skip -1\ndrop when c2s from 5s until 2s\n",
    "\u{feff}drop when c2s\r\n\tdrop when s2c \u{7}\n",
    "drop when sv_chat.message =~ /[/\nreplace sv_chat.message /(a)/ with \"$2\" when sv_chat\n",
    "",
];

/// Files of definitions, right and wrong.
const DEFINITIONS: &[&str] = &[
    "for 0.6 ddnet\ngame 3 sv_chat s2c vital\n  team bool\n  client_id int -1..63\n  message str\n",
    "for 0.7\ngame 3 sv_chat s2c vital\n  message strr\n",
    "for 0.8\n",
    "game 3 sv_chat s2c\n",
    "for 0.6\nsys x y\n\nobject\n",
];

/// Configuration files, right and wrong.
const SETTINGS: &[&str] = &[
    "seed = 5\nrule = [\"drop when c2s\", \"log when s2c\"]\njson = true\ncolor = \"never\"\n[keys]\nF5 = \"follow\"\n",
    "seed = \"x\"\nnothing = 1\njsonn = true\n",
    "filter = 5\nquiet = \"maybe\"\n[keys]\nF99 = \"follow\"\nF5 = \"folow\"\n",
    "wide = true\ntime = \"wall\"\nascii = true\n[open]\nquiet = true\n",
    "time = \"never\"\nfold = true\nno-fold = true\n",
    "not toml at all [\n",
    "",
];

/// Codes that judge ignores, right and wrong.
const IGNORED: &[&str] = &[
    "# nothing\nlogin-stalled client\nseq-again # a comment\n\nresend-request client\n",
    "seq-again nobody\nseq-agian\n",
];

/// Bytes for `explain` in the forms of programs and languages, right and wrong.
const BYTES: &[&str] = &[
    "10 00 00 01 54 4b 45 4e ff ff ff ff",
    "0x10,0x00,0x00,0x01,0x54,0x4b,0x45,0x4e,0xff,0xff,0xff,0xff",
    "b\"\\x10\\x00\\x00\\x01TKEN\\xff\\xff\\xff\\xff\"",
    "{0x04, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x05}",
    "[4, 0, 0, 1, 2, 3, 4, 1, 5, 6, 7, 8]",
    "{0x04, 400}",
    "\"\\x10\\q\"",
    "\"\\x10",
    "00000000: 1000 0001 544b 454e ffff ffff            ....TKEN....\n",
    "00000000  10 00 00 01 54 4b 45 4e  ff ff ff ff              |....TKEN....|\n0000000c\n",
    "00000000  10 00 00 01 54 4b 45 4e  ff ff ff ff              |....TKEN....|\n00000020\n",
    "13:37:00.000001 IP 127.0.0.1.4660 > 127.0.0.1.8303: UDP, length 12\n\t0x0000:  4500 0028 0001 0000 4011 7cc2 7f00 0001\n\t0x0010:  7f00 0001 1234 206f 0014 0000 1000 0001\n\t0x0020:  544b 454e ffff ffff\n",
    "0000  00 00 00 00 00 00 00 00 00 00 00 00 08 00 45 00\n0010  00 28 00 01 00 00 40 11 7c c2 7f 00 00 01 7f 00\n0020  00 01 12 34 20 6f 00 14 00 00 10 00 00 01 54 4b\n0030  45 4e ff ff ff ff\n",
    "0000  00 00 00\n0005  00\n",
    "000001 67ec52a9 400d01 03 302e3700 68756e7465723200",
    "ffffffffffffffffffffgie3 07",
    "ffffffffffffffffffff6769653307",
    "2101020304ffffffffffffffffffff6769653305",
    "",
    "\u{0}\u{1}\u{2}",
];

/// Splits a command line at spaces.
fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

#[test]
fn options_act_as_before() {
    let mut runs = Vec::new();
    for file in FILES {
        for line in PRINTING {
            runs.push((words(line), file.to_owned()));
        }
    }
    // The names of sides contain the name of the file.
    for (args, file) in &mut runs {
        if let Some(at) = args
            .iter()
            .position(|arg| arg.starts_with("FILE#") || arg.starts_with("FILE@"))
        {
            let sides = args.split_off(at);
            let of_file = |side: &&str| side.strip_prefix("FILE").map(|end| format!("{file}{end}"));
            let sides: Vec<&str> = sides
                .iter()
                .map(|side| of_file(side).map_or(*side, |side| &*side.leak()))
                .collect();
            args.extend(sides);
        }
    }
    check("options", &runs);
}

/// Returns the names of the commands that the help lists, except `help`.
fn commands() -> Vec<String> {
    let help = teetap().arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.map_while(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn pages_and_mistakes_are_printed_as_before() {
    let mut runs: Vec<_> = OTHERS.iter().map(|line| (words(line), String::new())).collect();
    let commands = commands();
    for command in &commands {
        for args in [["help", command], ["man", command]] {
            runs.push((args.to_vec(), String::new()));
        }
    }
    let pages = listed("docs/src/notes", ".md");
    let codes: Vec<&str> = pages
        .iter()
        .filter_map(|page| page.rsplit('/').next()?.strip_suffix(".md"))
        .collect();
    for codes in codes.chunks(8) {
        runs.push(([&["explain"], codes].concat(), String::new()));
    }
    check("pages", &runs);
}

#[test]
fn files_with_mistakes_are_refused_as_before() {
    let mut runs = Vec::new();
    let mut add = |lines: &[&'static str], files: &[&str]| {
        for file in files {
            runs.extend(lines.iter().map(|line| (words(line), (*file).to_owned())));
        }
    };
    add(
        &[
            "check IN --explain",
            "check IN -q --color always",
            "fmt IN",
            "fmt --check IN",
            "fmt --write IN",
            "check IN --against tests/captures/loss-tw07.pcap",
        ],
        RULES,
    );
    add(
        &[
            "messages --messages IN sv_chat",
            "open museum/map-twice.pcap --messages IN",
            "check rules/examples/chat-log.tap --messages IN",
        ],
        DEFINITIONS,
    );
    add(
        &[
            "CONFIG config",
            "CONFIG config path",
            "CONFIG open museum/map-twice.pcap",
            "CONFIG judge tests/captures/loss-tw07.pcap --color always",
            "CONFIG TEETAP_SEED=9 config",
        ],
        SETTINGS,
    );
    add(
        &["judge tests/captures/loss-tw07.pcap -v --ignore-file IN"],
        IGNORED,
    );
    add(
        &[
            "explain IN",
            "explain IN --json",
            "explain IN --proto 0.7 --dir c2s",
            "explain IN --proto ddnet --show-secrets --color always",
        ],
        BYTES,
    );
    for bytes in BYTES.iter().filter(|bytes| !bytes.contains('\0')) {
        runs.push((vec!["explain", bytes], String::new()));
        runs.push((vec!["explain", bytes, "--dir", "s2c", "--json"], String::new()));
    }
    check("given", &runs);
}

//! Effects of rules in the output of the built binary: the rules named for a message, and the summary.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, place, run},
    codec::{Datagram, Variant, parse},
};

use crate::teetap;

/// Rule that makes the checksums of some snapshots wrong.
const WRONG_SUM: &str = "sum: set snap_single.crc = 5 when snap_single chance 30%";

const RULES: [&str; 3] = [
    "slow: delay 20ms when s2c and sv_chat",
    "mark when input",
    "drop when c2s and cl_kill",
];

#[test]
fn messages_name_their_rules_and_the_summary_has_hits_and_effects() {
    let (folder, _) = place("unused");
    let recordings = ["run.pcapng", "run.jsonl"].map(|name| folder.path().join(name));
    for recording in &recordings {
        let args = "demo --seconds 1 --json -l :0 --seed 77";
        let mut command = teetap();
        command.args(args.split(' '));
        for rule in RULES {
            command.args(["-r", rule]);
        }
        command.args(["-r", "link s2c delay 1ms", "-w"]).arg(recording);
        let (stdout, stderr) = run(&mut command, 0);
        let lines = objects(&stdout);
        let rules = |name: &str, lines: &[Value]| -> Vec<Value> {
            let messages = lines
                .iter()
                .filter(|line| line["name"] == name && line["origin"] == "peer");
            messages.map(|line| line["actions"].clone()).collect()
        };
        let chats = rules("sv_chat", &lines);
        let held = serde_json::json!([{"rule": "slow", "action": "hold"}]);
        assert!(
            !chats.is_empty() && chats.iter().all(|actions| *actions == held),
            "{chats:?}"
        );
        let marked = serde_json::json!([
            {"rule": "mark when input", "action": "pass"},
            {"rule": null, "action": "mark", "mark": "mark when input"},
        ]);
        let inputs = rules("input", &lines);
        assert!(inputs.contains(&marked), "{marked} is not among {inputs:?}");

        let summary = lines.last().unwrap();
        let [slow, mark, kill] = [0, 1, 2].map(|at| &summary["rules"][at]);
        assert_eq!(
            (&slow["name"], slow["hits"].as_u64()),
            (&"slow".into(), Some(chats.len() as u64))
        );
        assert!(
            slow["last_at"].is_f64() && slow["last_session"].is_u64(),
            "{slow}"
        );
        assert_eq!(
            (&mark["name"], &mark["text"]),
            (&Value::Null, &"mark when input".into())
        );
        assert_eq!((&kill["hits"], &kill["last_at"]), (&0.into(), &Value::Null));
        let link = &summary["links"][0];
        assert_eq!(
            (&link["link"], &link["dir"]),
            (&"link s2c delay 1ms".into(), &"s2c".into())
        );
        assert!(link["delayed"].as_u64().unwrap() > 20, "{link}");
        let repeat = summary["repeat"].as_str().unwrap();
        assert!(
            repeat.contains(" --seed 77 ") && repeat.contains("-r 'mark when input'"),
            "{repeat}"
        );
        for line in [
            "teetap: rule slow: ",
            "teetap: never hit: drop when c2s and cl_kill\n",
            "teetap: link s2c delay 1ms, s→c: ",
            &format!("teetap: repeat: {repeat}\n"),
        ] {
            assert!(stderr.contains(line), "{line}\n{stderr}");
        }

        let (again, _) = run(teetap().args(["open", "--json"]).arg(recording), 0);
        assert_eq!(rules("sv_chat", &objects(&again)), chats);
        let (text, _) = run(teetap().arg("open").arg(recording), 0);
        assert!(text.contains(" delay 20 ms (slow) "), "{text}");
        assert!(text.contains(" pass (mark when input) "), "{text}");
    }
}

#[test]
fn snapshots_that_only_the_receiver_cannot_apply_are_those_that_the_clients_count() {
    let mut command = teetap();
    command.args([
        "demo",
        "--seconds",
        "1",
        "-l",
        ":0",
        "--seed",
        "5",
        "-r",
        WRONG_SUM,
    ]);
    let (json, stderr) = run(command.arg("--json"), 0);
    // The demo prints `17 snapshots (5 damaged)` for each client.
    let counted = stderr.lines().filter_map(|line| {
        let (_, rest) = line.split_once(" snapshots (")?;
        rest.split_once(" damaged)")?.0.parse::<usize>().ok()
    });
    let (wrong, right): (Vec<_>, Vec<_>) = objects(&json)
        .into_iter()
        .filter(|line| line["name"] == "snap_single")
        .partition(|line| line["snap"]["error_sent"] == "snap-bad-crc");
    assert_eq!(wrong.len(), counted.sum::<usize>(), "{stderr}");
    assert!(!wrong.is_empty() && !right.is_empty());
    for line in &wrong {
        assert_eq!(
            (
                &line["snap"]["crc_ok"],
                &line["sent"]["notes"][0]["code"],
                &line["sent"]["notes"][0]["side"]
            ),
            (&true.into(), &"snap-bad-crc".into(), &"proxy".into())
        );
    }
    assert!(
        right
            .iter()
            .all(|line| line["sent"].is_null() && line["snap"]["error_sent"].is_null())
    );
}

/// Rules with every action that changes what the receiver gets.
const CHANGES: [&str; 7] = [
    "edit: set .message = \"edited\" when s2c and sv_chat first 2",
    "swapped: replace cl_say.message /line/ with \"row\" when cl_say first 1",
    "noise: corrupt 3 bits when sv_chat skip 2 first 2",
    "slow: set .message = \"late\", delay 30ms when cl_say skip 1 first 1",
    "hello: inject s2c sv_broadcast{message: \"hi\"} when enter_game",
    "back: reply sv_motd{message: \"pong\"} when cl_say first 1",
    "gone: drop when input skip 2 every 3",
];

/// Reads the datagrams with the codec of the kit, which shares no code with the decoder.
#[test]
fn the_sent_side_is_what_the_datagram_to_the_receiver_contains() {
    let (folder, path) = place("run.pcapng");
    let mut command = teetap();
    command.args("demo --seconds 1 --json -vv -l :0 --seed 77".split(' '));
    for rule in CHANGES {
        command.args(["-r", rule]);
    }
    let (json, _) = run(command.arg("-w").arg(&path), 0);
    let lines = objects(&json);
    let place_of = |line: &Value, ordinal: &str| {
        let part = |name: &str| line[name].to_string();
        (part("session"), part("dir"), part(ordinal))
    };
    // Datagrams that the proxy makes have no ordinal, so the key may name several of them.
    let mut datagrams: BTreeMap<_, Vec<Datagram>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line["event"] == "datagram") {
        let variant = match line["proto"] == "0.7" {
            true => Variant::V7,
            false => Variant::Ddnet,
        };
        let hexes = line["hex_out"].as_array().unwrap().iter();
        let parsed = hexes.filter_map(|hex| parse(variant, &bytes(hex)).ok());
        datagrams
            .entry(place_of(line, "ordinal"))
            .or_default()
            .extend(parsed);
    }
    let (text, _) = run(teetap().arg("open").arg(&path), 0);
    let mut found = BTreeSet::new();
    for line in lines
        .iter()
        .filter(|line| line["event"] == "message" && line["layer"] != "control")
    {
        // A message of a peer whose session is closing stays on its leg.
        if line["origin"] == "peer" && !line["leg"].is_null() {
            continue;
        }
        let place = place_of(line, "datagram");
        let chunks = || datagrams[&place].iter().flat_map(|datagram| &datagram.chunks);
        let action = line["actions"][0]["action"].as_str().unwrap_or("pass");
        let got = match (action, &line["sent"]) {
            ("drop" | "hold", sent) => {
                assert!(sent.is_null(), "{line}");
                None
            }
            (_, Value::Null) => Some(bytes(&line["hex"])),
            (_, sent) => Some(bytes(&sent["hex"])),
        };
        let is_sent = |data: &Vec<u8>| chunks().any(|chunk| chunk.data == *data);
        assert!(got.as_ref().is_none_or(is_sent), "{line}");
        if let Some(rule) = line["actions"][0]["rule"].as_str() {
            found.insert((rule.to_owned(), action.to_owned(), !line["sent"].is_null()));
        }
    }
    let expected = [
        ("back", "inject", false),
        ("edit", "edit", true),
        ("gone", "drop", false),
        ("hello", "inject", false),
        ("noise", "corrupt", true),
        ("slow", "hold", false),
        ("slow", "release", true),
        ("swapped", "edit", true),
    ];
    let missing: Vec<_> = expected
        .iter()
        .filter(|(rule, action, sent)| !found.contains(&((*rule).to_owned(), (*action).to_owned(), *sent)))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {found:?}");
    for part in [
        "edit (edit) ",
        "→ edited",
        "→ row",
        "(slow) ",
        "→ late",
        "inject (hello)",
        "corrupt (noise): bits ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    drop(folder);
}

/// Returns the bytes of a value in hex.
fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap().as_bytes();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.chunks(2).map(pair).collect()
}

/// The bots of the demo play at the same time, so each leg has two sessions.
#[test]
fn each_leg_is_judged_by_what_was_sent_on_it() {
    let (folder, _) = place("unused");
    for name in ["run.pcapng", "run.jsonl"] {
        let path = folder.path().join(name);
        let mut command = teetap();
        command.args([
            "demo",
            "--seconds",
            "1",
            "-l",
            ":0",
            "--seed",
            "5",
            "-r",
            WRONG_SUM,
            "-w",
        ]);
        run(command.arg(&path), 0);
        let judge = |leg: &str, code| {
            let (text, stderr) = run(teetap().args(["judge", "--leg", leg]).arg(&path), code);
            assert!(stderr.contains(", 2 sessions, "), "{leg} of {name}: {stderr}");
            text
        };
        assert_eq!(
            judge("server", 0),
            "nothing found that a receiver drops, ignores or reads differently\n"
        );
        let client = judge("client", 1);
        let findings: Vec<&str> = client.lines().filter(|line| line.contains(". error ")).collect();
        assert_eq!(findings.len(), 2, "{client}");
        assert!(
            findings
                .iter()
                .all(|line| line.contains(" snap-bad-crc in snap_single: ")),
            "{client}"
        );
    }
}

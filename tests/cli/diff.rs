//! `teetap diff` on captures and on recordings of the demo.

use std::{collections::BTreeSet, fs, path::Path};

use teetap_kit::binary;

use crate::{refused, run, teetap};

fn capture(name: &str) -> String {
    format!("{}/tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

/// Records a demo of one second with these options; returns the folder and the file.
fn demo(options: &[&str], code: i32) -> (tempfile::TempDir, String) {
    let (folder, file) = binary::place("run.pcapng");
    let path = file.to_str().unwrap().to_owned();
    let args = [
        &["demo", "--seconds", "1", "-l", ":0", "-q", "-w", &path],
        options,
    ]
    .concat();
    run(&args, code);
    (folder, path)
}

#[test]
fn a_session_is_like_itself_in_one_line() {
    for name in ["tw07-session", "rich-dd16", "tw06-session", "loss-tw07"] {
        let path = capture(name);
        let (stdout, stderr) = run(&["diff", &path, &path], 0);
        assert!(
            stdout.starts_with("the same: ") && stdout.lines().count() == 1,
            "{stdout}"
        );
        assert_eq!(stderr, "");
    }
    // Any format of the same session is equal.
    let (_folder, file) = binary::place("copy.jsonl");
    let path = capture("tw07-session");
    fs::write(
        &file,
        run(&["open", "--json", "-vv", "--show-secrets", &path], 0).0,
    )
    .unwrap();
    let (stdout, _) = run(&["diff", file.to_str().unwrap(), &path], 0);
    assert!(stdout.starts_with("the same: "), "{stdout}");
}

#[test]
fn the_legs_of_a_run_are_alike_but_for_the_rules() {
    let (_folder, path) = demo(&[], 0);
    for session in ["#1", "#2"] {
        let (stdout, _) = run(&["diff", &format!("{path}{session}")], 0);
        assert!(stdout.starts_with("the same: "), "{stdout}");
    }
    let rules = [
        "-r",
        "set sv_motd.message = \"changed\" when sv_motd",
        "-r",
        "drop when sv_chat",
        "-r",
        "set snap.character.health = 1 when any_snap",
    ];
    let (_folder, path) = demo(&rules, 0);
    let (stdout, _) = run(&["diff", &path, "--json"], 1);
    let lines = binary::objects(&stdout);
    let differences: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "difference")
        .collect();
    // The client leg has the messages that the proxy sends to the client.
    let mut names: Vec<&str> = differences
        .iter()
        .filter_map(|line| line["name"].as_str())
        .collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["character", "sv_chat", "sv_motd"], "{stdout}");
    for line in differences {
        let kind = line["kind"].as_str().unwrap();
        match line["name"].as_str().unwrap() {
            "sv_motd" => assert_eq!(
                (kind, &line["fields"][0]["a"]),
                ("changed", &"\"changed\"".into())
            ),
            "sv_chat" => assert_eq!(kind, "only_b"),
            _ => {
                assert_eq!((kind, &line["fields"][0]["field"]), ("changed", &"health".into()));
                assert!(line["count"].as_u64().unwrap() > 5, "{line}");
            }
        }
    }
    let ignored = [
        "diff",
        &path,
        "--ignore",
        "sv_motd.message",
        "--ignore",
        "sv_chat",
        "--ignore",
        "character.health",
    ];
    let (text, _) = run(&ignored, 0);
    assert!(text.starts_with("the same: "), "{text}");
}

/// Rules that change, drop, delay and make messages, some of which have the text of others.
const RULES: [&str; 8] = [
    "-r",
    "motd: set sv_motd.message = \"changed\" when sv_motd",
    "-r",
    "quiet: drop when sv_chat",
    "-r",
    "slow: delay 200ms when sv_emoticon",
    "-r",
    "greet: inject s2c sv_broadcast{message: \"hello\"} when enter_game once",
];

#[test]
fn an_edit_is_one_difference_with_the_name_of_its_rule() {
    let (_folder, path) = demo(&RULES, 0);
    let (stdout, _) = run(&["diff", &path, "--json"], 1);
    let lines = binary::objects(&stdout);
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines.iter().filter(|line| line["event"] == "difference") {
        let rules = line["rules"].as_array().unwrap();
        let rules: Vec<&str> = rules.iter().filter_map(|rule| rule.as_str()).collect();
        let word = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        found.push((format!("{} {}", word("kind"), word("name")), rules.join("; ")));
    }
    let of = |name: &str| -> BTreeSet<&str> {
        let found = found.iter().filter(|(what, _)| what == name);
        found.map(|(_, rules)| rules.as_str()).collect()
    };
    assert_eq!(of("changed sv_motd"), BTreeSet::from(["motd"]), "{stdout}");
    assert_eq!(of("only_b sv_chat"), BTreeSet::from(["quiet"]), "{stdout}");
    assert_eq!(of("only_a sv_broadcast"), BTreeSet::from(["greet"]), "{stdout}");
    // Every difference is the effect of a rule.
    assert!(found.iter().all(|(_, rules)| !rules.is_empty()), "{stdout}");
    let (text, _) = run(&["diff", &path], 1);
    assert!(
        text.contains(" sv_motd (motd)  message: \"changed\" | "),
        "{text}"
    );
}

#[test]
fn two_protocols_and_the_end_of_a_side_are_said() {
    let (text, _) = run(&["diff", &capture("tw07-session"), &capture("dd-session")], 1);
    assert!(
        text.starts_with("two protocols: A speaks 0.7, B speaks ddnet\n"),
        "{text}"
    );
    assert!(text.contains("skin_part_names[0-5]: \"standard\", "), "{text}");
    let path = capture("dd-session");
    let whole = fs::read(&path).unwrap();
    let (_folder, file) = binary::place("cut.pcap");
    // The first packets of the capture, as in `references/`.
    let cut = include_bytes!("../../references/ddnet-16.4.pcap");
    assert!(whole.starts_with(cut));
    fs::write(&file, cut).unwrap();
    let (text, _) = run(&["diff", file.to_str().unwrap(), &path], 1);
    assert!(!text.contains("two protocols"), "{text}");
    assert!(text.contains("\n  A sends only input"), "{text}");
    assert!(text.contains("\n+ 10 more: cl_say ×2 … close\n"), "{text}");
    let (lines, _) = run(&["diff", file.to_str().unwrap(), &path, "--json"], 1);
    let lines = binary::objects(&lines);
    let stops = lines.last().unwrap()["stops"].as_array().unwrap().clone();
    let sides: Vec<_> = stops.iter().map(|stop| (&stop["side"], &stop["dir"])).collect();
    assert_eq!(
        sides,
        [(&"a".into(), &"c2s".into()), (&"a".into(), &"s2c".into())]
    );
}

#[test]
fn a_reference_is_the_start_of_a_capture_and_compared_up_to_the_join() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, of, client) in [
        ("ddnet-16.4", "dd-session", "ddnet"),
        ("ddnet-20.1", "ddh20-to-dd20", "ddnet"),
        ("teeworlds-0.6.5", "tw06-session", "0.6.5"),
        ("teeworlds-0.7.5", "tw07-session", "0.7"),
        ("ddnet-16.4-0.7", "sixup-session", "0.7"),
    ] {
        let cut = fs::read(root.join(format!("references/{name}.pcap"))).unwrap();
        assert!(cut.len() < 20 << 10, "{name}: {} bytes", cut.len());
        assert!(fs::read(capture(of)).unwrap().starts_with(&cut), "{name}");
        let reference = format!("ref:{name}");
        let (text, _) = run(&["diff", &capture(of), &reference], 0);
        assert!(text.starts_with("the same: "), "{text}");
        let (lines, _) = run(&["diff", &capture(of), &reference, "--json"], 0);
        let lines = binary::objects(&lines);
        assert_eq!(lines[0]["b"]["proto"], client, "{name}");
        assert_eq!(lines[0]["b"]["file"], reference.as_str());
    }
    let folder = fs::read_dir(root.join("references")).unwrap();
    assert_eq!(folder.count(), 5);
    let (text, _) = run(&["diff", &capture("npm-to-dd16"), "ref:ddnet-16.4"], 1);
    assert!(text.contains("messages are compared up to enter_game"), "{text}");
    assert!(!text.contains("cl_say"), "{text}");
    let (text, _) = run(&["diff", &capture("tw07-session"), "ref:ddnet-16.4"], 1);
    assert!(
        text.contains("a reference of the same protocol: ref:teeworlds-0.7.5\n"),
        "{text}"
    );
    refused(
        &["diff", &capture("dd-session"), "ref:ddnet-16"],
        2,
        "unknown reference 'ddnet-16'; did you mean 'ddnet-16.4'?; known: ddnet-16.4, ",
    );
    refused(&["diff", "ref:ddnet-16.4"], 2, "a reference has one leg");
}

#[test]
fn games_are_compared_by_statistics() {
    let (text, _) = run(
        &["diff", &capture("npm-to-dd16"), &capture("dd-session"), "-v"],
        1,
    );
    for name in [
        "input.rate",
        "input.lead",
        "input.ack_age",
        "snap.rate",
        "bytes.s2c",
    ] {
        assert!(text.contains(&format!(" {name} (")), "{name}: {text}");
    }
    let (lines, _) = run(
        &["diff", &capture("npm-to-dd16"), &capture("dd-session"), "--json"],
        1,
    );
    let lines = binary::objects(&lines);
    let statistics = lines.iter().filter(|line| line["event"] == "diff_statistic");
    assert!(statistics.clone().count() > 8, "{lines:?}");
    let rate = statistics
        .clone()
        .find(|line| line["name"] == "snap.rate")
        .unwrap();
    assert!(
        rate["a"]
            .as_f64()
            .is_some_and(|rate| (10.0..60.0).contains(&rate)),
        "{rate}"
    );
    // Statistics of one game on two legs say nothing.
    let (text, _) = run(&["diff", &capture("dd-session"), &capture("dd-session"), "-v"], 0);
    assert!(!text.contains("statistics"), "{text}");
}

#[test]
fn lines_fit_eighty_columns_and_name_both_sides() {
    let (mine, official) = (capture("npm-to-dd16"), capture("dd-session"));
    for options in [&[][..], &["--ascii"], &["-v"], &["--until", "c2s and enter_game"]] {
        let args = [&["diff", &mine, &official], options].concat();
        let (stdout, _) = run(&args, 1);
        // The names contain the folder of the captures.
        let lines = stdout.lines().skip(2);
        for line in lines {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(!options.contains(&"--ascii") || stdout.is_ascii(), "{stdout}");
        assert!(stdout.starts_with('A') && stdout.contains("\nB"), "{stdout}");
        for part in ["client to server", "server to client"] {
            assert!(stdout.contains(part), "{stdout}");
        }
        let last = stdout.lines().last().unwrap();
        assert!(
            last.contains(" differences: ") && last.ends_with(" alike"),
            "{last}"
        );
    }
}

#[test]
fn an_end_that_never_comes_is_a_difference_or_on_both_sides_a_timeout() {
    let (npm, browser) = (capture("npm-to-dd16"), capture("dd-session"));
    let never = ["diff", &npm, &npm, "--until", "sv_vote_set and c2s and s2c"];
    let (_, stderr) = run(&never, 4);
    assert_eq!(
        stderr.matches("no message matches --until").count(),
        2,
        "{stderr}"
    );
    let one = [
        "diff",
        &npm,
        &browser,
        "--until",
        "cl_say.message contains \"npm\"",
    ];
    let (_, stderr) = binary::run(teetap().args(one), 1);
    assert!(
        stderr.matches("no message matches --until").count() <= 1,
        "{stderr}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let path = capture("tw07-session");
    let none = capture("info-requests");
    refused(&["diff", &path, "/nowhere.pcap"], 2, "cannot open /nowhere.pcap");
    refused(&["diff", &path, &none], 2, "it has no session of the game");
    refused(
        &["diff", &path, &format!("{path}#9")],
        2,
        "no such session; it has 1",
    );
    refused(&["diff", &path], 2, "only recordings of teetap have two legs");
    refused(
        &["diff", &format!("{path}@client")],
        2,
        "nothing to compare the leg with",
    );
    refused(&["diff", "-", "-"], 2, "cannot read both sides from stdin");
    refused(
        &["diff", &path, &path, "--ignore", "sv_chta"],
        2,
        "cannot ignore 'sv_chta': no message, object or field is called 'sv_chta'; did you mean 'sv_chat'?",
    );
    let (_, stderr) = run(&["diff", &path, &path, "-f", "nonsense"], 2);
    assert!(stderr.contains("invalid expression for --filter"), "{stderr}");
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refused(&["diff", &path, text], 5, "this is not a recording");
}

#[test]
fn a_damaged_recording_is_compared_as_far_as_it_can_be_read() {
    let path = capture("tw07-session");
    let whole = fs::read(&path).unwrap();
    let (_folder, file) = binary::place("cut.pcap");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let (stdout, stderr) = run(&["diff", &path, file.to_str().unwrap()], 5);
    assert!(
        stdout.contains("only in A") && stderr.contains("the recording is truncated"),
        "{stdout}{stderr}"
    );
    let until = [
        "diff",
        &path,
        file.to_str().unwrap(),
        "--until",
        "c2s and enter_game",
    ];
    let (text, _) = run(&until, 0);
    assert!(text.starts_with("the same: "), "{text}");
    let bytes = fs::read(&path).unwrap();
    let (stdout, _) = binary::piped(teetap().args(["diff", "-", &path]), &bytes, 0);
    assert!(stdout.starts_with("the same: "), "{stdout}");
}

//! `teetap diff` on captures and on recordings of the demo.

use std::fs;

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

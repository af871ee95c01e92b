//! The columns of lines: times, sizes, fields, changes of snapshots, and frame numbers.

use super::{capture, messages};
use crate::{command_line::json, run};

/// Returns the first column of the lines of a recording.
fn times(args: &[&str]) -> Vec<String> {
    let path = capture("rich-tw07.pcap");
    let (text, _) = run(&[&["grep", "sv_chat or cl_say"], args, &[&*path]].concat(), 0);
    text.lines()
        .map(|line| line.trim_start().split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_time_of_a_line_is_that_of_filters_unless_another_one_is_requested() {
    let path = capture("rich-tw07.pcap");
    // The second session starts later than the recording.
    for (filter, expected) in [("t > 2s", true), ("t <= 2s", false)] {
        let (text, _) = run(&["grep", filter, &path], 0);
        assert!(text.lines().count() > 100, "{filter}: {text}");
        for line in text.lines().filter(|line| line.contains(" #2 ")) {
            let time: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
            assert!((time >= 2.0) == expected || time == 2.0, "{line}");
        }
    }
    let of = |time| times(&["--time", time]);
    assert_eq!(times(&[]), of("session"));
    let seconds = |times: &[String]| -> Vec<f64> { times.iter().map(|time| time.parse().unwrap()).collect() };
    let (session, run_times) = (seconds(&of("session")), seconds(&of("run")));
    assert!(
        session
            .iter()
            .zip(&run_times)
            .all(|(session, run)| session <= run)
    );
    assert_ne!(session, run_times, "the second session begins later");
    assert!(run_times.is_sorted(), "{run_times:?}");
    let deltas = of("delta");
    assert!(deltas.iter().all(|time| time.starts_with('+')), "{deltas:?}");
    let sum: f64 = seconds(&deltas).iter().sum();
    let whole = run_times[run_times.len() - 1] - run_times[0];
    assert!(
        (sum - whole).abs() < 0.1,
        "the sum is {sum}, the whole time {whole}"
    );
    let wall = of("wall");
    assert!(
        wall.iter()
            .all(|time| time.len() == 12 && time.split(':').count() == 3),
        "{wall:?}"
    );
    // Parts of a recording are selected by the time of the recording.
    let (part, _) = run(&["open", "--time", "run", "--from", "2s", "--to", "3s", &path], 0);
    for line in part.lines() {
        let time: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
        assert!((2.0..=3.0).contains(&time), "{line}");
    }
}

#[test]
fn sizes_are_in_their_column_below_long_names() {
    for name in ["rich-dd16.pcap", "ddh20-to-dd20.pcap", "rich-tw07.pcap"] {
        let (text, _) = run(&["open", &capture(name)], 0);
        let columns = messages(&text).into_iter().map(|line| {
            let at = line.find(" byte").unwrap();
            line[..at].chars().count()
        });
        let mut columns: Vec<usize> = columns.collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), 1, "{name}: {columns:?}");
    }
}

#[test]
fn a_whole_message_has_its_fields_and_its_bytes() {
    let path = capture("tw07-session.pcap");
    let (text, _) = run(&["grep", "-vv", "sv_motd", &path], 0);
    assert!(
        text.contains("message: \"rig motd\"") || text.contains("message: rig motd"),
        "{text}"
    );
    assert!(text.contains(" bytes 02726967206d6f746400"), "{text}");
    let (secret, _) = run(&["grep", "-vv", "rcon_auth", &path], 0);
    assert!(secret.contains(": •••"), "{secret}");
    let (open, _) = run(&["grep", "-vv", "--show-secrets", "rcon_auth", &path], 0);
    assert!(!open.contains("•••"), "{open}");
    let (short, _) = run(&["grep", "-v", "sv_motd", &path], 0);
    assert!(!short.contains(" bytes 02"), "{short}");
}

#[test]
fn changes_of_snapshots_are_those_since_the_one_before() {
    let path = capture("rich-tw07.pcap");
    let (since, _) = run(&["open", &path], 0);
    assert!(
        since.contains(" changed since ") || since.contains(" the same as "),
        "{since}"
    );
    let (base, _) = run(&["open", "-vv", &path], 0);
    assert!(
        !base.contains(" since 1") && !base.contains(" the same as "),
        "{base}"
    );
    // The compared tick is the tick of the previous snapshot line in the session.
    let mut last: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    let mut compared = 0;
    for line in since
        .lines()
        .filter(|line| line.contains(" tick ") && line.contains(" s→c "))
    {
        let session = line.split_whitespace().nth(1).unwrap();
        let (_, rest) = line.split_once(" tick ").unwrap();
        let tick = rest.split([' ', ',']).next().unwrap();
        let before = [" since ", " the same as "]
            .iter()
            .find_map(|word| line.split_once(word));
        if let Some((_, before)) = before {
            let before = before.split(',').next().unwrap();
            assert_eq!(last.get(session), Some(&before), "{line}");
            compared += 1;
        }
        last.insert(session, tick);
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn captures_of_other_programs_have_numbers_of_frames() {
    let path = capture("tw07-session.pcap");
    let (lines, _) = run(&["open", "-v", &path], 0);
    let frames = lines
        .lines()
        .filter_map(|line| line.split_once(", frame ")?.1.split(':').next());
    let frames: Vec<u64> = frames.map(|frame| frame.parse().unwrap()).collect();
    assert!(frames.len() > 400 && frames.is_sorted(), "{frames:?}");
    // A filter finds the message by its frame number.
    let frame = frames[frames.len() / 2];
    let (found, _) = run(&["grep", "-v", &format!("frame == {frame}"), &path], 0);
    assert!(found.contains(&format!(", frame {frame}:")), "{found}");
    for line in run(&["open", "--json", "-v", &path], 0).0.lines() {
        let line = json(line);
        let has_frame = ["message", "datagram"].contains(&line["event"].as_str().unwrap());
        assert_eq!(line["frame"].as_u64().is_some(), has_frame, "{line}");
    }
    let (noted, _) = run(&["grep", "lint.surplus_bytes", &capture("rich-tw07.pcap")], 0);
    assert!(noted.lines().any(|line| line.contains("; frame ")), "{noted}");
}

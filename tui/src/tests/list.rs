//! The message list over a recorded session.

use std::{sync::Arc, time::Duration};

use teetap_inspect::reading::MessageOutcome;
use teetap_proxy::session::{Action, Level, SessionId, Time};

use super::{
    feed::{SIZES, blank, draw, events, press, recorded, replayed},
    proxied,
};
use crate::{
    App,
    app::{
        Overlay,
        cursor::Moves as _,
        history::Row,
        timeline::{Reading, Timeline},
    },
};

/// Returns a screen on which no message is folded.
pub(super) fn unfolded() -> App {
    let mut app = recorded();
    for group in ["input", "input_timing", "snap", "keepalive"] {
        assert!(!app.messages.toggle_fold(group));
    }
    app
}

#[test]
fn the_first_screen_of_a_recording_at_each_size() {
    for (width, height) in SIZES {
        let mut app = unfolded();
        press(&mut app, "g");
        insta::assert_snapshot!(format!("list-{width}x{height}"), draw(&mut app, (width, height)));
    }
}

#[test]
fn noise_has_one_live_line_for_each_type_until_z_unfolds_it() {
    let mut app = recorded();
    for size in SIZES {
        insta::assert_snapshot!(format!("folded-{}x{}", size.0, size.1), draw(&mut app, size));
    }
    let screen = draw(&mut app, (80, 24));
    let groups: Vec<&str> = app.messages.folds().map(|fold| fold.group).collect();
    assert_eq!(groups, ["input", "input_timing", "snap"]);
    for fold in app.messages.folds() {
        let count = format!("×{:<6}", fold.count());
        let lines = screen
            .lines()
            .filter(|line| line.contains(&format!(" {}", fold.group)) && line.contains(&count));
        assert_eq!(lines.count(), 1, "{}: {screen}", fold.group);
    }
    let counted: usize = app.messages.folds().map(|fold| fold.count()).sum();
    let (listed, all) = (app.messages.len(), unfolded().messages.len());
    assert_eq!(listed + counted, all);
    assert!(listed * 2 < all, "{listed} of {all}");

    press(&mut app, "z");
    insta::assert_snapshot!("fold-menu", draw(&mut app, (80, 24)));
    choose(&mut app, "unfold input ");
    assert!(draw(&mut app, (80, 24)).contains("input is unfolded"));
    assert!(app.messages.len() > listed);
    assert_eq!(app.messages.folds().len(), 2);
    // The type of the selected row.
    app.messages.last();
    while app.messages.group() != Some("input") {
        press(&mut app, "k");
    }
    press(&mut app, "z");
    choose(&mut app, "fold input");
    assert_eq!((app.messages.len(), app.messages.folds().len()), (listed, 3));
}

/// Chooses the entry of the open menu whose text begins with `words`, by its key.
fn choose(app: &mut App, words: &str) {
    let menu = match &app.dialog.overlay {
        Some(Overlay::Menu(menu)) => Some(menu),
        _ => None,
    };
    let entry = menu
        .unwrap()
        .entries
        .iter()
        .find(|entry| entry.text.starts_with(words));
    let key = entry.unwrap().key.to_string();
    press(app, &key);
}

#[test]
fn a_line_of_a_folded_type_is_kept_up_to_date_in_its_place() {
    let mut app = blank();
    let line = |app: &mut App| {
        let screen = draw(app, (80, 24));
        let found = screen.lines().rev().find(|line| line.contains(" input  "));
        found.map(str::to_owned)
    };
    let (mut seen, mut last) = (0, None);
    for decoded in &events("tw07-session") {
        app.push(decoded);
        app.tick(decoded.event.at);
        let fold = app.messages.folds().find(|fold| fold.group == "input");
        let count = fold.map_or(0, |fold| fold.count());
        if count > seen {
            let shown = line(&mut app);
            assert!(
                shown.as_ref().unwrap().contains(&format!("×{count:<6}")),
                "{shown:?}"
            );
            assert_ne!(shown, last);
            (seen, last) = (count, shown);
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(!line(&mut app).unwrap().contains(" 0/s"));
    app.tick(app.run.now + Duration::from_secs(2));
    assert!(line(&mut app).unwrap().contains(" 0/s"));
    // The line counts only what is listed: the picked session, rows with warnings, the filter.
    app.messages.pick(Some(SessionId(9)));
    assert_eq!(app.messages.folds().len(), 0);
    assert_eq!(line(&mut app), None);
    app.messages.pick(None);
    app.set_filter("s2c").unwrap();
    assert_eq!(line(&mut app), None);
    app.clear(true);
    assert_eq!(app.messages.folds().len(), 0);
}

#[test]
fn folded_types_without_room_are_counted() {
    let mut app = recorded();
    let screen = draw(&mut app, (80, 12));
    assert!(screen.contains("── folded: z unfolds ──"), "{screen}");
    assert!(screen.contains(" 2 more folded types"), "{screen}");
    let screen = draw(&mut app, (80, 5));
    assert!(screen.contains(" 3 folded types: z unfolds"), "{screen}");
}

#[test]
fn a_list_without_traffic_names_the_command_to_connect() {
    let mut app = blank();
    app.log(Time(3_000), Level::Info, "the server answers 0.7");
    insta::assert_snapshot!("empty", draw(&mut app, (80, 8)));
}

#[test]
fn the_newest_row_is_followed_until_another_one_is_selected() {
    let mut app = unfolded();
    let rows = app.messages.len();
    assert!(rows > 100 && app.messages.follows());
    draw(&mut app, (80, 24));
    let places = |app: &App| app.messages.visible().map(|(place, _)| place).collect::<Vec<_>>();
    assert_eq!(places(&app), (rows - 21..rows).collect::<Vec<_>>());

    press(&mut app, "k");
    app.log(Time(1), Level::Warning, "one more row");
    draw(&mut app, (80, 24));
    assert_eq!(app.messages.selected(), Some(rows - 2));
    assert_eq!(
        places(&app).last(),
        Some(&(rows - 1)),
        "the rows stay where they were"
    );

    press(&mut app, "g");
    draw(&mut app, (80, 24));
    assert_eq!(places(&app), (0..21).collect::<Vec<_>>());
    press(&mut app, "PgDn");
    assert_eq!(app.messages.selected(), Some(20));
    press(&mut app, "G");
    assert!(app.messages.follows());
    press(&mut app, "F");
    assert!(!app.messages.follows());
    press(&mut app, "esc");
    assert!(app.messages.follows());
    // An open message stays selected.
    press(&mut app, "enter");
    let open = app.messages.number();
    app.log(Time(2), Level::Warning, "one more row");
    assert_eq!(app.messages.number(), open);
    press(&mut app, "esc esc");
    assert!(app.messages.follows());
}

#[test]
fn the_newest_row_is_followed_again_from_its_place_on() {
    let mut app = unfolded();
    let rows = app.messages.len();
    press(&mut app, "k k");
    for (place, follows) in [(rows - 3, false), (rows - 2, false), (rows - 1, true)] {
        let found = (app.messages.selected(), app.messages.follows());
        assert_eq!(found, (Some(place), follows), "of {rows} rows");
        press(&mut app, "j");
    }
}

/// Several rows have the same time.
#[test]
fn a_time_selects_its_first_row() {
    let mut app = unfolded();
    press(&mut app, "g");
    let mut times = Vec::new();
    for _ in 0..60 {
        times.push(app.messages.row().and_then(Row::at).unwrap());
        press(&mut app, "j");
    }
    for time in &times {
        assert!(app.select_time(*time), "{time:?}");
        let first = times.iter().position(|other| other == time);
        assert_eq!(app.messages.selected(), first, "{time:?} of {times:?}");
    }
    assert!(!app.select_time(Time(u64::MAX)));
}

#[test]
fn a_frozen_list_stays_while_traffic_goes_on() {
    let mut app = unfolded();
    press(&mut app, "space");
    let before = draw(&mut app, (80, 24));
    let rows = app.messages.len();
    app.gap(3);
    let after = draw(&mut app, (80, 24));
    assert_eq!((before, app.messages.len()), (after, rows));
    press(&mut app, "space G");
    assert_eq!(app.messages.len(), rows + 1);
}

#[test]
fn only_rows_with_warnings_are_shown_with_their_counts() {
    let mut app = replayed("npm-to-dd16");
    assert!(app.run.meter.lint_count() > 0);
    app.gap(5);
    press(&mut app, "L");
    let screen = draw(&mut app, (80, 10));
    assert!(screen.contains("5 events missed"), "{screen}");
    // Keys do not remove the counts.
    press(&mut app, "k");
    let screen = draw(&mut app, (80, 10));
    for (code, count) in &app.run.meter.lints {
        assert!(screen.contains(&format!("  {count} {code}")), "{screen}");
    }
    assert_eq!(
        app.messages.len() as u64,
        1 + app.run.meter.lint_count(),
        "{:?}",
        app.run.meter
    );
    press(&mut app, "L");
    assert!(app.messages.len() > 20);
}

#[test]
fn a_gap_and_a_log_line_are_rows() {
    let mut app = blank();
    app.gap(17);
    app.log(Time(2_500_000), Level::Warning, "port 8303 is taken");
    let screen = draw(&mut app, (80, 6));
    assert!(screen.contains("17 events missed"), "{screen}");
    assert!(
        screen.contains("2.500 -   teetap: port 8303 is taken"),
        "{screen}"
    );
}

#[test]
fn the_history_is_bounded() {
    let mut app = blank();
    let text = "x".repeat(1 << 20);
    for _ in 0..200 {
        app.log(Time(0), Level::Info, &text);
    }
    let kept = app.messages.history.numbers().count();
    assert!((50..=64).contains(&kept) && app.messages.len() == kept, "{kept}");
    draw(&mut app, (80, 24));
    press(&mut app, "g");
    assert_eq!(app.messages.selected(), Some(0));
    app.log(Time(0), Level::Info, &text);
    assert_eq!(app.messages.selected(), Some(0));
}

/// Returns the row of the server's first chat message with this action.
fn chat_with(done: MessageOutcome, rules: &[&str], columns: u16) -> String {
    let mut app = blank();
    for mut decoded in events("tw07-session") {
        let reading = Arc::get_mut(&mut decoded).unwrap().reading.as_mut();
        let messages = reading.map_or(&mut [][..], |reading| &mut reading.messages);
        let Some(message) = messages
            .iter_mut()
            .find(|message| message.name == Some("sv_chat"))
        else {
            continue;
        };
        (message.handling.done, message.transport.resend) = (done, true);
        message.handling.rules = rules.iter().map(|rule| (*rule).into()).collect();
        app.push(&decoded);
        break;
    }
    let screen = draw(&mut app, (columns, 6));
    let row = screen.lines().find(|line| line.contains("sv_chat")).unwrap();
    row.trim_matches('"').to_owned()
}

#[test]
fn the_letter_at_the_end_of_a_row_says_what_was_done() {
    for (action, rules, letter) in [
        (Action::Pass, &[][..], ' '),
        (Action::Pass, &["seen"], '*'),
        // The proxy forwarded the resend. A column shows its flag, and there is no action.
        (Action::Repeat, &[], ' '),
        (Action::Known, &[], 'K'),
        (Action::Gap, &[], 'G'),
        (Action::Refuse, &[], 'F'),
        (Action::Drop, &["quiet"], 'D'),
        (Action::Lose, &["quiet"], 'L'),
        (Action::Hold, &["quiet"], 'H'),
        (Action::Edit, &["quiet"], 'E'),
    ] {
        let row = chat_with(MessageOutcome::Placed(action), rules, 80);
        assert_eq!(row.chars().rev().nth(1), Some(letter), "{action}: {row}");
        assert!(row.contains(" R "), "{row}");
    }
    for done in [MessageOutcome::Discarded, MessageOutcome::Refused] {
        let row = chat_with(done, &[], 80);
        assert_eq!(row.chars().rev().nth(1), Some('X'), "{row}");
    }
}

#[test]
fn a_row_that_a_rule_touched_shows_the_message_and_then_the_rule() {
    let plain = chat_with(MessageOutcome::Placed(Action::Pass), &[], 200);
    let (_, gist) = plain.split_once("sv_chat").unwrap();
    let gist = gist.trim();
    assert!(gist.len() > 10, "{gist}");
    let rule = "set sv_chat.message = \"something that is rather long\" when sv_chat";
    for columns in [60, 80, 90, 100, 110, 120, 200] {
        let row = chat_with(MessageOutcome::Placed(Action::Edit), &[rule], columns);
        let (_, summary) = row.split_once("sv_chat").unwrap();
        let begins: String = gist.chars().take(10).collect();
        assert!(summary.trim_start().starts_with(&begins), "{columns}: {row}");
        // A small screen shows only the letter.
        assert_eq!(row.contains("  edit"), columns >= 80, "{columns}: {row}");
    }
    let row = chat_with(MessageOutcome::Placed(Action::Edit), &[rule], 200);
    assert!(
        row.contains(&format!(
            "{gist}  edit (set sv_chat.message = \"something that is…) "
        )),
        "{row}"
    );
}

#[test]
fn the_oldest_row_says_that_older_ones_are_gone() {
    let mut app = blank();
    app.messages.history.limit = 1 << 20;
    let text = "x".repeat(300 << 10);
    let sign = |app: &mut App| {
        press(app, "g");
        let screen = draw(app, (80, 24));
        let line = screen.lines().find(|line| line.contains("older"));
        line.map(|line| line.trim_matches('"').trim_end_matches('─').trim().to_owned())
    };
    for _ in 0..3 {
        app.log(Time(0), Level::Info, &text);
        assert_eq!(sign(&mut app), None);
    }
    app.log(Time(0), Level::Info, &text);
    assert_eq!(
        sign(&mut app).as_deref(),
        Some("── 1 older row is gone, until 0.0 s: --history 1")
    );
    app.log(Time(0), Level::Info, &text);
    assert_eq!(
        sign(&mut app).as_deref(),
        Some("── 2 older rows are gone, until 0.0 s: --history 1")
    );
    // The sign is above the oldest row and nowhere else.
    let mut app = recorded();
    app.messages.history.limit = app.messages.history.numbers().count() * 400;
    app.log(Time(0), Level::Info, "one more");
    assert!(app.messages.len() > 30);
    assert!(sign(&mut app).is_some_and(|line| line.contains("older rows are gone")));
    press(&mut app, "PgDn PgDn");
    assert!(!draw(&mut app, (80, 24)).contains("older rows"));
    // Earlier rows of a recording can be read again.
    let mut app = recorded();
    let mut timeline = Timeline::new(1000);
    timeline.begin(100);
    app.timeline = Some(timeline);
    press(&mut app, "<");
    app.messages.first();
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("── earlier rows are read with < or g ─"),
        "{screen}"
    );
    app.timeline = Some(Timeline::new(1000));
    let screen = draw(&mut app, (80, 24));
    assert!(!screen.contains("earlier rows"), "{screen}");
}

#[test]
fn the_counts_of_warnings_say_which_part_they_are_about() {
    let mut app = blank();
    press(&mut app, "L");
    assert!(draw(&mut app, (80, 24)).contains(" no warnings so far "));
    app.gap(1);
    app.log(Time(0), Level::Warning, "the disk is full");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains(" no notes on messages; 2 other warnings "),
        "{screen}"
    );

    // Earlier parts of the recording may have warnings.
    let mut app = blank();
    let mut timeline = Timeline::new(1000);
    timeline.begin(500);
    timeline.reading = Reading::Ended;
    app.timeline = Some(timeline);
    press(&mut app, "L");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains(" no warnings in the part of the recording that is listed "),
        "{screen}"
    );
    let mut app = replayed("npm-to-dd16");
    press(&mut app, "L");
    let whole = draw(&mut app, (80, 24));
    assert!(whole.contains(" warnings by code:  "), "{whole}");
    let mut timeline = Timeline::new(1000);
    timeline.begin(500);
    app.timeline = Some(timeline);
    let part = draw(&mut app, (80, 24));
    assert!(part.contains(" warnings of this part by code:  "), "{part}");
}

#[test]
fn everything_that_narrows_the_list_is_a_crumb_with_the_key_that_ends_it() {
    let mut app = proxied::app();
    let crumbs = |app: &mut App| {
        let screen = draw(app, (80, 24));
        let line = screen.lines().nth(1).unwrap().trim_matches('"').trim_end();
        line.to_owned()
    };
    let heads = "   run s id  way f   seq message            contents                         did";
    assert_eq!(crumbs(&mut app), heads, "nothing is in force");
    press(&mut app, "s");
    choose(&mut app, "#1 ");
    assert_eq!(crumbs(&mut app), " s only #1 \"ddnet\"");
    app.set_filter("s2c").unwrap();
    press(&mut app, "L space enter \\");
    assert_eq!(
        crumbs(&mut app),
        " s only #1 \"ddnet\" › L warnings only › space frozen › \\ only fields"
    );
    let second = draw(&mut app, (80, 24)).lines().nth(2).unwrap().to_owned();
    assert!(second.contains(" f filter s2c "), "{second}");
    press(&mut app, "f");
    let second = draw(&mut app, (80, 24)).lines().nth(2).unwrap().to_owned();
    assert!(second.contains(" f filter (off) s2c"), "{second}");
    // Other views are not narrowed by it.
    press(&mut app, "4");
    assert!(!crumbs(&mut app).contains('›'), "{}", crumbs(&mut app));
    press(&mut app, "1 \\ L space");
    // On a low screen the crumbs replace the views.
    let low = draw(&mut app, (60, 6));
    let low = low.lines().next().unwrap();
    assert!(low.contains(" s only #1 \"ddnet\" › f filter (off) s2c"), "{low}");
}

#[test]
fn the_session_that_is_picked_is_a_crumb() {
    let mut app = proxied::app();
    let first = |app: &mut App| {
        let screen = draw(app, (80, 24));
        screen.lines().nth(1).unwrap().to_owned()
    };
    assert!(!first(&mut app).contains("only"));
    press(&mut app, "s");
    choose(&mut app, "#1 ");
    assert!(
        first(&mut app).contains(" s only #1 \"ddnet\" "),
        "{}",
        first(&mut app)
    );
    press(&mut app, "s 0");
    assert!(!first(&mut app).contains("only"));
}

/// Returns the texts of the listed rows that are not about messages.
fn other_rows(app: &mut App) -> Vec<String> {
    let rows = app.messages.history.numbers();
    press(app, "g");
    let height = u16::try_from(rows.end - rows.start).unwrap() + 10;
    // A wider screen would have detail panes beside the list.
    let screen = draw(app, (110, height));
    let lines: Vec<&str> = screen.lines().collect();
    let is_other = |line: &&&str| {
        ["session ", "note: ", "warning: ", "teetap: ", " missed"]
            .iter()
            .any(|word| line.contains(word))
    };
    // Leaves out the first and the last line of the screen, and times.
    let rows = lines.iter().skip(1).take(lines.len() - 2).filter(is_other);
    let text = |line: &&str| {
        line.trim_matches('"')
            .get(9..)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    rows.map(text).collect()
}

#[test]
fn a_filter_shows_notices_of_sessions_with_a_message_that_passes() {
    let mut app = proxied::app();
    app.log(Time(2_000_000), Level::Info, "the server answers");
    app.log(Time(2_000_000), Level::Warning, "the disk is full");
    app.gap(3);
    let all = other_rows(&mut app);
    let of = |start: &str| all.iter().filter(|line| line.contains(start)).count();
    assert!(of("#1") > 2 && of("#2") > 2 && of("teetap: ") == 2, "{all:#?}");

    // Only session #2 has a message of this name.
    app.set_filter("sess.id == 2 and cl_say").unwrap();
    let shown = other_rows(&mut app);
    assert!(
        shown.iter().any(|line| line.starts_with("#2  session closed")),
        "{shown:#?}"
    );
    assert!(!shown.iter().any(|line| line.starts_with("#1")), "{shown:#?}");
    // The session's rows pass from its first matching message on.
    assert!(
        !shown.iter().any(|line| line.contains("session online")),
        "{shown:#?}"
    );
    assert!(
        shown.iter().any(|line| line.contains("missed: this output")),
        "{shown:#?}"
    );
    assert!(
        shown.iter().any(|line| line.contains("the disk is full")),
        "{shown:#?}"
    );
    assert!(
        !shown.iter().any(|line| line.contains("the server answers")),
        "{shown:#?}"
    );

    // Messages of a later session with the same number do not count.
    app.set_filter("sv_motd").unwrap();
    let with_motd = other_rows(&mut app).len();
    app.set_filter("cl_kill").unwrap();
    let without = other_rows(&mut app);
    assert_eq!(without.len(), 2, "{without:#?}");
    assert!(with_motd > 2);
    press(&mut app, "f");
    assert_eq!(other_rows(&mut app), all);
}

#[test]
fn a_filter_of_a_recording_shows_notices_of_the_sessions_that_it_found() {
    let mut app = blank();
    app.timeline = Some(Timeline::new(1000));
    app.set_filter("sv_motd").unwrap();
    // Same as the reader: matching messages, and events without messages.
    for mut decoded in proxied::events() {
        let reading = Arc::get_mut(&mut decoded).unwrap().reading.as_mut();
        let mut passes = reading.is_none();
        for message in reading.map_or(&mut [][..], |reading| &mut reading.messages) {
            message.visibility.shown = message.name == Some("sv_motd");
            passes |= message.visibility.shown;
        }
        let is_of_two = decoded.event.session == Some(SessionId(2));
        if passes && (is_of_two || decoded.reading.is_none()) {
            app.push_match(&decoded);
        }
    }
    let shown = other_rows(&mut app);
    assert!(!shown.is_empty(), "session #2 is closed after the message");
    assert!(shown.iter().all(|line| line.starts_with("#2")), "{shown:#?}");
}

#[test]
fn the_first_line_gives_up_addresses_before_what_is_shown() {
    let mut app = recorded();
    let mut first = |columns: u16| {
        let screen = draw(&mut app, (columns, 10));
        screen.lines().next().unwrap().trim_matches('"').to_owned()
    };
    for (columns, start) in [
        (120, " REC teetap  example.org  connect 127.0.0.1:8303  "),
        (92, " REC teetap  example.org  "),
        (82, " REC example.org  "),
        (80, " REC teetap  "),
        (60, " REC "),
    ] {
        let line = first(columns);
        assert!(
            line.starts_with(start) && line.contains("▸1 m"),
            "{columns}: {line}"
        );
    }
}

#[test]
fn a_picked_session_hides_events_of_others_and_of_none() {
    let mut app = proxied::app();
    app.log(Time(2_000_000), Level::Info, "the server answers");
    let all = other_rows(&mut app);
    assert!(
        all.iter().any(|line| line.contains("4 rules are set")),
        "{all:#?}"
    );
    press(&mut app, "s");
    choose(&mut app, "#1 ");
    let shown = other_rows(&mut app);
    assert!(shown.iter().any(|line| line.starts_with("#1")), "{shown:#?}");
    assert!(!shown.iter().any(|line| line.starts_with("#2")), "{shown:#?}");
    assert!(
        !shown.iter().any(|line| line.contains("rules are set")),
        "{shown:#?}"
    );
    assert!(
        shown
            .iter()
            .any(|line| line.contains("teetap: the server answers")),
        "{shown:#?}"
    );
}

#[test]
fn the_selected_row_stays_selected_when_the_list_is_made_again() {
    let mut app = recorded();
    draw(&mut app, (80, 24));
    press(&mut app, "g j j j j j j j j j j");
    let selected = app.messages.number();
    assert!(selected.is_some());
    for _ in 0..2 {
        app.messages.toggle_fold("snap");
        assert_eq!(
            app.messages.number(),
            selected,
            "after snapshots are folded or not"
        );
    }
    app.set_filter("s2c or c2s").unwrap();
    assert_eq!(app.messages.number(), selected, "after a filter that it passes");
    app.set_filter("").unwrap();
    assert_eq!(app.messages.number(), selected, "without the filter");
}

#[test]
fn visible_rows_stay_where_they_are_while_old_ones_are_dropped() {
    let mut app = blank();
    app.messages.history.limit = 1 << 20;
    let text = "x".repeat(10 << 10);
    for _ in 0..200 {
        app.log(Time(0), Level::Info, &text);
    }
    draw(&mut app, (80, 24));
    press(&mut app, "g PgDn PgDn PgDn");
    draw(&mut app, (80, 24));
    press(&mut app, "k k k k k k");
    draw(&mut app, (80, 24));
    let numbers = |app: &App| {
        app.messages
            .visible()
            .map(|(_, number)| number)
            .collect::<Vec<_>>()
    };
    let before = (numbers(&app), app.messages.number());
    let oldest = app.messages.history.numbers().start;
    for _ in 0..3 {
        app.log(Time(0), Level::Info, &text);
    }
    assert_eq!(
        app.messages.history.numbers().start,
        oldest + 3,
        "rows are dropped"
    );
    draw(&mut app, (80, 24));
    assert_eq!((numbers(&app), app.messages.number()), before);
}

#[test]
fn a_handshake_stays_when_older_rows_are_dropped() {
    let mut app = blank();
    app.messages.history.limit = 480 << 10;
    for _ in 0..6 {
        for decoded in events("tw07-session") {
            app.push(&decoded);
        }
    }
    let start = app.messages.history.numbers().start;
    let rare = app.messages.history.rare_len();
    assert!(start > 1000 && (30..1000).contains(&rare), "{start} {rare}");
    press(&mut app, "g");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains(&format!(", {rare} rare ones stay ")), "{screen}");
    // Rare rows are filtered, listed and saved like the others.
    let list = |app: &App| {
        app.messages
            .visible()
            .map(|(_, number)| number)
            .collect::<Vec<_>>()
    };
    let shown = list(&app);
    app.set_filter("cl_start_info").unwrap();
    let count = app.messages.len();
    assert!(count >= 3, "{count}");
    assert!(app.messages.wanted_events().len() >= 3);
    app.set_filter("").unwrap();
    press(&mut app, "g");
    draw(&mut app, (80, 24));
    assert_eq!(list(&app), shown);
    // Inputs are not rare.
    let first = app.messages.history.numbers().start;
    let inputs = (0..first).filter(|number| {
        let row = app.messages.history.get(*number);
        row.and_then(|row| row.message())
            .is_some_and(|(_, message)| message.name == Some("input"))
    });
    assert_eq!(inputs.count(), 0);
}

//! A recording on the screen: its time line, positions to move to, and a filter that the reader evaluates.

use teetap_inspect::Decoder;
use teetap_proxy::session::Time;
use teetap_rules::Filter;
use teetap_wire::def::Registry;

use super::{
    feed::{SIZES, draw, events, press, title, type_text},
    proxied,
};
use crate::{
    App, Title,
    app::timeline::{Reading, Seek, Timeline},
};

/// Returns a screen with a recording of 1000 bytes, of which the last 600 are listed.
fn app() -> App {
    let mut app = proxied::app();
    app.run.title = Title {
        target: "run.pcapng".to_owned(),
        connect: String::new(),
        ..title()
    };
    let mut timeline = Timeline::new(1000);
    timeline.indexed = u64::MAX;
    timeline.until = Some(Time(90_000_000));
    timeline.begin(400);
    let rows = app.messages.history.numbers();
    for tenth in 0..10 {
        timeline.mark(rows.end * tenth / 10, 400 + 60 * tenth, rows.start);
    }
    timeline.listed.end = 1000;
    timeline.reading = Reading::Ended;
    app.timeline = Some(timeline);
    app
}

#[test]
fn the_seed_is_shown_where_there_is_one() {
    let mut app = app();
    press(&mut app, "6");
    assert!(draw(&mut app, (120, 30)).contains("  seed 42"));
    app.run.title.seed = None;
    assert!(!draw(&mut app, (120, 30)).contains("seed"));
}

fn requested(app: &mut App) -> Option<Seek> {
    app.timeline.as_mut().unwrap().take_wanted()
}

#[test]
fn a_recording_has_a_time_line_at_each_size() {
    for (width, height) in SIZES {
        let mut app = app();
        press(&mut app, "k PgUp PgUp");
        insta::assert_snapshot!(
            format!("timeline-{width}x{height}"),
            draw(&mut app, (width, height))
        );
    }
}

#[test]
fn keys_and_commands_go_to_places() {
    let mut app = app();
    press(&mut app, "g");
    assert_eq!(
        requested(&mut app),
        Some(Seek::To(0)),
        "the first row is not the first of the recording"
    );
    press(&mut app, "k PgUp");
    assert_eq!(requested(&mut app), None);
    let at = app.offset();
    press(&mut app, "<");
    assert_eq!(requested(&mut app), Some(Seek::To(at - 50)));
    press(&mut app, ">");
    let later = requested(&mut app);
    assert!(
        later == Some(Seek::To(at + 50)) || later == Some(Seek::End),
        "{later:?}"
    );
    for (line, seek) in [
        ("goto 90s", Seek::Time(Time(90_000_000))),
        ("goto 50%", Seek::To(500)),
    ] {
        press(&mut app, ":");
        type_text(&mut app, line);
        press(&mut app, "enter");
        assert_eq!(requested(&mut app), Some(seek));
    }
    press(&mut app, ":");
    type_text(&mut app, "goto nowhere");
    press(&mut app, "enter");
    assert!(draw(&mut app, (100, 24)).contains("write goto TIME"));
    press(&mut app, "esc G");
    assert_eq!(requested(&mut app), None, "the end is listed");
    app.timeline.as_mut().unwrap().reading = Reading::Waiting;
    press(&mut app, "G");
    assert_eq!(requested(&mut app), Some(Seek::End));
}

#[test]
fn a_click_on_the_line_goes_to_its_place() {
    let mut app = app();
    draw(&mut app, (120, 40));
    let area = app.timeline.as_ref().unwrap().area;
    assert!(area.width > 40, "{area:?}");
    crate::update::click(&mut app, area.x + area.width / 2, area.y);
    let Some(Seek::To(offset)) = requested(&mut app) else {
        panic!("no place");
    };
    assert!((450..=550).contains(&offset), "{offset}");
}

#[test]
fn esc_stops_a_reading_of_the_whole_recording_and_else_goes_back() {
    let mut app = app();
    press(&mut app, "/");
    type_text(&mut app, "sv_chat");
    press(&mut app, "enter");
    assert_eq!(requested(&mut app), Some(Seek::Filter));
    let timeline = app.timeline.as_mut().unwrap();
    (timeline.reading, timeline.is_long, timeline.listed) = (Reading::On, true, 0..340);
    let screen = draw(&mut app, (100, 24));
    assert!(screen.contains("filtering: 34 %, Esc stops"), "{screen}");
    press(&mut app, "esc");
    assert_eq!(requested(&mut app), Some(Seek::Stop));
    app.timeline.as_mut().unwrap().reading = Reading::Stopped;
    assert!(draw(&mut app, (100, 24)).contains("stopped at 34 %"));
    press(&mut app, "enter esc");
    assert_eq!(requested(&mut app), None);
    assert!(!app.panes.shape.is_open);
    press(&mut app, "f");
    assert_eq!(
        requested(&mut app),
        Some(Seek::Filter),
        "the whole recording is listed again"
    );
}

#[test]
fn rows_that_the_reader_found_are_listed_and_other_views_keep_their_sessions() {
    let mut app = app();
    let sessions = app.sessions.follow.sessions().len();
    app.set_filter("sv_chat").unwrap();
    app.clear(false);
    assert!(app.messages.is_empty());
    let registry = Registry::builtin();
    let mut decoder = Decoder::new(registry);
    decoder.show_only(Filter::parse("sv_chat", registry).unwrap().0);
    let mut found = 0;
    for event in proxied::events() {
        let decoded = std::sync::Arc::new(decoder.decode(event.event.clone()));
        if decoded.matches > 0 {
            found += usize::try_from(decoded.matches).unwrap();
            app.push_match(&decoded);
        }
    }
    assert!(found > 0);
    assert_eq!(app.messages.len(), found);
    assert_eq!(app.sessions.follow.sessions().len(), sessions);
    app.clear(true);
    assert_eq!(
        (app.sessions.follow.sessions().len(), app.sessions.shown()),
        (0, None)
    );
    for view in ["2", "4", "5", "6"] {
        press(&mut app, view);
        let screen = draw(&mut app, (80, 24));
        assert!(
            screen.contains("no session in this part of the recording"),
            "{screen}"
        );
    }
    // Session numbers start again.
    for event in events("tw07-session") {
        app.push(&event);
    }
    assert!(app.sessions.follow.sessions().len() > 0);
}

#[test]
fn a_run_has_no_time_line() {
    let mut app = proxied::app();
    for keys in ["<", ">"] {
        press(&mut app, keys);
        assert!(draw(&mut app, (80, 24)).contains("this is a run"));
    }
}

#[test]
fn only_progress_of_the_reading_is_drawn() {
    let mut app = app();
    for (offset, reading, is_news) in [
        (1000, Reading::Ended, false),
        (1000, Reading::Waiting, true),
        (1000, Reading::Waiting, false),
        (900, Reading::Waiting, true),
        (900, Reading::On, true),
        (900, Reading::On, false),
    ] {
        app.terminal.changed = false;
        app.set_read(offset);
        app.set_reading(reading);
        assert_eq!(app.terminal.changed, is_news, "{offset} {reading:?}");
    }
}

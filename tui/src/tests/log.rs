//! The log.

use teetap_proxy::session::{Level, Time};

use super::feed::{blank, draw, press};

#[test]
fn a_selected_line_that_is_too_long_is_shown_whole_below_the_log() {
    let mut app = blank();
    app.log(Time(0), Level::Info, "short");
    let words: Vec<String> = (0..60).map(|word| format!("word-{word}")).collect();
    app.log(Time(0), Level::Warning, &words.join(" "));
    app.log(Time(0), Level::Info, "newest");
    press(&mut app, "7");
    for size in [(60, 24), (80, 24), (120, 40)] {
        for (keys, is_whole) in [("G", false), ("g", false), ("g j", true)] {
            press(&mut app, keys);
            let screen = draw(&mut app, size);
            assert_eq!(
                screen.contains("── the selected line ─"),
                is_whole,
                "{keys}: {screen}"
            );
            let has_all = words.iter().all(|word| screen.contains(word.as_str()));
            assert_eq!(has_all, is_whole, "{keys}: {screen}");
        }
    }
    // On a small screen the list needs all the room.
    let small = draw(&mut app, (40, 7));
    assert!(
        !small.contains("the selected line") && small.contains("newest"),
        "{small}"
    );
}

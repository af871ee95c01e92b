//! The styles of all views: their colours, and what is bold, dim, underlined or reversed.

use std::fmt::Write as _;

use ratatui::{
    Terminal,
    backend::TestBackend,
    style::{Modifier, Style},
};
use teetap_inspect::Kind;
use teetap_proxy::session::{Level, Time};
use teetap_wire::Dir;

use super::{
    feed::{blank, press, replayed, type_text},
    live::{with_held, with_rules},
    proxied,
};
use crate::{App, Theme, app::View, view};

const SIZE: (u16, u16) = (110, 24);

/// Returns the colours and modifiers of a style; empty for the terminal's own.
fn style_name(style: Style) -> String {
    let colours = [("", style.fg), ("on ", style.bg)];
    let set = colours
        .into_iter()
        .filter_map(|(way, colour)| Some((way, colour?)));
    let mut words: Vec<String> = set
        .filter(|(_, colour)| *colour != ratatui::style::Color::Reset)
        .map(|(way, colour)| format!("{way}{colour}"))
        .collect();
    let modifiers = style.add_modifier.iter_names();
    words.extend(modifiers.map(|(modifier, _): (_, Modifier)| modifier.to_lowercase()));
    words.join(" ")
}

/// Returns the screen, with each styled text in brackets after the name of its style.
fn painted(app: &mut App) -> String {
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    terminal.draw(|frame| view::draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..SIZE.1 {
        let mut last = String::new();
        let mut line = String::new();
        for x in 0..SIZE.0 {
            let Some(cell) = buffer.cell((x, y)) else { continue };
            let style = style_name(cell.style());
            if style != last {
                line.push_str(if last.is_empty() { "" } else { "⟩" });
                if !style.is_empty() {
                    let _infallible = write!(line, "⟨{style}: ");
                }
                last = style;
            }
            line.push_str(cell.symbol());
        }
        line.push_str(if last.is_empty() { "" } else { "⟩" });
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn each_view_has_its_styles() {
    for view in View::ALL {
        let mut app = proxied::app();
        press(&mut app, &view.number().to_string());
        insta::assert_snapshot!(format!("styles-{}", view.name()), painted(&mut app));
    }
}

#[test]
fn a_log_line_has_the_style_of_its_level() {
    let mut app = blank();
    app.gap(17);
    app.log(Time(2_500_000), Level::Warning, "port 8303 is taken");
    app.log(Time(2_600_000), Level::Info, "reading rules.tap");
    insta::assert_snapshot!("styles-log-lines", painted(&mut app));
}

#[test]
fn rows_with_notes_and_marked_bytes_have_their_styles() {
    let mut app = replayed("rich-dd16");
    press(&mut app, "/");
    type_text(&mut app, "sv_");
    press(&mut app, "enter tab right");
    insta::assert_snapshot!("styles-search", painted(&mut app));
}

#[test]
fn overlays_have_their_styles() {
    let mut app = with_held();
    painted(&mut app);
    press(&mut app, "e down ctrl-u");
    type_text(&mut app, "99999999999999");
    press(&mut app, "enter");
    insta::assert_snapshot!("styles-form-with-an-error", painted(&mut app));

    let mut app = with_rules();
    press(&mut app, "o");
    type_text(&mut app, "drop when sv_caht");
    insta::assert_snapshot!("styles-prompt-with-an-error", painted(&mut app));
    press(&mut app, "esc :");
    type_text(&mut app, "fil");
    press(&mut app, "tab tab");
    insta::assert_snapshot!("styles-prompt-with-a-candidate", painted(&mut app));
    press(&mut app, "ctrl-w");
    type_text(&mut app, "fi");
    insta::assert_snapshot!("styles-prompt-typed-on", painted(&mut app));
    press(&mut app, "esc ?");
    insta::assert_snapshot!("styles-help", painted(&mut app));
}

#[test]
fn each_theme_has_its_styles() {
    let mut text = String::new();
    for (theme, of) in Theme::NAMES.iter().zip(Theme::ALL) {
        for (what, style) in [
            ("c2s", of.direction(Dir::C2s)),
            ("s2c", of.direction(Dir::S2c)),
            ("name", of.name_of(Style::new())),
            ("quiet", of.quiet()),
            ("warning", of.for_kind(Kind::Warning)),
            ("session", of.for_kind(Kind::Session)),
            ("traffic", of.for_kind(Kind::Traffic)),
            ("good", of.good()),
            ("done", of.action()),
            ("selected", of.selected(true)),
            ("selected elsewhere", of.selected(false)),
            ("marked", of.marked()),
            ("among marked", of.among_marked()),
            ("bar", of.bar()),
            ("key", of.key()),
            ("title", of.title(true)),
            ("title elsewhere", of.title(false)),
        ] {
            let _infallible = writeln!(text, "{theme} {what}: {}", style_name(style));
        }
    }
    insta::assert_snapshot!("styles-themes", text);
}

//! Datagrams that link lines lost, in the message list and in the fields of a message.

use super::{
    feed::{draw, press},
    proxied,
};

/// Sizes with the list alone, and with all panes.
const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (160, 40)];

#[test]
fn a_message_whose_datagram_a_link_line_lost_says_so_in_its_row() {
    for size in SIZES {
        let mut app = proxied::app();
        press(&mut app, "g");
        let screen = draw(&mut app, size);
        let row = |marks: &str| {
            let found = screen.lines().find(|line| line.contains(marks));
            found.map(|line| line.replace('"', " "))
        };
        let lost = row("p→c -       connect_accept").unwrap();
        assert!(
            lost.contains("magic=544b454e  link: lost (loss)"),
            "{size:?}: {lost}"
        );
        assert!(lost.contains(" L "), "{size:?}: {lost}");
        let passed = row("s→p -       connect_accept").unwrap();
        assert!(
            !passed.contains("link:") && !passed.contains(" L "),
            "{size:?}: {passed}"
        );
    }
}

#[test]
fn the_fields_of_a_message_name_what_a_link_line_did() {
    let mut app = proxied::app();
    press(&mut app, "g enter");
    draw(&mut app, (100, 30));
    let mut effects = Vec::new();
    for _ in 0..app.messages.len() {
        let lines = app.detail.contents.lines.iter();
        effects.extend(
            lines
                .filter(|line| line.name == "link")
                .map(|line| line.value.clone()),
        );
        press(&mut app, "esc j enter");
        draw(&mut app, (100, 30));
    }
    assert!(
        effects.iter().any(|effect| effect == "lost (loss)"),
        "{effects:?}"
    );
    assert!(
        effects.iter().any(|effect| effect.starts_with("delayed ")),
        "{effects:?}"
    );
}

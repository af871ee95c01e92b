//! The lines above the datagrams: the session, its tokens on both legs, the names of the columns.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};
use teetap_inspect::BothLegs;
use teetap_proxy::session::SessionId;
use teetap_wire::{Dir, PerDir, Scratch, Side, Token};

use super::{
    super::{put, session_title},
    columns::{Columns, cell_text},
};
use crate::app::{App, ladder::LadderLine};

pub(super) fn title(buffer: &mut Buffer, area: Rect, app: &App, (session, _): (SessionId, u64)) {
    put(buffer, area, &session_title(app, session));
}

/// Draws the tokens of both legs, from the newest datagrams up to the given line.
pub(super) fn tokens(buffer: &mut Buffer, area: Rect, app: &App, (session, last): (SessionId, u64)) {
    /// Maximum number of lines searched for tokens.
    const LINES: u64 = 100;
    let columns = Columns::for_area(area);
    let mut scratch = Scratch::new();
    let mut found = [PerDir::<Option<Token>>::default(); 2];
    for number in (last.saturating_sub(LINES)..=last).rev() {
        let Some(LadderLine::Datagram(decoded, _)) = app.sessions.ladder.get(session, number) else {
            continue;
        };
        let Some(both_legs) = BothLegs::from_event(decoded, &mut scratch) else {
            continue;
        };
        for (side, of_leg) in [Side::Client, Side::Server].into_iter().zip(&mut found) {
            let token = both_legs.leg(side).and_then(|leg| leg.token);
            let known = &mut of_leg[both_legs.dir];
            *known = known.or(token);
        }
        if found.iter().flat_map(PerDir::iter).all(Option::is_some) {
            break;
        }
    }
    let names = app.look.theme.title(true);
    put(buffer, area, &Line::styled("  client", names));
    for (side, of_leg) in [Side::Client, Side::Server].into_iter().zip(found) {
        let mut spans = Vec::new();
        for (dir, token) in [Dir::C2s, Dir::S2c].into_iter().zip(of_leg.iter()) {
            let token = token.map_or("none    ".to_owned(), |token| token.to_string());
            let lead = if dir == Dir::S2c { " " } else { "" };
            spans.push(Span::styled(
                format!("{lead}{}{token}", tip(dir)),
                app.look.theme.direction(dir),
            ));
        }
        if side == Side::Server {
            spans.insert(0, Span::styled("server  ", names));
        }
        let line = Line::from(spans);
        let width = u16::try_from(line.width()).unwrap_or(0);
        let left = match side {
            Side::Client => columns.leg(side).x,
            Side::Server => area.right().saturating_sub(width),
        };
        let place = Rect {
            x: left,
            width,
            ..area
        };
        put(buffer, place.intersection(area), &line);
    }
}

/// Draws the names of the columns.
pub(super) fn names(buffer: &mut Buffer, area: Rect, app: &App, _: (SessionId, u64)) {
    let columns = Columns::for_area(area);
    let theme = app.look.theme;
    let cell = cell_text("seq", "ack", "bytes", columns);
    put(buffer, area, &Line::styled(" seconds", theme.quiet()));
    for side in [Side::Client, Side::Server] {
        put(
            buffer,
            columns.leg(side),
            &Line::styled(cell.as_str(), theme.quiet()),
        );
    }
    let middle = columns.middle();
    let words = "proxy: what it did, and the messages";
    put(buffer, middle, &Line::styled(words, theme.quiet()));
}

const fn tip(dir: Dir) -> &'static str {
    match dir {
        Dir::C2s => "▸",
        Dir::S2c => "◂",
    }
}

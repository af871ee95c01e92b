//! Views: the state, drawn.

mod bars;
mod messages;

use ratatui::{
    Frame,
    layout::{Constraint, Layout},
};

use crate::{App, Theme};

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, theme: Theme) {
    let rows = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [top, body, bottom] = Layout::vertical(rows).areas(frame.area());
    bars::top(frame, top, app, theme);
    messages::draw(frame, body, app, theme);
    bars::bottom(frame, bottom, app, theme);
}

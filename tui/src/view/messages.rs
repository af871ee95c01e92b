//! The message view: the list, and the fields and bytes of the selected message.
//!
//! From 192 columns on the panes are side by side, from 120 on the list is on the left with at least 80 columns. On
//! narrower screens the list is on top, and the other panes can be opened below it.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
};

use super::{detail, list, queue};
use crate::app::{App, Pane};

/// Minimum width for detail panes that are always shown.
pub(super) const WIDE: u16 = 120;

/// Minimum columns of the list if it is beside the other panes: as many as on a screen of the usual size.
const LIST: u16 = 80;

/// Minimum columns of the fields on a screen with all panes side by side.
const TREE: u16 = 40;

/// Minimum width for all panes side by side, with 16 bytes in a line.
const WIDEST: u16 = LIST + TREE + detail::WIDE_HEX + 3;

/// Width of the byte pane: offset, 8 bytes and their text.
const HEX: u16 = 40;

/// Draws the panes that are shown.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let area = with_queue(buffer, area, app);
    let panes = panes(area, app);
    let tree = panes.iter().find(|(pane, _)| *pane == Pane::Tree);
    app.detail.width = tree.map_or(0, |(_, area)| area.width);
    app.sync();
    for (pane, area) in panes {
        let area = match pane {
            Pane::List => list::draw(buffer, area, app),
            Pane::Tree => detail::tree(buffer, area, app),
            Pane::Hex => detail::hex(buffer, area, app),
            // The queue is already drawn; the others belong to other views.
            _ => continue,
        };
        app.panes.areas.push((pane, area));
    }
}

/// Draws the intercept queue if a message is held. Returns the area above it.
fn with_queue(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let held = u16::try_from(app.queue.list.len()).unwrap_or(u16::MAX);
    if held == 0 || area.height < 6 {
        return area;
    }
    let height = held.saturating_add(1).min(area.height / 3);
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
    let below = queue::draw(buffer, below, app);
    app.panes.areas.push((Pane::Queue, below));
    above
}

/// Returns the panes to show, with their areas.
fn panes(area: Rect, app: &App) -> Vec<(Pane, Rect)> {
    if app.panes.shape.is_zoomed && app.panes.focus != Pane::Queue {
        return vec![(app.panes.focus, area)];
    }
    if !app.panes.has_detail() || area.height < 6 {
        let has_room = area.height >= 6 || matches!(app.panes.focus, Pane::Queue | Pane::Rules);
        let pane = if has_room { Pane::List } else { app.panes.focus };
        return vec![(pane, area)];
    }
    let split = |first: u16, total: u16| {
        let first = i32::from(first) + i32::from(app.panes.shape.more);
        let first = first.clamp(i32::from(total / 5), i32::from(total - total / 5));
        u16::try_from(first).unwrap_or(total / 2)
    };
    let [list, tree, hex] = match area.width {
        WIDEST.. => {
            let hex = detail::WIDE_HEX + 1;
            let first = split(((area.width - hex) * 2 / 3).max(LIST), area.width);
            let columns = [
                Constraint::Length(first),
                Constraint::Min(0),
                Constraint::Length(hex),
            ];
            Layout::horizontal(columns).spacing(1).areas(area)
        }
        WIDE..WIDEST => {
            // The bytes get lines of 16 if the list keeps its columns.
            let beside = area.width.saturating_sub(detail::WIDE_HEX + 1);
            let usual = (area.width * 3 / 5).max(LIST);
            let first = split(if beside >= LIST { usual.min(beside) } else { usual }, area.width);
            let [list, right] = Layout::horizontal([Constraint::Length(first), Constraint::Min(0)])
                .spacing(1)
                .areas(area);
            let [tree, hex] =
                Layout::vertical([Constraint::Percentage(60), Constraint::Percentage(40)]).areas(right);
            [list, tree, hex]
        }
        _ => {
            let first = split(area.height / 2, area.height);
            let [list, below] = Layout::vertical([Constraint::Length(first), Constraint::Min(0)]).areas(area);
            // Narrow screens show only one of the two panes.
            if area.width < 2 * HEX - 4 {
                let shown = if app.panes.focus == Pane::Hex {
                    Pane::Hex
                } else {
                    Pane::Tree
                };
                return vec![(Pane::List, list), (shown, below)];
            }
            let [tree, hex] = Layout::horizontal([Constraint::Min(0), Constraint::Length(HEX)])
                .spacing(1)
                .areas(below);
            [list, tree, hex]
        }
    };
    vec![(Pane::List, list), (Pane::Tree, tree), (Pane::Hex, hex)]
}

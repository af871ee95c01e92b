//! The view that is shown, its focused pane, and the layout of its panes.

use ratatui::layout::{Position, Rect};

use super::view::{Pane, View};
use crate::Action;

/// Layout of the message view.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// True if the detail panes are open on a screen that does not always show them.
    pub(crate) is_open: bool,
    /// True if only the focused pane is shown.
    pub(crate) is_zoomed: bool,
    /// Number of cells by which the list is larger than its default.
    pub(crate) more: i16,
    /// True if the screen is wide enough to show all panes.
    pub(crate) is_wide: bool,
}

/// The view that is shown, and its panes.
#[derive(Debug)]
pub(crate) struct Panes {
    /// View that is shown.
    pub(crate) view: View,
    /// Pane that receives the keys.
    pub(crate) focus: Pane,
    /// Layout of the message view.
    pub(crate) shape: Shape,
    /// Positions of the panes, for clicks.
    pub(crate) areas: Vec<(Pane, Rect)>,
    /// Positions of the views and hints that are named on the screen, for clicks.
    pub(crate) buttons: Vec<(Rect, Action)>,
}

impl Default for Panes {
    fn default() -> Self {
        Self {
            view: View::default(),
            focus: Pane::List,
            shape: Shape::default(),
            areas: Vec::new(),
            buttons: Vec::new(),
        }
    }
}

impl Panes {
    /// Shows a view and focuses its first pane.
    pub(crate) fn show(&mut self, view: View) {
        self.view = view;
        if let Some(pane) = view.panes().first() {
            self.focus = *pane;
        }
    }

    /// Returns true if the detail panes are shown.
    #[must_use]
    pub(crate) const fn has_detail(&self) -> bool {
        self.shape.is_open || self.shape.is_wide
    }

    /// Returns true if the screen is as at its start, so that no pane or view can be left.
    #[must_use]
    pub(crate) fn is_at_start(&self) -> bool {
        let is_list = self.view == View::Messages && self.focus == Pane::List;
        is_list && !self.shape.is_open && !self.shape.is_zoomed
    }

    /// Returns the action that is named at a position of the screen.
    #[must_use]
    pub(crate) fn button(&self, position: Position) -> Option<Action> {
        let mut buttons = self.buttons.iter();
        let found = buttons.find(|(area, _)| area.contains(position))?;
        Some(found.1)
    }

    /// Returns the pane at a position of the screen, with its area; `None` if there is no pane.
    #[must_use]
    pub(crate) fn at(&self, position: Position) -> Option<(Pane, Rect)> {
        let mut areas = self.areas.iter();
        areas.find(|(_, area)| area.contains(position)).copied()
    }
}

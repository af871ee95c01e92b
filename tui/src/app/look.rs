//! The look of the screen: which lines are shown, and their colours, characters and times.

use teetap_inspect::{Style, Viewer};

use super::clock::TimeForm;
use crate::Theme;

/// The look of the screen.
#[derive(Debug)]
pub struct Look {
    /// Which lines are shown, and how.
    pub style: Style,
    /// Colours.
    pub theme: Theme,
    /// True if only ASCII characters are drawn.
    pub ascii: bool,
    /// Form in which times are shown.
    pub time: TimeForm,
}

impl Look {
    /// Returns the look for lines in a style. The screen shows the lines for every viewer.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            style: Style {
                viewer: Viewer::Everything,
                ..style
            },
            theme: Theme::default(),
            ascii: false,
            time: TimeForm::default(),
        }
    }
}

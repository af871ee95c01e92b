//! The look of the screen: which lines are shown, and their colours, characters and times.

use teetap_inspect::{Style, Viewer};

use super::clock::TimeForm;
use crate::Theme;

/// The look of the screen.
#[derive(Debug)]
pub(crate) struct Look {
    /// Which lines are shown, and how.
    pub(crate) style: Style,
    /// Colours.
    pub(crate) theme: Theme,
    /// True if only ASCII characters are drawn.
    pub(crate) ascii: bool,
    /// Form in which times are shown.
    pub(crate) time: TimeForm,
}

impl Look {
    /// Returns the look for lines in a style. The screen shows the lines for every viewer.
    #[must_use]
    pub(crate) fn new(style: Style) -> Self {
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

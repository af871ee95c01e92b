//! Colours: the terminal's own 16 on its own background, and none where they are not wanted.
//!
//! Law: never colour alone. Directions have arrows, notes a mark, warnings a word.

use ratatui::style::{Color, Modifier, Style};
use teetap_wire::Dir;

/// The styles of all parts of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Uses colours; otherwise bold, dim and reverse only.
    pub colour: bool,
}

impl Theme {
    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// Returns the style of a message in this direction: blue to the server, yellow to the client.
    #[must_use]
    pub fn direction(self, dir: Dir) -> Style {
        let colour = match dir {
            Dir::C2s => Color::Blue,
            Dir::S2c => Color::Yellow,
        };
        self.coloured(Style::new(), colour)
    }

    /// Returns the style of a name.
    #[must_use]
    pub fn name(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of less important text: times, numbers, sizes.
    #[must_use]
    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Returns the style of a warning, a gap or a note of that weight.
    #[must_use]
    pub fn warning(self) -> Style {
        self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Red)
    }

    /// Returns the style of a line about a session or a notice.
    #[must_use]
    pub fn session(self) -> Style {
        self.coloured(Style::new(), Color::Green)
    }

    /// Returns the style of the selected row.
    #[must_use]
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of the first and the last line of the screen.
    #[must_use]
    pub fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

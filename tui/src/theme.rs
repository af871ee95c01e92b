//! Themes: the terminal's own 16 colours on its own background, or no colours.
//!
//! Law: colour is never the only sign. Directions have arrows, notes a mark, actions a letter, warnings a word.

use ratatui::style::{Color, Modifier, Style};
use teetap_inspect::Kind;
use teetap_wire::Dir;

/// A set of styles.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
    strum::VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Theme {
    /// For a dark background.
    #[default]
    Default,
    /// For a light background.
    Light,
    /// Only bold, dim and reverse.
    Mono,
    /// Bright colours, nothing dim.
    HighContrast,
}

impl Theme {
    /// All themes.
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
    /// The names of all themes.
    pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;

    /// Returns the theme after this one.
    #[must_use]
    pub(crate) fn next(self) -> Self {
        let mut themes = Self::ALL.iter().copied().cycle();
        themes.find(|theme| *theme == self);
        themes.next().unwrap_or_default()
    }

    /// Sets the foreground to the colour for the dark, light or high-contrast theme.
    fn coloured(self, style: Style, [dark, light, high]: [Color; 3]) -> Style {
        match self {
            Self::Default => style.fg(dark),
            Self::Light => style.fg(light),
            Self::HighContrast => style.fg(high),
            Self::Mono => style,
        }
    }

    /// Returns the style of a message in this direction. Each theme has its own pair of colours.
    #[must_use]
    pub(crate) fn direction(self, dir: Dir) -> Style {
        let colours = match dir {
            Dir::C2s => [Color::LightBlue, Color::Blue, Color::LightCyan],
            Dir::S2c => [Color::Yellow, Color::Magenta, Color::LightYellow],
        };
        self.coloured(Style::new(), colours)
    }

    /// Returns the style of a name.
    #[must_use]
    pub(crate) fn name_of(self, style: Style) -> Style {
        style.add_modifier(Modifier::BOLD)
    }

    /// Returns the style of less important text: times, numbers, borders.
    #[must_use]
    pub(crate) fn quiet(self) -> Style {
        match self {
            Self::HighContrast => Style::new(),
            _ => Style::new().add_modifier(Modifier::DIM),
        }
    }

    /// Returns the style of a warning, a gap, or a note with that severity.
    #[must_use]
    pub(crate) fn warning(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.coloured(bold, [Color::LightRed, Color::Red, Color::LightRed])
    }

    /// Returns the style of something valid or active: a checked filter, a rule that is on.
    #[must_use]
    pub(crate) fn good(self) -> Style {
        self.coloured(Style::new(), [Color::Green, Color::Green, Color::LightGreen])
    }

    /// Returns the style of a line about a session or a notice.
    #[must_use]
    pub(crate) fn session(self) -> Style {
        self.good()
    }

    /// Returns the style of a line of this kind.
    #[must_use]
    pub(crate) fn for_kind(self, kind: Kind) -> Style {
        match kind {
            Kind::Warning => self.warning(),
            Kind::Session => self.session(),
            Kind::Traffic | Kind::Info => Style::new(),
        }
    }

    /// Returns the style of an action of a rule or a person.
    #[must_use]
    pub(crate) fn action(self) -> Style {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        self.coloured(bold, [Color::LightMagenta, Color::Red, Color::LightMagenta])
    }

    /// Returns the style of the selected row, depending on the focus of its pane: reversed without colours, or underlined.
    #[must_use]
    pub(crate) fn selected(self, focused: bool) -> Style {
        match focused {
            // A reversed colour would be a block of that colour.
            true => Style::new()
                .fg(Color::Reset)
                .bg(Color::Reset)
                .add_modifier(Modifier::REVERSED)
                .remove_modifier(Modifier::DIM),
            false => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// Returns the style of a search match, and of bytes that belong to the selected field.
    #[must_use]
    pub(crate) fn marked(self) -> Style {
        let marked = Style::new().add_modifier(Modifier::REVERSED);
        self.coloured(marked, [Color::Cyan, Color::Cyan, Color::LightCyan])
    }

    /// Returns the style of the selected byte, which differs from the style of the other bytes of its field.
    #[must_use]
    pub(crate) const fn among_marked(self) -> Style {
        Style::reset().add_modifier(Modifier::BOLD.union(Modifier::UNDERLINED))
    }

    /// Returns the style of the first and the last line of the screen.
    #[must_use]
    pub(crate) fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of a key in hints and help.
    #[must_use]
    pub(crate) fn key(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of the title of a pane.
    #[must_use]
    pub(crate) fn title(self, focused: bool) -> Style {
        match focused {
            true => Style::new().add_modifier(Modifier::BOLD),
            false => self.quiet(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_have_names_and_follow_each_other() {
        for (name, theme) in Theme::NAMES.iter().zip(Theme::ALL) {
            assert_eq!(
                (name.parse(), theme.to_string()),
                (Ok(*theme), (*name).to_owned())
            );
        }
        let mut seen = vec![Theme::Default];
        while seen.len() < 4 {
            let next = seen[seen.len() - 1].next();
            assert!(!seen.contains(&next));
            seen.push(next);
        }
        assert_eq!(seen[3].next(), Theme::Default);
    }

    #[test]
    fn mono_has_no_colour() {
        let mono = Theme::Mono;
        let styles = [
            mono.direction(Dir::C2s),
            mono.warning(),
            mono.good(),
            mono.action(),
            mono.marked(),
        ];
        assert!(
            styles
                .iter()
                .all(|style| style.fg.is_none() && style.bg.is_none())
        );
    }
}

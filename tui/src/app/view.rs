//! Views, and the panes in them.

use strum::VariantArray as _;

/// A part of the screen that can be focused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum Pane {
    /// Message list.
    List,
    /// Fields of the selected message.
    Tree,
    /// Bytes of the selected message.
    Hex,
    /// Held messages.
    Queue,
    /// Rules and sliders.
    Rules,
    /// Table of sessions.
    Sessions,
    /// Datagrams of a session.
    Ladder,
    /// Items of the current snapshot.
    Snapshot,
    /// Tables and graphs.
    Stats,
    /// Lines of the log.
    Log,
}

impl Pane {
    /// All panes.
    pub(crate) const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name as used in titles.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::List => "messages",
            Self::Tree => "fields",
            Self::Hex => "bytes",
            Self::Queue => "held messages",
            Self::Rules => "rules",
            Self::Sessions => "sessions",
            Self::Ladder => "ladder",
            Self::Snapshot => "snapshot",
            Self::Stats => "stats",
            Self::Log => "log",
        }
    }
}

macro_rules! views {
    ($($(#[$meta:meta])* $variant:ident $number:literal $name:literal $short:literal [$($pane:ident)+];)*) => {
        /// A view, which fills the screen.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) enum View {
            $(#[doc = concat!("The view ", $name, ".")] $(#[$meta])* $variant,)*
        }

        impl View {
            /// All views in the order of their numbers.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the number, which is also the key of the view.
            #[must_use]
            pub(crate) const fn number(self) -> u8 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }

            /// Returns the name.
            #[must_use]
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns a short name.
            #[must_use]
            pub(crate) const fn short(self) -> &'static str {
                match self {
                    $(Self::$variant => $short,)*
                }
            }

            /// Returns the panes in the order of the tab key.
            #[must_use]
            pub(crate) const fn panes(self) -> &'static [Pane] {
                match self {
                    $(Self::$variant => &[$(Pane::$pane),+],)*
                }
            }
        }
    };
}

// The numbers: 1 messages, 2 sessions, 3 rules, 4 ladder, 5 snapshot, 6 stats, 7 log.
views! {
    #[default]
    Messages 1 "messages" "msgs" [List Tree Hex Queue];
    Sessions 2 "sessions" "sess" [Sessions];
    Rules 3 "rules" "rules" [Rules];
    Ladder 4 "ladder" "ladder" [Ladder];
    Snapshot 5 "snapshot" "snap" [Snapshot];
    Stats 6 "stats" "stats" [Stats];
    Log 7 "log" "log" [Log];
}

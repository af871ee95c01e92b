//! The look of text: colours, characters and the columns of a terminal.
//!
//! Law: only this file reads NO_COLOR and TERM, and decides about colours and characters. It decides once, before
//! anything is printed; until then the look is plain.

use std::{
    borrow::Cow,
    env,
    io::{self, IsTerminal},
    os::fd::AsFd,
    sync::OnceLock,
};

use teetap_inspect::Kind;

/// The decision of this process.
static LOOK: OnceLock<Look> = OnceLock::new();

/// The colours and characters of stdout and stderr.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// The look of stdout.
    pub(crate) out: Stream,
    /// The look of stderr.
    pub(crate) err: Stream,
    /// The look of the terminal UI.
    pub(crate) screen: Stream,
    /// True if the terminal does not understand control sequences.
    pub(crate) is_dumb: bool,
}

/// The colours and characters of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// True if colours are used.
    pub(crate) colours: bool,
    /// True if only ASCII characters are used.
    pub(crate) ascii: bool,
}

/// Conditions under which colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// Colour or emphasis of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextColor {
    /// As the terminal prints text.
    Plain,
    /// De-emphasised.
    Faint,
    /// Emphasised.
    Bold,
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
    /// The state of a session.
    Session,
    /// A notice.
    Notice,
    /// Something is probably wrong.
    Warning,
    /// Something is wrong.
    Error,
}

impl Look {
    /// Sets the look of this process from the options of the command line. Later calls have no effect.
    pub(crate) fn decide(when: When, ascii: bool) {
        let is_set = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let of = |is_terminal: bool| Stream {
            colours: match when {
                When::Auto => is_terminal && !is_set && !is_dumb,
                When::Always => true,
                When::Never => false,
            },
            ascii: ascii || is_terminal && is_dumb,
        };
        let look = Self {
            out: of(io::stdout().is_terminal()),
            err: of(io::stderr().is_terminal()),
            screen: of(true),
            is_dumb: env::var_os("TERM").is_some_and(|term| term == "dumb"),
        };
        let _first_one_counts = LOOK.set(look);
    }

    /// Returns the decision.
    pub(crate) fn get() -> Self {
        LOOK.get().copied().unwrap_or_default()
    }
}

impl Stream {
    /// Returns a text in the characters of the stream.
    pub(crate) fn text(self, text: &str) -> Cow<'_, str> {
        if self.ascii { ascii(text) } else { text.into() }
    }

    /// Appends a text in a colour.
    pub(crate) fn paint(self, ink: TextColor, text: &str, out: &mut String) {
        match ink.code().filter(|_| self.colours && !text.is_empty()) {
            Some(code) => {
                out.push_str("\x1b[");
                out.push_str(code);
                out.push('m');
                out.push_str(text);
                out.push_str("\x1b[0m");
            }
            None => out.push_str(text),
        }
    }

    /// Returns the style of diagnostics.
    pub(crate) const fn diagnostics(self) -> teetap_rules::Style {
        match self.colours {
            true => teetap_rules::Style::Coloured,
            false => teetap_rules::Style::Plain,
        }
    }
}

impl TextColor {
    const fn code(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain => return None,
            Self::Faint => "2",
            Self::Bold => "1",
            Self::ToServer => "36",
            Self::ToClient => "35",
            Self::Session => "32",
            Self::Notice => "34",
            Self::Warning => "33",
            Self::Error => "31",
        })
    }
}

impl From<Kind> for TextColor {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Traffic => Self::Plain,
            Kind::Session => Self::Session,
            Kind::Warning => Self::Warning,
            Kind::Info => Self::Notice,
        }
    }
}

/// Returns the columns of a terminal; `None` if it is not a terminal or reports no size.
pub(crate) fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns a text in ASCII. Marks, arrows and boxes become similar characters, others become escapes.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match alike(c) {
            Some(alike) => plain.push_str(alike),
            None if c.is_ascii() => plain.push(c),
            None => plain.extend(c.escape_unicode()),
        }
    }
    plain.into()
}

const fn alike(c: char) -> Option<&'static str> {
    Some(match c {
        '✗' | '×' => "x",
        '·' => ".",
        '…' => "...",
        '→' => "->",
        '←' => "<-",
        '•' => "*",
        '–' | '—' | '─' | '━' => "-",
        '│' | '┃' | '┆' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╰' | '╯' => {
            "+"
        }
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '\u{fffd}' => "?",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_has_an_ascii_form() {
        assert_eq!(ascii("a \"b\"\n"), "a \"b\"\n");
        assert_eq!(
            ascii("✗ · ! c→s 218→219 snap ×41, 1…2 ••• ü 名\n"),
            "x . ! c->s 218->219 snap x41, 1...2 *** \\u{fc} \\u{540d}\n"
        );
        for c in ('\0'..char::MAX).step_by(7) {
            assert!(ascii(c.encode_utf8(&mut [0; 4])).is_ascii(), "{c:?}");
        }
    }

    #[test]
    fn only_a_stream_with_colours_has_escapes() {
        let painted = |colours, ink| {
            let mut out = String::new();
            let stream = Stream {
                colours,
                ascii: false,
            };
            stream.paint(ink, "x", &mut out);
            out
        };
        assert_eq!(painted(true, TextColor::Warning), "\x1b[33mx\x1b[0m");
        assert_eq!(painted(true, TextColor::Plain), "x");
        for ink in [
            TextColor::Faint,
            TextColor::Bold,
            TextColor::Error,
            TextColor::Session,
        ] {
            assert_eq!(painted(false, ink), "x");
        }
    }
}

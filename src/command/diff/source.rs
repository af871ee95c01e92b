//! Sides of a comparison, as parts of recordings: `FILE`, `FILE#SESSION`, `FILE#SESSION@LEG`.

use std::path::{Path, PathBuf};

use teetap_inspect::diff::View;
use teetap_wire::{Side, printable_path};

use crate::command::file;

/// A side as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// `None` = the first session that is online.
    pub(super) session: Option<u32>,
    pub(super) view: View,
}

impl Source {
    /// Parses the name of a side. The name of an existing file has neither a session nor a leg.
    pub(super) fn new(name: &str) -> Self {
        let whole = |path: &str, session, view| Self {
            path: path.into(),
            session,
            view,
        };
        if Path::new(name).exists() {
            return whole(name, None, View::Peers);
        }
        let legs = [("@client", Side::Client), ("@server", Side::Server)];
        let leg = legs
            .iter()
            .find_map(|(end, side)| Some((name.strip_suffix(end)?, View::Leg(*side))));
        let (rest, view) = leg.unwrap_or((name, View::Peers));
        let numbered = rest
            .rsplit_once('#')
            .and_then(|(path, number)| Some((path, number.parse().ok()?)));
        match numbered {
            Some((path, number)) if !Path::new(rest).exists() => whole(path, Some(number), view),
            _ => whole(rest, None, view),
        }
    }

    /// Returns the same part of the recording on another leg.
    pub(super) fn on(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }

    pub(super) fn is_stdin(&self) -> bool {
        self.path == Path::new(file::STDIN)
    }

    /// Returns the name of the file for messages.
    pub(super) fn file(&self) -> String {
        printable_path(file::shown(&self.path)).to_string()
    }

    /// Returns the name of the side for messages.
    pub(super) fn name(&self) -> String {
        let session = self
            .session
            .map_or(String::new(), |session| format!("#{session}"));
        let leg = self.leg().map_or(String::new(), |leg| format!("@{leg}"));
        format!("{}{session}{leg}", self.file())
    }

    /// Returns the name of the leg; `None` for the messages as the peers sent them.
    pub(super) const fn leg(&self) -> Option<&'static str> {
        match self.view {
            View::Peers => None,
            View::Leg(Side::Client) => Some("client"),
            View::Leg(Side::Server) => Some("server"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_a_session_and_a_leg() {
        let source = |path: &str, session, view| Source {
            path: path.into(),
            session,
            view,
        };
        let server = View::Leg(Side::Server);
        for (name, expected) in [
            ("a.pcap", source("a.pcap", None, View::Peers)),
            ("a.pcap#12", source("a.pcap", Some(12), View::Peers)),
            ("a#b.pcap#2@server", source("a#b.pcap", Some(2), server)),
            ("a.pcap@client", source("a.pcap", None, View::Leg(Side::Client))),
            ("a.pcap#x", source("a.pcap#x", None, View::Peers)),
            ("-#3", source("-", Some(3), View::Peers)),
        ] {
            assert_eq!(Source::new(name), expected);
        }
        assert_eq!(Source::new("a.pcap#2@server").name(), "a.pcap#2@server");
    }

    #[test]
    fn a_file_of_the_name_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run#2@server");
        std::fs::write(&path, "").unwrap();
        let source = Source::new(path.to_str().unwrap());
        assert_eq!(
            (&source.path, source.session, source.view),
            (&path, None, View::Peers)
        );
        let source = Source::new(&format!("{}#7@client", path.display()));
        assert_eq!((&source.path, source.session), (&path, Some(7)));
    }
}

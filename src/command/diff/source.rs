//! Sides of a comparison, as parts of recordings: `FILE`, `FILE#SESSION`, `FILE#SESSION@LEG`, or `ref:NAME`.

use std::path::{Path, PathBuf};

use teetap_inspect::diff::View;
use teetap_wire::{Side, printable_path};

use super::reference::{Reference, reference};
use crate::{command::file, exit::Failure};

/// A side as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// `None` = the first session that is online.
    pub(super) session: Option<u32>,
    pub(super) view: View,
    /// The built-in recording; `None` for a file.
    pub(super) reference: Option<&'static Reference>,
}

impl Source {
    /// Parses the name of a side. The name of an existing file has neither a session nor a leg.
    ///
    /// # Errors
    /// There is no reference of that name.
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let whole = |path: &str, session, view| Self {
            path: path.into(),
            session,
            view,
            reference: None,
        };
        if Path::new(name).exists() {
            return Ok(whole(name, None, View::Peers));
        }
        if let Some(reference) = reference(name)? {
            return Ok(Self {
                reference: Some(reference),
                ..whole(name, None, View::Peers)
            });
        }
        let legs = [("@client", Side::Client), ("@server", Side::Server)];
        let leg = legs
            .iter()
            .find_map(|(end, side)| Some((name.strip_suffix(end)?, View::Leg(*side))));
        let (rest, view) = leg.unwrap_or((name, View::Peers));
        let numbered = rest
            .rsplit_once('#')
            .and_then(|(path, number)| Some((path, number.parse().ok()?)));
        Ok(match numbered {
            Some((path, number)) if !Path::new(rest).exists() => whole(path, Some(number), view),
            _ => whole(rest, None, view),
        })
    }

    /// Returns the same part of the recording on another leg.
    pub(super) fn on(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }

    /// Returns true if the other side is the other leg of the same recording.
    pub(super) fn is_other_leg(&self, other: &Self) -> bool {
        let is_leg = |source: &Self| source.leg().is_some();
        self.path == other.path && is_leg(self) && is_leg(other) && self.view != other.view
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
            reference: None,
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
            assert_eq!(Source::new(name).unwrap(), expected);
        }
        assert_eq!(Source::new("a.pcap#2@server").unwrap().name(), "a.pcap#2@server");
    }

    #[test]
    fn a_reference_has_a_name_and_no_leg() {
        let source = Source::new("ref:ddnet-16.4").unwrap();
        assert_eq!(source.name(), "ref:ddnet-16.4");
        assert!(
            source
                .reference
                .is_some_and(|reference| !reference.recording.is_empty())
        );
        let known = "known: ddnet-16.4, ddnet-20.1, teeworlds-0.6.5, teeworlds-0.7.5, ddnet-16.4-0.7";
        for name in ["ref:", "ref:ddnet-16.4@client", "ref:\u{1b}[2J"] {
            let error = Source::new(name).unwrap_err().to_string();
            assert!(error.ends_with(known) && !error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn a_file_of_the_name_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run#2@server");
        std::fs::write(&path, "").unwrap();
        let source = Source::new(path.to_str().unwrap()).unwrap();
        assert_eq!(
            (&source.path, source.session, source.view),
            (&path, None, View::Peers)
        );
        let source = Source::new(&format!("{}#7@client", path.display())).unwrap();
        assert_eq!((&source.path, source.session), (&path, Some(7)));
    }
}

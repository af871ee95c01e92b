//! Built-in recordings of the games, to compare with: `ref:NAME`.
//!
//! Each is the start of a capture in `tests/captures/`, up to two seconds after the client entered the game.

use teetap_wire::{
    Proto,
    def::{did_you_mean, suggest},
    printable,
};

use crate::exit::Failure;

/// Start of the name of a side that is a reference.
const PREFIX: &str = "ref:";

/// A recording of a join and of two seconds of play.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) name: &'static str,
    pub(super) proto: Proto,
    pub(super) recording: &'static [u8],
}

macro_rules! references {
    ($($name:literal $proto:ident)*) => {
        /// All references. The first one of a protocol is suggested for it.
        const REFERENCES: &[Reference] = &[
            $(Reference {
                name: $name,
                proto: Proto::$proto,
                recording: include_bytes!(concat!("../../../references/", $name, ".pcap")),
            },)*
        ];
    };
}

references! {
    "ddnet-16.4" Ddnet
    "ddnet-20.1" Ddnet
    "teeworlds-0.6.5" V65
    "teeworlds-0.7.5" V7
    "ddnet-16.4-0.7" V7
}

/// Returns the reference of that name; `None` if the text names no reference.
///
/// # Errors
/// There is no reference of that name.
pub(super) fn reference(text: &str) -> Result<Option<&'static Reference>, Failure> {
    let Some(name) = text.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let found = REFERENCES.iter().find(|reference| reference.name == name);
    found.map(Some).ok_or_else(|| {
        let names = REFERENCES.iter().map(|reference| reference.name);
        let meant =
            suggest(name, names.clone()).map_or(String::new(), |meant| format!("{}; ", did_you_mean(meant)));
        let known: Vec<&str> = names.collect();
        Failure::usage(format!(
            "unknown reference '{}'; {meant}known: {}",
            printable(name.as_bytes()),
            known.join(", ")
        ))
    })
}

/// Returns the name of a reference of this protocol, as it is typed; `None` if there is none.
pub(super) fn of_proto(proto: Proto) -> Option<String> {
    let found = REFERENCES.iter().find(|reference| reference.proto == proto)?;
    Some(format!("{PREFIX}{}", found.name))
}

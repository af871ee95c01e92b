//! Words with a special meaning in the language.

use teetap_wire::Dir;
use teetap_wire::def::Class;

use crate::eval::{Deed, Flag, Maker};

/// Named values of a number.
pub(super) type Names = &'static [(&'static str, i64)];

/// Values of one word: the number of matches so far, the time in the session, the leg of a control message, the
/// number of the datagram, and what teetap did to the message.
pub(super) const VALUES: [&str; 7] = ["n", "t", "leg", FRAME, "action", "rule", "origin"];

/// Number of the datagram, which rules cannot use.
pub(super) const FRAME: &str = "frame";

/// Values of `action`.
pub(super) const DEEDS: Names = &[
    ("pass", Deed::Pass as i64),
    ("edit", Deed::Edit as i64),
    ("corrupt", Deed::Corrupt as i64),
    ("repeat", Deed::Repeat as i64),
    ("known", Deed::Known as i64),
    ("gap", Deed::Gap as i64),
    ("drop", Deed::Drop as i64),
    ("lose", Deed::Lose as i64),
    ("hold", Deed::Hold as i64),
    ("delay", Deed::Delay as i64),
    ("refuse", Deed::Refuse as i64),
    ("inject", Deed::Inject as i64),
    ("copy", Deed::Copy as i64),
    ("release", Deed::Release as i64),
    ("discard", Deed::Discard as i64),
];

/// Values of `origin`.
pub(super) const MAKERS: Names = &[
    ("peer", Maker::Peer as i64),
    ("rule", Maker::Rule as i64),
    ("user", Maker::User as i64),
    ("proxy", Maker::Proxy as i64),
];

/// A condition of one word.
pub(super) enum Atom {
    Dir(Dir),
    Class(Class),
    Snap,
    Flag(Flag),
    Lint,
    Mark,
    Touched,
}

pub(super) const ATOMS: [(&str, Atom); 15] = [
    ("c2s", Atom::Dir(Dir::C2s)),
    ("s2c", Atom::Dir(Dir::S2c)),
    ("ctrl", Atom::Class(Class::Control)),
    ("sys", Atom::Class(Class::System)),
    ("game", Atom::Class(Class::Game)),
    ("connless", Atom::Class(Class::Connless)),
    ("any_snap", Atom::Snap),
    ("vital", Atom::Flag(Flag::Vital)),
    ("resend", Atom::Flag(Flag::Resend)),
    ("compressed", Atom::Flag(Flag::Compressed)),
    ("unknown", Atom::Flag(Flag::Unknown)),
    ("malformed", Atom::Flag(Flag::Malformed)),
    ("lint", Atom::Lint),
    ("mark", Atom::Mark),
    ("touched", Atom::Touched),
];

/// Returns true for a word that is known only to filters: rules decide before a datagram has a number, and before
/// anything was done to the message.
pub(super) fn is_for_filters(word: &str) -> bool {
    let head = word.split_once('.').map_or(word, |(head, _)| head);
    matches!(
        head,
        FRAME | "action" | "rule" | "origin" | "mark" | "touched" | "link"
    )
}

pub(super) fn atom(name: &str) -> Option<&'static Atom> {
    ATOMS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, atom)| atom)
}

pub(super) fn class(name: &str) -> Option<Class> {
    match name {
        "ctrl" => Some(Class::Control),
        "sys" => Some(Class::System),
        "game" => Some(Class::Game),
        "connless" => Some(Class::Connless),
        _ => None,
    }
}

//! Words with a special meaning in the language.

use teetap_wire::Dir;
use teetap_wire::def::Class;

use crate::eval::{DoneAction, Flag, Maker};

/// Named values of a number.
pub(super) type Names = &'static [(&'static str, i64)];

/// Values of one word: the number of matches so far, the time in the session, the leg of a control message, the
/// number of the datagram, and what teetap did to the message.
pub(super) const VALUES: [&str; 7] = ["n", "t", "leg", FRAME, "action", "rule", "origin"];

/// Number of the datagram, which rules cannot use.
pub(super) const FRAME: &str = "frame";

/// Values of `action`.
pub(super) const DEEDS: Names = &[
    ("pass", DoneAction::Pass as i64),
    ("edit", DoneAction::Edit as i64),
    ("corrupt", DoneAction::Corrupt as i64),
    ("repeat", DoneAction::Repeat as i64),
    ("known", DoneAction::Known as i64),
    ("gap", DoneAction::Gap as i64),
    ("drop", DoneAction::Drop as i64),
    ("lose", DoneAction::Lose as i64),
    ("hold", DoneAction::Hold as i64),
    ("delay", DoneAction::Delay as i64),
    ("refuse", DoneAction::Refuse as i64),
    ("inject", DoneAction::Inject as i64),
    ("copy", DoneAction::Copy as i64),
    ("release", DoneAction::Release as i64),
    ("discard", DoneAction::Discard as i64),
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

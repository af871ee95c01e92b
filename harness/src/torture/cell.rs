//! The cells of the matrix: a message of the login, a fault, and the expected result.

use strum::VariantArray as _;
use teetap_wire::Proto;

use super::login::{Login, LoginMessage};

/// A fault of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Fault {
    /// The first copy is lost.
    Lose,
    /// The message is dropped, and its sender sees it acked.
    Drop,
    /// The message is delivered twice.
    Dup,
    /// The message is delivered 500 ms later.
    Delay,
    /// The message changes places with the next message of its direction.
    Swap,
    /// 8 bits of the message change.
    Corrupt,
}

impl Fault {
    /// All faults, in the order of columns.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name, which is also the word of its rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.into_str()
    }
}

/// One run of the matrix.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The message.
    pub step: LoginMessage,
    /// The fault.
    pub fault: Fault,
}

impl Cell {
    /// Returns all cells of a login. Control messages have no swap.
    pub(super) fn all(login: &Login) -> Vec<Self> {
        let of = |step: &LoginMessage| {
            let step = step.clone();
            let fits = move |fault: &Fault| !(step.is_control && *fault == Fault::Swap);
            Fault::ALL.iter().copied().filter(fits).collect::<Vec<_>>()
        };
        let cells = login.steps.iter().flat_map(|step| {
            of(step).into_iter().map(|fault| Self {
                step: step.clone(),
                fault,
            })
        });
        cells.collect()
    }

    /// Returns the rule of the cell, which acts on the first such message of the session.
    #[must_use]
    pub fn rule(&self) -> String {
        let LoginMessage { dir, name, .. } = &self.step;
        let when = format!("when {dir} and {name} once");
        match self.fault {
            Fault::Lose => format!("lose {when}"),
            Fault::Drop => format!("drop {when}"),
            Fault::Dup => format!("dup {when}"),
            Fault::Delay => format!("delay 500ms {when}"),
            Fault::Corrupt => format!("corrupt 8 bits {when}"),
            // Also matches the next message of this direction, which changes places with this one.
            Fault::Swap if self.step.vital => {
                format!("swap when {dir} and vital and ({name} or seen({name})) once")
            }
            Fault::Swap => format!("swap when {dir} and ({name} or seen({name})) once"),
        }
    }

    /// Returns true if peers of the protocol survive the fault, given these facts:
    ///
    /// * Vital messages are resent until they are acked, so that a lost copy is received later. A dropped message is
    ///   acked and never received. A change to a message, or to its place in the order, has the meaning that the peer
    ///   gives it.
    /// * Other messages are repeated by themselves: inputs, snapshots, keepalives.
    /// * Requests for a connection are repeated until they are answered, and every request is answered. DDNet's ACCEPT
    ///   is sent once, and so are the request for a token and DDNet's ACCEPT to a client of 0.7.
    #[must_use]
    pub(super) fn is_survived(&self) -> bool {
        match (self.fault, &self.step) {
            (Fault::Swap | Fault::Corrupt, _) => false,
            (Fault::Dup | Fault::Delay, _) => true,
            (Fault::Lose | Fault::Drop, step) if step.is_control => match &*step.name {
                "ctrl.accept" => step.proto != Proto::Ddnet,
                "ctrl.token" => false,
                "ctrl.connect_accept" => step.proto != Proto::V7,
                _ => true,
            },
            (Fault::Lose, _) => true,
            (Fault::Drop, step) => !step.vital,
        }
    }
}

#[cfg(test)]
mod tests {
    use teetap_wire::Dir;

    use super::*;

    fn cell(name: &str, vital: bool, proto: Proto, fault: Fault) -> Cell {
        Cell {
            step: LoginMessage {
                dir: Dir::C2s,
                name: name.to_owned(),
                vital,
                is_control: name.starts_with("ctrl"),
                proto,
            },
            fault,
        }
    }

    #[test]
    fn every_rule_compiles() {
        let registry = teetap_wire::def::Registry::builtin();
        for &fault in Fault::ALL {
            for (name, vital) in [("sys.ready", true), ("sys.input", false), ("ctrl.connect", false)] {
                let cell = cell(name, vital, Proto::Ddnet, fault);
                if cell.step.is_control && fault == Fault::Swap {
                    continue;
                }
                let rule = cell.rule();
                assert!(teetap_rules::Program::compile(&rule, registry).is_ok(), "{rule}");
            }
        }
    }

    /// Each step with the faults that peers survive, in the order of `Fault::ALL`.
    #[test]
    fn what_nobody_resends_is_not_expected_to_survive() {
        let all = "lose drop dup delay";
        let harmless = "dup delay";
        for (name, vital, proto, expected) in [
            ("sys.ready", true, Proto::V6, "lose dup delay"),
            ("sys.ready", true, Proto::Ddnet, "lose dup delay"),
            ("sys.input", false, Proto::V7, all),
            ("ctrl.connect", false, Proto::Ddnet, all),
            ("ctrl.connect", false, Proto::V7, all),
            ("ctrl.close", false, Proto::V65, all),
            ("ctrl.accept", false, Proto::V6, all),
            ("ctrl.accept", false, Proto::V65, all),
            ("ctrl.accept", false, Proto::Ddnet, harmless),
            ("ctrl.token", false, Proto::V7, harmless),
            ("ctrl.connect_accept", false, Proto::V7, harmless),
            ("ctrl.connect_accept", false, Proto::V6, all),
            ("ctrl.connect_accept", false, Proto::V65, all),
            ("ctrl.connect_accept", false, Proto::Ddnet, all),
        ] {
            let survived = Fault::ALL.iter().copied();
            let survived = survived.filter(|fault| cell(name, vital, proto, *fault).is_survived());
            let survived: Vec<_> = survived.map(Fault::name).collect();
            assert_eq!(survived.join(" "), expected, "{name} {vital} {proto:?}");
        }
    }

    #[test]
    fn the_rule_of_a_cell_acts_once_on_its_message() {
        for (fault, vital, rule) in [
            (Fault::Lose, true, "lose when c2s and sys.ready once"),
            (Fault::Drop, true, "drop when c2s and sys.ready once"),
            (Fault::Dup, false, "dup when c2s and sys.ready once"),
            (Fault::Delay, false, "delay 500ms when c2s and sys.ready once"),
            (Fault::Corrupt, true, "corrupt 8 bits when c2s and sys.ready once"),
            (
                Fault::Swap,
                false,
                "swap when c2s and (sys.ready or seen(sys.ready)) once",
            ),
            (
                Fault::Swap,
                true,
                "swap when c2s and vital and (sys.ready or seen(sys.ready)) once",
            ),
        ] {
            assert_eq!(cell("sys.ready", vital, Proto::V7, fault).rule(), rule);
        }
    }

    /// Control messages have no order that could change.
    #[test]
    fn each_step_has_a_cell_for_each_fault_that_fits() {
        let mut login = Login::default();
        for name in ["ctrl.connect", "sys.ready"] {
            login.add(
                teetap_proxy::session::Time::ZERO,
                cell(name, true, Proto::V7, Fault::Lose).step,
            );
        }
        let cells: Vec<_> = Cell::all(&login)
            .iter()
            .map(|cell| (cell.step.name.clone(), cell.fault))
            .collect();
        let mut expected = Vec::new();
        for name in ["ctrl.connect", "sys.ready"] {
            let fits = |fault: &Fault| name != "ctrl.connect" || *fault != Fault::Swap;
            expected.extend(
                Fault::ALL
                    .iter()
                    .copied()
                    .filter(fits)
                    .map(|fault| (name.to_owned(), fault)),
            );
        }
        assert_eq!(cells, expected);
    }
}

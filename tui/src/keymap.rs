//! The keys of each action, declared once: input and key hints read this table.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::Action;

/// A key with its modifiers, and how hints write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
    /// The name of the key, as hints show it.
    pub name: &'static str,
}

const fn plain(code: KeyCode, name: &'static str) -> Key {
    Key {
        code,
        modifiers: KeyModifiers::NONE,
        name,
    }
}

const fn control(letter: char, name: &'static str) -> Key {
    Key {
        code: KeyCode::Char(letter),
        modifiers: KeyModifiers::CONTROL,
        name,
    }
}

/// The keys and their actions. The first key of an action is the one that hints show.
pub const KEYS: [(Key, Action); 16] = [
    (plain(KeyCode::Char('q'), "q"), Action::Quit),
    (control('c', "ctrl-c"), Action::Quit),
    (plain(KeyCode::Char('j'), "j"), Action::Down),
    (plain(KeyCode::Down, "down"), Action::Down),
    (plain(KeyCode::Char('k'), "k"), Action::Up),
    (plain(KeyCode::Up, "up"), Action::Up),
    (plain(KeyCode::PageDown, "PgDn"), Action::PageDown),
    (control('d', "ctrl-d"), Action::PageDown),
    (plain(KeyCode::PageUp, "PgUp"), Action::PageUp),
    (control('u', "ctrl-u"), Action::PageUp),
    (plain(KeyCode::Char('g'), "g"), Action::First),
    (plain(KeyCode::Home, "Home"), Action::First),
    (plain(KeyCode::Char('G'), "G"), Action::Last),
    (plain(KeyCode::End, "End"), Action::Last),
    (plain(KeyCode::Char('F'), "F"), Action::Last),
    (plain(KeyCode::Esc, "Esc"), Action::Last),
];

/// Returns the action of a key that was pressed; `None` for a key without one.
#[must_use]
pub fn action(event: &KeyEvent) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    // A terminal may report an upper-case letter with or without the shift key.
    let modifiers = event.modifiers.difference(KeyModifiers::SHIFT);
    KEYS.iter()
        .find(|(key, _)| key.code == event.code && key.modifiers == modifiers)
        .map(|(_, action)| *action)
}

/// Returns the key that hints show for an action.
#[must_use]
pub fn key_of(action: Action) -> &'static str {
    KEYS.iter()
        .find(|(_, found)| *found == action)
        .map_or("", |(key, _)| key.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_a_key_and_no_key_has_two_actions() {
        for action in Action::ALL {
            assert_ne!(key_of(action), "", "{action:?}");
        }
        for (index, (key, _)) in KEYS.iter().enumerate() {
            let same =
                |(other, _): &(Key, Action)| other.code == key.code && other.modifiers == key.modifiers;
            assert_eq!(KEYS.iter().position(same), Some(index), "{}", key.name);
        }
    }

    #[test]
    fn shift_does_not_matter_and_releases_do_nothing() {
        let mut pressed = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(&pressed), Some(Action::Last));
        pressed.modifiers = KeyModifiers::NONE;
        assert_eq!(action(&pressed), Some(Action::Last));
        pressed.kind = KeyEventKind::Release;
        assert_eq!(action(&pressed), None);
        assert_eq!(
            action(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)),
            None
        );
        assert_eq!(
            action(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)),
            Some(Action::Quit)
        );
    }
}

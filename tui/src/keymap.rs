//! Keys, and the actions that they are bound to.

use std::{fmt, str::FromStr};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::{
    action::{ACTIONS, Action},
    app::view::Pane,
};

/// A key with its modifiers, written as `q`, `G`, `ctrl-d`, `PgDn`, `shift-tab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPress {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Keys with a name of more than one character.
const NAMED: [(&str, KeyCode); 16] = [
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("PgUp", KeyCode::PageUp),
    ("PgDn", KeyCode::PageDown),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("Ins", KeyCode::Insert),
    ("Del", KeyCode::Delete),
    ("backspace", KeyCode::Backspace),
];

impl KeyPress {
    /// Returns the key of an event. Shift is part of the character, not a modifier.
    #[must_use]
    pub(crate) fn from_event(event: &KeyEvent) -> Self {
        let dropped = KeyModifiers::SHIFT | KeyModifiers::META | KeyModifiers::SUPER | KeyModifiers::HYPER;
        let (code, modifiers) = match (event.code, event.modifiers) {
            (KeyCode::Tab, modifiers) if modifiers.contains(KeyModifiers::SHIFT) => {
                (KeyCode::BackTab, modifiers)
            }
            // Some terminals report a letter with ctrl in upper case.
            (KeyCode::Char(letter), modifiers) if modifiers.contains(KeyModifiers::CONTROL) => {
                (KeyCode::Char(letter.to_ascii_lowercase()), modifiers)
            }
            other => other,
        };
        Self {
            code,
            modifiers: modifiers.difference(dropped),
        }
    }

    /// Returns the key code without modifiers.
    #[must_use]
    pub(crate) const fn code(self) -> KeyCode {
        self.code
    }

    /// Returns the character that the key types; `None` with ctrl or alt.
    #[must_use]
    pub(crate) fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(char) if self.modifiers.is_empty() => Some(char),
            _ => None,
        }
    }

    /// Returns the letter that is pressed together with ctrl; `None` for other keys.
    #[must_use]
    pub(crate) fn control(self) -> Option<char> {
        match self.code {
            KeyCode::Char(char) if self.modifiers == KeyModifiers::CONTROL => Some(char),
            _ => None,
        }
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("alt-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(char) => write!(f, "{char}"),
            KeyCode::F(number) => write!(f, "F{number}"),
            _ => f.write_str("this key"),
        }
    }
}

/// A text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown key '{0}': write q, G, ctrl-d, PgDn, space, F5")]
pub struct UnknownKey(String);

impl FromStr for KeyPress {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            // A single `-` is a key.
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|after| !after.is_empty()) {
                (modifiers, rest) = (modifiers | KeyModifiers::CONTROL, after);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|after| !after.is_empty()) {
                (modifiers, rest) = (modifiers | KeyModifiers::ALT, after);
            } else {
                break;
            }
        }
        let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(rest));
        let function = rest.strip_prefix('F').and_then(|number| number.parse().ok());
        let mut chars = rest.chars();
        let code = match (named, function, chars.next(), chars.next()) {
            (Some((_, code)), ..) => *code,
            (_, Some(number @ 1..=12), ..) => KeyCode::F(number),
            (_, _, Some(char), None) if !char.is_control() => {
                KeyCode::Char(match modifiers.contains(KeyModifiers::CONTROL) {
                    true => char.to_ascii_lowercase(),
                    false => char,
                })
            }
            _ => return Err(UnknownKey(text.to_owned())),
        };
        Ok(Self { code, modifiers })
    }
}

/// Bindings of keys to actions.
#[derive(Clone, Debug)]
pub(crate) struct Keymap {
    keys: Vec<(KeyPress, Action)>,
}

impl Default for Keymap {
    fn default() -> Self {
        let keys = ACTIONS.iter().flat_map(|entry| {
            let parsed = entry.keys.iter().filter_map(|key| key.parse().ok());
            parsed.map(|key| (key, entry.action))
        });
        Self { keys: keys.collect() }
    }
}

impl Keymap {
    /// Returns the action of a key in a pane; `None` if the key is not bound there.
    #[must_use]
    pub(crate) fn action(&self, key: KeyPress, pane: Pane) -> Option<Action> {
        let mut bound = self.keys.iter().filter(|(bound, _)| *bound == key);
        bound
            .find(|(_, action)| action.entry().scope.has(pane))
            .map(|(_, action)| *action)
    }

    /// Returns the first action of a key in any pane.
    #[must_use]
    pub(crate) fn elsewhere(&self, key: KeyPress) -> Option<Action> {
        let found = self.keys.iter().find(|(bound, _)| *bound == key);
        found.map(|(_, action)| *action)
    }

    /// Returns the keys of an action. Hints show the first one.
    pub(crate) fn keys(&self, action: Action) -> impl Iterator<Item = KeyPress> {
        let keys = self.keys.iter().filter(move |(_, bound)| *bound == action);
        keys.map(|(key, _)| *key)
    }

    /// Returns the key to show in hints; empty if the action has no key.
    #[must_use]
    pub(crate) fn hint(&self, action: Action) -> String {
        self.keys(action)
            .next()
            .map_or(String::new(), |key| key.to_string())
    }

    /// Binds a key to an action. Removes other bindings of the key in the panes of the action.
    pub(crate) fn bind(&mut self, key: KeyPress, action: Action) {
        let scope = action.entry().scope;
        self.keys
            .retain(|(bound, other)| *bound != key || !other.entry().scope.meets(scope));
        self.keys.insert(0, (key, action));
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn every_action_has_its_keys_and_none_has_two_actions_in_a_pane() {
        let keymap = Keymap::default();
        for entry in ACTIONS {
            let keys: Vec<String> = keymap.keys(entry.action).map(|key| key.to_string()).collect();
            assert_eq!(keys, entry.keys, "{}", entry.name);
        }
        for (index, (key, action)) in keymap.keys.iter().enumerate() {
            for (_, other) in keymap.keys[..index].iter().filter(|(other, _)| other == key) {
                let both = action.entry().scope.meets(other.entry().scope);
                assert!(!both, "{key}: {action:?} and {other:?}");
            }
        }
    }

    #[test]
    fn names_are_unique_and_sentences_fit() {
        let mut names: Vec<&str> = ACTIONS.iter().map(|entry| entry.name).collect();
        let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(names.iter().all(plain), "{names:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ACTIONS.len());
        for entry in ACTIONS {
            assert!(
                entry.help.len() < 72 && !entry.help.ends_with('.'),
                "{}",
                entry.help
            );
            assert_eq!(Action::named(entry.name), Some(entry.action));
            assert_eq!(entry.action.entry().name, entry.name);
        }
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for name in [
            "q",
            "G",
            "ctrl-d",
            "PgDn",
            "space",
            "shift-tab",
            "F5",
            "alt-x",
            "-",
            "é",
            "ctrl-alt-a",
        ] {
            assert_eq!(name.parse::<KeyPress>().unwrap().to_string(), name);
        }
        // Keys are written as terminal events are read.
        assert_eq!("ctrl-D".parse::<KeyPress>().unwrap().to_string(), "ctrl-d");
        for wrong in ["", "F13", "ctrl-", "qq", "\u{7}"] {
            assert!(wrong.parse::<KeyPress>().is_err(), "{wrong:?}");
        }
        let event = |char, modifiers| {
            KeyPress::from_event(&KeyEvent::new(KeyCode::Char(char), modifiers)).to_string()
        };
        assert_eq!(event('G', KeyModifiers::SHIFT), "G");
        assert_eq!(event('G', KeyModifiers::NONE), "G");
        assert_eq!(event('C', KeyModifiers::CONTROL | KeyModifiers::SHIFT), "ctrl-c");
        let tab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(KeyPress::from_event(&tab).to_string(), "shift-tab");
    }

    #[test]
    fn a_key_is_bound_to_another_action() {
        let mut keymap = Keymap::default();
        let key: KeyPress = "j".parse().unwrap();
        keymap.bind(key, Action::Quit);
        assert_eq!(keymap.action(key, Pane::List), Some(Action::Quit));
        assert_eq!(keymap.hint(Action::Down), "down");
        assert_eq!(keymap.hint(Action::Quit), "j");
    }
}

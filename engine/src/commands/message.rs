//! Messages that a person or a script writes, to inject or to replace a held message.

use teetap_proxy::session::HeldMessage;
use teetap_rules::{Draft, Made};
use teetap_wire::{Dir, Proto, def::Registry};

use super::{error::MessageError, lines::lines};

/// Maximum bytes of an injected message: no chunk is larger.
const MAX_MESSAGE: usize = 1400;

/// A message to inject.
pub(super) enum Injection {
    Draft(Draft),
    Bytes(Made),
}

impl Injection {
    /// Parses `s2c sv_chat{message: "text"}` or `s2c vital 0x06`. Also returns warnings about the message.
    pub(super) fn read(text: &str, registry: &'static Registry) -> Result<(Self, Vec<String>), MessageError> {
        if let Some(made) = bytes_of(text) {
            return made.map(|made| (Self::Bytes(made), Vec::new()));
        }
        let (draft, warnings) = Draft::inject(text, registry).map_err(MessageError::Invalid)?;
        Ok((Self::Draft(draft), lines(&warnings)))
    }

    /// Builds the message for a session of this protocol.
    pub(super) fn made(self, proto: Proto) -> Result<Made, MessageError> {
        match self {
            Self::Draft(draft) => Ok(draft.made(proto)?),
            Self::Bytes(made) => Ok(made),
        }
    }
}

/// Returns the new bytes of a held message whose fields `text` changes, as in `cl_say{message: "text"}`, and the
/// warnings.
pub(super) fn edited(
    text: &str,
    waiting: &HeldMessage,
    registry: &'static Registry,
) -> Result<(Vec<u8>, Vec<String>), MessageError> {
    let (draft, warnings) = Draft::edit(text, registry).map_err(MessageError::Invalid)?;
    let data = draft.edited(waiting.proto, waiting.dir, &waiting.data)?;
    Ok((data, lines(&warnings)))
}

/// Parses `s2c vital 0x06`; `None` if the text has another form.
fn bytes_of(text: &str) -> Option<Result<Made, MessageError>> {
    let mut words = text.split_ascii_whitespace();
    let dir = match words.next()? {
        "c2s" => Dir::C2s,
        "s2c" => Dir::S2c,
        _ => return None,
    };
    let vital = match words.next()? {
        "vital" => true,
        "nonvital" => false,
        _ => return None,
    };
    let hex = words.next()?.strip_prefix("0x")?;
    let rest: String = words.collect();
    Some(bytes(dir, vital, &[hex, &rest].concat()))
}

/// Parses the hex of a message: its id and fields.
pub(super) fn bytes(dir: Dir, vital: bool, hex: &str) -> Result<Made, MessageError> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let pairs = digits.as_deref().map(<[u8]>::as_chunks::<2>);
    let data: Vec<u8> = match pairs {
        Some((pairs, [])) if !pairs.is_empty() => pairs.iter().map(|[high, low]| high << 4 | low).collect(),
        _ => return Err(MessageError::Hex),
    };
    if data.len() > MAX_MESSAGE {
        return Err(MessageError::TooLong { max: MAX_MESSAGE });
    }
    Ok(Made { dir, vital, data })
}

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
    message: &HeldMessage,
    registry: &'static Registry,
) -> Result<(Vec<u8>, Vec<String>), MessageError> {
    let (draft, warnings) = Draft::edit(text, registry).map_err(MessageError::Invalid)?;
    let data = draft.edited(message.proto, message.dir, &message.data)?;
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
    Ok(Made {
        dir,
        vital,
        data,
        rule: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Direction, kind and bytes of a message, or the reason why they are refused.
    type Read = Result<(Dir, bool, Vec<u8>), String>;

    fn read(text: &str) -> Option<Read> {
        let made = bytes_of(text)?;
        let made = made.map(|Made { dir, vital, data, .. }| (dir, vital, data));
        Some(made.map_err(|error| error.to_string()))
    }

    #[test]
    fn bytes_have_a_direction_a_kind_and_pairs_of_digits() {
        let of = |dir, vital, data: &[u8]| Some(Ok((dir, vital, data.to_vec())));
        assert_eq!(read("c2s vital 0x06"), of(Dir::C2s, true, &[6]));
        assert_eq!(read("c2s nonvital 0x06"), of(Dir::C2s, false, &[6]));
        assert_eq!(read("s2c vital 0xa6"), of(Dir::S2c, true, &[0xa6]));
        assert_eq!(
            read("  s2c nonvital\t0x0F f0 "),
            of(Dir::S2c, false, &[0x0f, 0xf0])
        );
        // A pair of digits may be split.
        assert_eq!(read("s2c vital 0x0 1 2 3"), of(Dir::S2c, true, &[0x01, 0x23]));
        for other in [
            "",
            "s2c",
            "both vital 0x06",
            "s2c 0x06",
            "s2c vital",
            "s2c vital 06",
            "s2c sv_motd 0x06",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        let hex = "invalid hex: expected two digits for each byte of id and fields";
        for wrong in [
            "s2c vital 0x",
            "s2c vital 0x0",
            "s2c vital 0x0g",
            "s2c vital 0x00 0",
        ] {
            assert_eq!(read(wrong), Some(Err(hex.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn bytes_fit_a_chunk() {
        let length = |count: usize| {
            let made = bytes(Dir::C2s, true, &"ab".repeat(count));
            made.map(|made| made.data.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(length(1400), Ok(1400));
        assert_eq!(
            length(1401),
            Err("the message is longer than 1400 bytes".to_owned())
        );
    }
}

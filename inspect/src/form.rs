//! The values behind notes on the form of a datagram, its header and its chunks.

use teetap_proxy::session::{Datagram, Origin};
use teetap_wire::{ChunkHeader, Code, Control, MAX_DATAGRAM, Note, Proto, Token, counted};

use crate::{Reading, Values, header_length::HeaderLength, meant::unannounced};

/// The bits of the ack in the first byte of a datagram.
const ACK_BITS: u8 = 3;

/// Returns the values behind a note on the form of a datagram, such as `got 2 chunks, expected 1`; `None` for other
/// notes.
pub(crate) fn form(reading: &Reading, datagram: &Datagram, note: &Note) -> Option<Values> {
    let size = datagram.received()?.len();
    let (got, expected) = match note.code {
        Code::TooShort => (bytes(size), format!("at least {}", header(datagram.proto))),
        Code::Oversized => (bytes(MAX_DATAGRAM + note.len), format!("at most {MAX_DATAGRAM}")),
        Code::PayloadOversized if note.at > 0 => (bytes(note.at + note.len), format!("at most {}", note.at)),
        Code::BadHuffman if is_control_of_other_version(reading, datagram) => (
            "a first byte of 10 before a plain control message".to_owned(),
            "04: 10 is the compression flag in 0.7, and the control flag of 0.6".to_owned(),
        ),
        Code::BadHuffman => (
            format!("{} with the compression flag", bytes(size)),
            "Huffman codes with an end mark".to_owned(),
        ),
        Code::HuffmanSurplus => (
            format!("{} after the end mark", bytes(note.len)),
            "none".to_owned(),
        ),
        Code::MissingToken => {
            let token = reading.header.expected.token;
            let token = token.map_or_else(|| "four bytes".to_owned(), |token| token.to_string());
            ("no token".to_owned(), token)
        }
        Code::WrongToken => {
            let got = reading.header.token?;
            match reading.header.expected.token {
                Some(token) => (got.to_string(), token.to_string()),
                None => return Some(Values::new(got, None::<&str>)),
            }
        }
        Code::UnknownFlags => {
            let (first, rest) = datagram.received()?.split_first()?;
            let second = rest.first().copied().unwrap_or_default();
            let meaning = foreign_bits(datagram.proto, *first, second);
            let meaning = meaning.map_or(String::new(), |meaning| format!(": {meaning}"));
            (
                format!("a first byte of {first:02x}"),
                format!("0 in the unknown bits{meaning}"),
            )
        }
        Code::ControlCompressed => ("the compression flag".to_owned(), "none".to_owned()),
        Code::ControlWithChunks => (chunks(reading.header.num_chunks.into()), "0".to_owned()),
        Code::ControlEmpty => ("no byte".to_owned(), "an id".to_owned()),
        Code::UnknownControl => {
            let id = reading.messages.first()?.id?;
            let known = match datagram.proto {
                Proto::V7 => "0 to 5 without 3",
                Proto::V6 | Proto::V65 | Proto::Ddnet => "0 to 4",
            };
            (format!("id {id}"), known.to_owned())
        }
        Code::EmptyNoResend => ("0 chunks".to_owned(), "1 or more, or the resend flag".to_owned()),
        Code::ChunkCountTooHigh => {
            let there = reading
                .messages
                .iter()
                .filter(|message| message.handling.origin == Origin::Peer);
            (
                chunks(reading.header.num_chunks.into()),
                there.count().to_string(),
            )
        }
        Code::ChunkOfOtherVersion => of_other_version(reading, datagram.proto)?,
        Code::ChunkSizeWithHeader => {
            let (first, len) = ChunkHeader::decode(datagram.proto, reading.payload_bytes())?;
            let size = usize::from(first.size);
            (
                format!("a size of {} in the first chunk", bytes(size)),
                size.checked_sub(len)?.to_string(),
            )
        }
        Code::ChunkHeaderLength => header_length(reading, datagram)?,
        Code::ChunkCountTooLow => too_low(reading, datagram)?,
        Code::ChunkTruncated => truncated(reading, datagram.proto, note),
        Code::TrailingBytes => trailing(reading, datagram.proto, note),
        _ => return None,
    };
    Some(Values::new(got, Some(expected)))
}

/// Returns what unknown bits of the first byte mean in another version, and how this version reads the datagram; `None`
/// if they mean nothing there. `second` is the second byte.
///
/// Sources: `CNetBase::UnpackPacket` in `network.cpp` of Teeworlds 0.6.4, whose ack has twelve bits, 0.6.5 and 0.7.5.
fn foreign_bits(proto: Proto, first: u8, second: u8) -> Option<String> {
    let seven = Proto::V7.layout();
    match proto {
        Proto::V7 if first & 0x80 != 0 && first & seven.compression == 0 => Some(format!(
            "80 is the compression bit of 0.6, in 0.7 it is {:02x}; a receiver of 0.7 reads the compressed bytes as chunks",
            seven.compression
        )),
        Proto::V7 if first & 0x40 != 0 => {
            Some("40 is the resend bit of 0.6, in 0.7 it is 08; a receiver of 0.7 sees no request".to_owned())
        }
        Proto::V6 if first & 0x0c != 0 => {
            let ack = u16::from(first & 0x0f) << 8 | u16::from(second);
            let which = if first & 0x08 == 0 {
                ""
            } else {
                "08 is the token bit of 0.6.5; "
            };
            Some(format!(
                "{which}Teeworlds 0.6.4 reads the bits as part of the ack, which is then {ack}, and drops the datagram"
            ))
        }
        _ => None,
    }
}

/// Returns true for a control packet of 0.7 with the control flag of 0.6: no chunks, the right token, and a control message
/// behind it that is not compressed.
fn is_control_of_other_version(reading: &Reading, datagram: &Datagram) -> bool {
    let Some((&[first, _, num_chunks], rest)) = datagram.received().and_then(<[u8]>::split_first_chunk)
    else {
        return false;
    };
    let Some((token, payload)) = rest.split_first_chunk() else {
        return false;
    };
    let is_flag = first & !ACK_BITS == Proto::V6.layout().control;
    let is_token = reading.header.expected.token == Some(Token(*token));
    let message = Control::parse(Proto::V7, payload);
    let is_message = matches!(
        message,
        Some(Control::KeepAlive | Control::Close { .. } | Control::ConnectAccept { .. })
    );
    datagram.proto == Proto::V7 && is_flag && num_chunks == 0 && is_token && is_message
}

/// Returns the values for chunk headers in the form of the other version.
fn of_other_version(reading: &Reading, proto: Proto) -> Option<(String, String)> {
    let form = |proto| match proto {
        Proto::V7 => "0.7 (6 and 6 bits of size)",
        Proto::V6 | Proto::V65 | Proto::Ddnet => "0.6 (6 and 4 bits of size)",
    };
    let other = match proto {
        Proto::V7 => Proto::V6,
        Proto::V6 | Proto::V65 | Proto::Ddnet => Proto::V7,
    };
    let payload = reading.payload_bytes();
    let size = |proto| ChunkHeader::decode(proto, payload).map(|(header, _)| bytes(header.size.into()));
    let got = format!(
        "a first chunk of {} with a header of {}",
        size(other)?,
        form(other)
    );
    Some((
        got,
        format!("a header of {}: it is read as {}", form(proto), size(proto)?),
    ))
}

/// Returns the values for chunk headers of the wrong length.
fn header_length(reading: &Reading, datagram: &Datagram) -> Option<(String, String)> {
    let payload = (reading.payload_bytes(), reading.header.num_chunks);
    Some(match HeaderLength::find(datagram.proto, datagram.dir, payload)? {
        HeaderLength::Numbered(number) => (
            format!("a header of 3 bytes with the number {number} in a chunk that is not vital"),
            "2 bytes: only vital chunks have a number".to_owned(),
        ),
        HeaderLength::Unnumbered => (
            "a header of 2 bytes in a vital chunk".to_owned(),
            "3 bytes: the third is its number".to_owned(),
        ),
    })
}

/// Returns the values for a packet that announces fewer chunks than it has.
fn too_low(reading: &Reading, datagram: &Datagram) -> Option<(String, String)> {
    let count = reading.header.num_chunks;
    let payload = (reading.payload_bytes(), count);
    let names = unannounced(datagram.proto, datagram.dir, reading.header.token, payload)?;
    let (first, more) = names.split_first()?;
    let which = match more.len() {
        0 => format!("{first} follows them and is not read"),
        more => format!("{first} and {more} more follow them and are not read"),
    };
    let expected = format!("{}: {which}", usize::from(count) + names.len());
    Some((chunks(count.into()), expected))
}

/// Returns the values for bytes after the last announced chunk.
fn trailing(reading: &Reading, proto: Proto, note: &Note) -> (String, String) {
    let rest = reading.payload_bytes().get(note.at..note.at + note.len);
    let is_token = reading
        .header
        .token
        .is_some_and(|token| rest == Some(&token.0[..]));
    let which = if is_token { ", which are the token," } else { "" };
    let got = format!(
        "{}{which} after {}",
        bytes(note.len),
        chunks(reading.header.num_chunks.into())
    );
    let expected = match (is_token, proto) {
        (true, Proto::V7 | Proto::V65) => "none: it is in the header only",
        _ => "none",
    };
    (got, expected.to_owned())
}

/// Returns the values for a chunk that extends beyond the payload.
fn truncated(reading: &Reading, proto: Proto, note: &Note) -> (String, String) {
    let rest = reading.payload_bytes().get(note.at..).unwrap_or_default();
    match ChunkHeader::decode(proto, rest) {
        Some((header, len)) => {
            let left = rest.len().saturating_sub(len);
            (
                format!("a chunk of {}", bytes(header.size.into())),
                format!("at most {left}"),
            )
        }
        None => (bytes(rest.len()), "a chunk header of 2 or 3".to_owned()),
    }
}

/// Returns the length of the shortest header of a protocol, in bytes.
const fn header(proto: Proto) -> usize {
    match proto {
        Proto::V7 => 7,
        Proto::V6 | Proto::V65 | Proto::Ddnet => 3,
    }
}

fn bytes(count: usize) -> String {
    counted(count, "byte").to_string()
}

fn chunks(count: usize) -> String {
    counted(count, "chunk").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_another_version_are_explained() {
        for (proto, first, expected) in [
            (
                Proto::V7,
                0x80,
                Some("80 is the compression bit of 0.6, in 0.7 it is 10"),
            ),
            (Proto::V7, 0x90, None),
            (
                Proto::V7,
                0x40,
                Some("40 is the resend bit of 0.6, in 0.7 it is 08"),
            ),
            (
                Proto::V6,
                0x88,
                Some(
                    "08 is the token bit of 0.6.5; Teeworlds 0.6.4 reads the bits as part of the ack, which is then 2055,",
                ),
            ),
            (
                Proto::V6,
                0x84,
                Some("Teeworlds 0.6.4 reads the bits as part of the ack, which is then 1031,"),
            ),
            (Proto::V65, 0x04, None),
        ] {
            let got = foreign_bits(proto, first, 7);
            let is_right = match (&got, expected) {
                (Some(got), Some(expected)) => got.starts_with(expected),
                (got, expected) => got.as_deref() == expected,
            };
            assert!(is_right, "{proto} {first:02x}: {got:?}");
        }
    }
}

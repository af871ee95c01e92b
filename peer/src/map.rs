//! Maps: the file that a server announces and serves in parts, and the download by a client.
//!
//! Law: in 0.6, the client requests each part by its number (0.6.5 server.cpp, `NETMSG_REQUEST_MAP_DATA`). In 0.7,
//! the server sends several parts for each request and counts them itself (0.7.5 server.cpp,
//! `NETMSG_REQUEST_MAP_DATA`).

use std::sync::Arc;

use teetap_wire::Proto;
use teetap_wire::def::Datum;

use crate::Variant;
use crate::message::{Message, Reading, text};

/// Length in bytes of each part except the last, in 0.6 and on all servers of DDNet (server.cpp, `1024 - 128`).
const PART: usize = 896;
/// Length in bytes of each part except the last, in 0.7 (0.7.5 server.h, `MAP_CHUNK_SIZE`).
const PART_OF_SEVEN: usize = 1384;
/// Parts per request in 0.7 (`sv_map_download_speed` of 0.7.5, `sv_map_window` of DDNet).
const PARTS: usize = 8;
const PARTS_OF_DDNET: usize = 15;
/// Maximum length in bytes of a map that a client downloads.
const MAX_MAP: usize = 64 << 20;

/// SHA-256 digest of the standard dm1 of 0.7.
const DM1_SHA256: [u8; 32] = [
    0x49, 0x1a, 0xf1, 0x7a, 0x51, 0x02, 0x14, 0x50, 0x62, 0x70, 0x90, 0x4f, 0x14, 0x7a, 0x4c, 0x30, 0xae,
    0x0a, 0x85, 0xb9, 0x1b, 0xb8, 0x54, 0x39, 0x5b, 0xef, 0x8c, 0x39, 0x7f, 0xc0, 0x78, 0xc3,
];

/// The map of a server, with a file for each of the two protocols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    name: String,
    six: MapFile,
    seven: MapFile,
}

/// A map file, as `map_change` announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapFile {
    crc: u32,
    size: i32,
    sha256: Option<[u8; 32]>,
    /// `None` if the server cannot serve the file, because every client has it.
    data: Option<Arc<[u8]>>,
}

/// The error for the size of a map file that no server can announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a map of {0} bytes: expected 1 to {MAX_MAP}")]
pub struct MapSizeError(usize);

impl MapFile {
    /// Creates a map file from its bytes. Servers of 0.7 also send the digest, if it is given; clients of 0.7.5 use
    /// it in the name of the downloaded file.
    ///
    /// # Errors
    /// Returns a [`MapSizeError`] if the file is empty or has more than 64 MiB.
    pub fn new(data: impl Into<Arc<[u8]>>, sha256: Option<[u8; 32]>) -> Result<Self, MapSizeError> {
        let data = data.into();
        let size = i32::try_from(data.len())
            .ok()
            .filter(|size| *size > 0 && data.len() <= MAX_MAP)
            .ok_or(MapSizeError(data.len()))?;
        Ok(Self {
            crc: crc32(&data),
            size,
            sha256,
            data: Some(data),
        })
    }

    /// Returns the checksum that servers announce for the file.
    #[must_use]
    pub const fn crc(&self) -> u32 {
        self.crc
    }
}

impl Map {
    /// Creates a map with this name and a file for each protocol.
    pub fn new(name: impl Into<String>, six: MapFile, seven: MapFile) -> Self {
        Self {
            name: name.into(),
            six,
            seven,
        }
    }

    /// Creates `dm1`, which every client has, so the server does not serve it.
    #[must_use]
    pub fn dm1() -> Self {
        let file = |crc, size, sha256| MapFile {
            crc,
            size,
            sha256,
            data: None,
        };
        Self::new(
            "dm1",
            file(0xf215_9e6e, 5805, None),
            file(0x6454_8818, 6793, Some(DM1_SHA256)),
        )
    }

    /// Returns the name of the map.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn file(&self, variant: Variant) -> &MapFile {
        match variant.proto() {
            Proto::V7 => &self.seven,
            _ => &self.six,
        }
    }

    /// Returns the message that announces the map.
    pub(crate) fn change(&self, variant: Variant) -> Message {
        let (proto, file) = (variant.proto(), self.file(variant));
        let map = [
            ("name", text(&self.name)),
            ("crc", file.crc.cast_signed().into()),
            ("size", file.size.into()),
        ];
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let mut download = Vec::new();
        if proto == Proto::V7 {
            download.push((
                "num_response_chunks_per_request",
                number(parts_for_request(variant)).into(),
            ));
            download.push(("chunk_size", number(part_len(variant)).into()));
            download.extend(
                file.sha256
                    .map(|sha256| ("sha256", Datum::Bytes(sha256.to_vec()))),
            );
        }
        Message::known(proto, "map_change", map.into_iter().chain(download))
    }

    /// Returns the messages that answer a request: the part with this number in 0.6, or this and the following parts
    /// in 0.7. The result is empty if there is no such part.
    pub(crate) fn parts(&self, variant: Variant, from: usize) -> Vec<Message> {
        let (file, len) = (self.file(variant), part_len(variant));
        let data = file.data.as_deref().unwrap_or_default();
        let last = data.len().div_ceil(len).saturating_sub(1);
        let rest = from.checked_mul(len).and_then(|at| data.get(at..));
        let message = |(part, data): (usize, &[u8])| {
            let bytes = ("data", Datum::Bytes(data.to_vec()));
            if variant.proto() == Proto::V7 {
                return Message::known(Proto::V7, "map_data", [bytes]);
            }
            let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
            let head = [
                ("last", i32::from(part == last).into()),
                ("crc", file.crc.cast_signed().into()),
                ("chunk", number(part).into()),
                ("size", number(data.len()).into()),
                bytes,
            ];
            Message::known(variant.proto(), "map_data", head)
        };
        let parts = rest
            .unwrap_or_default()
            .chunks(len)
            .take(parts_for_request(variant));
        (from..).zip(parts).map(message).collect()
    }
}

/// Returns the number of parts that a server sends for one request.
pub(crate) const fn parts_for_request(variant: Variant) -> usize {
    match variant {
        Variant::V7 => PARTS,
        Variant::Ddnet7 => PARTS_OF_DDNET,
        _ => 1,
    }
}

const fn part_len(variant: Variant) -> usize {
    match variant {
        Variant::V7 => PART_OF_SEVEN,
        _ => PART,
    }
}

/// A map that a client has downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    /// Name of the map.
    pub name: String,
    /// Checksum that the server announced. The client does not check it.
    pub crc: u32,
    /// Content of the map file.
    pub data: Vec<u8>,
}

/// A download that is not complete.
#[derive(Debug, Clone)]
pub(crate) struct Download {
    proto: Proto,
    map: Downloaded,
    size: usize,
    part_len: usize,
    for_request: i32,
    /// Number of the next part.
    part: i32,
}

/// The effect of a part on a download.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The part was not accepted, or more parts of the request are missing.
    Waits,
    /// The next parts must be requested.
    Requests,
    /// The map is complete.
    Complete,
}

impl Download {
    /// Begins the download of the map that a `map_change` announces. Returns `None` if the size is out of range or a
    /// field is not valid.
    pub(crate) fn new(proto: Proto, change: &Reading<'_>) -> Option<Self> {
        let size = usize::try_from(change.int("size")?).ok()?;
        let positive = |path| change.int(path).filter(|value| *value > 0);
        let (part_len, for_request) = if proto == Proto::V7 {
            (
                positive("chunk_size")?,
                positive("num_response_chunks_per_request")?,
            )
        } else {
            (1, 1)
        };
        (size > 0 && size <= MAX_MAP).then_some(Self {
            proto,
            map: Downloaded {
                name: change.text("name")?,
                crc: change.int("crc")?.cast_unsigned(),
                data: Vec::new(),
            },
            size,
            part_len: usize::try_from(part_len).ok()?,
            for_request,
            part: 0,
        })
    }

    /// Returns the request for the next part, or in 0.7 for the next parts.
    pub(crate) fn request(&self) -> Message {
        let chunk = [("chunk", self.part.into())];
        let chunk = chunk.into_iter().filter(|_| self.proto != Proto::V7);
        Message::known(self.proto, "request_map_data", chunk)
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, part: &Reading<'_>) -> Progress {
        let data = part.bytes("data").unwrap_or_default();
        let left = self.size.saturating_sub(self.map.data.len());
        if self.proto == Proto::V7 {
            let len = left.min(self.part_len);
            let Some(data) = data.get(..len) else {
                return Progress::Waits;
            };
            self.map.data.extend_from_slice(data);
            self.part += 1;
            return match left - len {
                0 => Progress::Complete,
                _ if self.part % self.for_request == 0 => Progress::Requests,
                _ => Progress::Waits,
            };
        }
        let is_expected = part.int("chunk") == Some(self.part)
            && part.int("crc") == Some(self.map.crc.cast_signed())
            && !data.is_empty();
        // Never accepts more data than the server announced.
        if !is_expected || data.len() > left {
            return Progress::Waits;
        }
        self.map.data.extend_from_slice(&data);
        self.part += 1;
        if part.int("last") == Some(0) {
            Progress::Requests
        } else {
            Progress::Complete
        }
    }

    pub(crate) fn finish(self) -> Downloaded {
        self.map
    }
}

/// Returns the CRC-32 of a map file as zlib computes it (0.6.5 datafile.cpp, `CDataFileReader::Open`).
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    let of_byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !data.iter().fold(u32::MAX, of_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn no_server_announces_an_empty_map_or_a_huge_one() {
        assert_eq!(MapFile::new(Vec::new(), None), Err(MapSizeError(0)));
        let huge = vec![0; MAX_MAP + 1];
        assert_eq!(MapFile::new(huge, None), Err(MapSizeError(MAX_MAP + 1)));
    }
}

//! Recognizes network headers in front of a datagram.
//!
//! Law: bytes count as headers only if they cannot be a game packet by chance: an IP header followed by a UDP header,
//! with consistent lengths and a checksum that is valid or not computed yet.

use std::ops::Range;

use crate::frame::{self, Ip, Link};

const UDP_HEADER: usize = 8;
const IPV6_HEADER: usize = 40;

/// Where the datagram is.
pub(super) struct Inside {
    pub(super) range: Range<usize>,
    pub(super) comment: String,
}

/// Returns the datagram after the headers; `None` if there are no headers.
pub(super) fn datagram(bytes: &[u8]) -> Option<Inside> {
    [
        Link::Raw,
        Link::Ethernet,
        Link::Cooked,
        Link::Cooked2,
        Link::Loopback,
    ]
    .into_iter()
    .find_map(|link| after(link, bytes))
}

fn after(link: Link, bytes: &[u8]) -> Option<Inside> {
    let found = frame::datagram(link, bytes).ok()?;
    let before = found.before.len();
    let name = match link {
        Link::Raw | Link::Other(_) => "",
        Link::Ethernet if before > 14 => "Ethernet with a VLAN tag, ",
        Link::Ethernet => "Ethernet, ",
        Link::Cooked => "Linux cooked, ",
        Link::Cooked2 => "Linux cooked (version 2), ",
        Link::Loopback if matches!(found.before, [_, 0, 0, 0] | [0, 0, 0, _]) => "loopback, ",
        Link::Loopback => return None,
    };
    let (total, version) = match &found.ip {
        Ip::V4(header) => {
            let right = header.to_header().calc_header_checksum();
            // Network cards may compute the checksum after the capture.
            if ![right, 0].contains(&header.header_checksum()) {
                return None;
            }
            (usize::from(header.total_len()), "IPv4")
        }
        Ip::V6(header) => (IPV6_HEADER + usize::from(header.payload_length()), "IPv6"),
    };
    let length = usize::from(found.header.length());
    if length < UDP_HEADER || found.start - before - UDP_HEADER + length != total {
        return None;
    }
    let mut comment = format!(
        "{} bytes of headers skipped ({name}{version}, UDP): {} to {}",
        found.start, found.from, found.to
    );
    let end = before + total;
    if bytes.len() < end {
        comment.push_str(&format!("; {} bytes were not captured", end - bytes.len()));
    } else if bytes.len() > end {
        comment.push_str(&format!("; {} bytes of padding ignored", bytes.len() - end));
    }
    Some(Inside {
        range: found.start..end.min(bytes.len()),
        comment,
    })
}

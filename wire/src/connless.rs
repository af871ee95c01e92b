//! Datagrams outside a connection, which server browsers, servers and master servers exchange.
//!
//! Law: this module parses only the framing, and identifies messages by their first eight bytes. Bit `0x20` of byte 0
//! marks such datagrams. The contents of messages are not parsed, including the small tokens of server browsers.

use crate::Token;

/// The bit of byte 0 that marks a datagram outside a connection, the same in all variants.
pub(crate) const CONNLESS: u8 = 0x20;
const HEADER_LEN: usize = 6;
const EXTENDED: [u8; 2] = *b"xe";
const V7_FIRST: u8 = 0x21;
const V7_HEADER_LEN: usize = 9;
const VERSION_MASK: u8 = 0x03;
const V7_VERSION: u8 = 0x01;

/// The bytes at the start of every message outside a connection.
const MAGIC: [u8; 4] = [0xff; 4];

/// A datagram outside a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connless<'a> {
    /// 0.6: six bytes of header without information.
    Plain {
        /// The message.
        data: &'a [u8],
    },
    /// DDNet's 0.6: the header is `xe` and four more bytes.
    Extended {
        /// Two bytes of browser token and two zero bytes.
        extra: [u8; 4],
        /// The message.
        data: &'a [u8],
    },
    /// 0.7: the header carries two tokens.
    V7 {
        /// The receiver's token.
        token: Token,
        /// The sender's own token, for the reply.
        response_token: Token,
        /// The message.
        data: &'a [u8],
    },
}

impl<'a> Connless<'a> {
    /// Reads a datagram outside a connection. `None` if the datagram is too short or belongs to a connection.
    #[must_use]
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        if !is_connless(datagram) {
            return None;
        }
        let (header, data) = datagram.split_first_chunk::<HEADER_LEN>()?;
        let &[first, second, a, b, c, d] = header;
        if [first, second] == EXTENDED {
            return Some(Self::Extended {
                extra: [a, b, c, d],
                data,
            });
        }
        if first & VERSION_MASK == V7_VERSION
            && let Some((header, data)) = datagram.split_first_chunk::<V7_HEADER_LEN>()
        {
            let &[_, t0, t1, t2, t3, r0, r1, r2, r3] = header;
            let (token, response_token) = (Token([t0, t1, t2, t3]), Token([r0, r1, r2, r3]));
            return Some(Self::V7 {
                token,
                response_token,
                data,
            });
        }
        Some(Self::Plain { data })
    }

    /// Returns the message.
    #[must_use]
    pub const fn data(&self) -> &'a [u8] {
        match self {
            Self::Plain { data } | Self::Extended { data, .. } | Self::V7 { data, .. } => data,
        }
    }
}

/// Returns true if byte 0 marks the datagram as outside a connection.
#[must_use]
pub fn is_connless(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| first & CONNLESS != 0)
}

/// Replaces `out` by a 0.7 datagram: the receiver's `token`, the sender's own `response_token`, the message.
pub fn write_v7(token: Token, response_token: Token, data: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(V7_FIRST);
    out.extend_from_slice(&token.0);
    out.extend_from_slice(&response_token.0);
    out.extend_from_slice(data);
}

/// Looks up the name of a message by its first eight bytes; `None` if unknown.
#[must_use]
pub fn name(data: &[u8]) -> Option<&'static str> {
    let kind = kind(data)?;
    NAMES
        .iter()
        .find(|(known, _)| *known == kind)
        .map(|&(_, name)| name)
}

/// Returns a label for a message: its name if known; otherwise `connless.` and its four-letter word, in hex unless it
/// is printable ASCII; or `connless.raw` if the magic bytes or the word are missing.
#[must_use]
pub fn tag(data: &[u8]) -> String {
    match (name(data), kind(data)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(kind)) if kind.iter().all(u8::is_ascii_graphic) => {
            format!("connless.{}", kind.map(char::from).iter().collect::<String>())
        }
        (None, Some(kind)) => format!("connless.{:08x}", u32::from_be_bytes(kind)),
        (None, None) => "connless.raw".to_owned(),
    }
}

/// Returns the four-letter word after the magic bytes.
fn kind(data: &[u8]) -> Option<[u8; 4]> {
    data.strip_prefix(&MAGIC)?.first_chunk().copied()
}

/// Magic words and names of the known messages. Sources: mastersrv.h of Teeworlds 0.6.5 and 0.7.5, DDNet 20
/// mastersrv.h.
const NAMES: [([u8; 4], &str); 25] = [
    (*b"gie3", "request_info"),
    (*b"inf3", "info"),
    (*b"fstd", "request_info_64"),
    (*b"dtsf", "info_64"),
    (*b"iext", "info_extended"),
    (*b"iex+", "info_extended_more"),
    (*b"chal", "challenge"),
    (*b"req2", "request_list"),
    (*b"lis2", "list"),
    (*b"cou2", "request_count"),
    (*b"siz2", "count"),
    (*b"bea2", "heartbeat"),
    (*b"fw??", "forward_check"),
    (*b"fw!!", "forward_response"),
    (*b"fwok", "forward_ok"),
    (*b"fwer", "forward_error"),
    (*b"verg", "request_version"),
    (*b"vers", "version"),
    (*b"vmlg", "request_map_list"),
    (*b"vmls", "map_list"),
    (*b"beat", "heartbeat_legacy"),
    (*b"reqt", "request_list_legacy"),
    (*b"list", "list_legacy"),
    (*b"coun", "request_count_legacy"),
    (*b"size", "count_legacy"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIE3: &[u8] = b"\xff\xff\xff\xffgie3\x07";

    #[test]
    fn the_three_framings() {
        let plain = [&[0xff; 6], GIE3].concat();
        assert_eq!(Connless::parse(&plain), Some(Connless::Plain { data: GIE3 }));
        let extended = [b"xe\x12\x34\0\0", GIE3].concat();
        let expected = Connless::Extended {
            extra: [0x12, 0x34, 0, 0],
            data: GIE3,
        };
        assert_eq!(Connless::parse(&extended), Some(expected));
        let (token, response_token) = (Token([1, 2, 3, 4]), Token([5, 6, 7, 8]));
        let mut v7 = vec![9];
        write_v7(token, response_token, GIE3, &mut v7);
        assert_eq!(v7, [b"\x21\x01\x02\x03\x04\x05\x06\x07\x08", GIE3].concat());
        assert_eq!(
            Connless::parse(&v7),
            Some(Connless::V7 {
                token,
                response_token,
                data: GIE3
            })
        );
        assert_eq!(Connless::parse(&v7).map(|connless| connless.data()), Some(GIE3));
    }

    #[test]
    fn datagrams_that_are_not_connless() {
        assert_eq!(Connless::parse(&[0xff; 5]), None);
        assert_eq!(Connless::parse(&[0x10, 0, 0, 1, 2, 3, 4]), None);
        assert_eq!(Connless::parse(&[]), None);
        // Too short for two tokens, but a 0.6 server would read it.
        assert_eq!(
            Connless::parse(&[0x21; 8]),
            Some(Connless::Plain { data: &[0x21; 2] })
        );
        // `x` alone is a 0.6 header like any other.
        assert_eq!(
            Connless::parse(b"xf\0\0\0\0a"),
            Some(Connless::Plain { data: b"a" })
        );
        assert!(is_connless(&[0x20]) && !is_connless(&[0x1f]) && !is_connless(&[]));
    }

    #[test]
    fn names_and_tags() {
        assert_eq!(name(GIE3), Some("request_info"));
        assert_eq!(name(b"\xff\xff\xff\xffiex+1"), Some("info_extended_more"));
        assert_eq!((name(b"\xff\xff\xff\xffgie"), name(b"gie3gie3")), (None, None));
        assert_eq!(tag(GIE3), "request_info");
        assert_eq!(tag(b"\xff\xff\xff\xffabc?"), "connless.abc?");
        assert_eq!(tag(b"\xff\xff\xff\xff\x1b[2J"), "connless.1b5b324a");
        assert_eq!(tag(b"abc"), "connless.raw");
    }

    proptest! {
        #[test]
        fn any_bytes_are_framed_or_not(datagram in prop::collection::vec(any::<u8>(), 0..1500)) {
            match Connless::parse(&datagram) {
                Some(connless) => prop_assert!(datagram.ends_with(connless.data())),
                None => prop_assert!(!is_connless(&datagram) || datagram.len() < HEADER_LEN),
            }
            prop_assert!(!tag(&datagram).is_empty());
        }
    }
}

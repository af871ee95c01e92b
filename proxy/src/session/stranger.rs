//! The names of [`OpensNothing`] in recordings, and the part of a notice that describes the datagram of
//! a stranger.

use std::fmt::{self, Write as _};

pub use teetap_wire::OpensNothing;

/// Returns the first bytes of a datagram, in hex, as a notice displays them.
pub(super) fn start(what: OpensNothing, datagram: &[u8]) -> Box<str> {
    let mut hex = String::new();
    for byte in what.start(datagram) {
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex.into()
}

/// The end of the sentence "127.0.0.1:5000 sent 13 bytes ...".
pub(super) struct Sentence<'a> {
    pub(super) what: OpensNothing,
    pub(super) len: usize,
    /// The first bytes in hex; empty if unknown.
    pub(super) start: &'a str,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.len {
            1 => "1 byte that opens no session",
            _ => "",
        })?;
        if self.len != 1 {
            write!(f, "{} bytes that open no session", self.len)?;
        }
        if !self.what.text().is_empty() {
            write!(f, ": {}", self.what.text())?;
        }
        let count = self.start.len() / 2;
        if count == 0 {
            return Ok(());
        }
        let verb = match (self.len, count == self.len) {
            (1, _) => "it is",
            (_, true) => "they are",
            (_, false) => "they begin with",
        };
        write!(f, "; {verb}")?;
        let mut digits = self.start.chars();
        while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
            write!(f, " {high}{low}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_the_reading_and_the_first_bytes() {
        let mut request = b"\x10\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd".to_vec();
        request.resize(520, 0);
        for (bytes, expected) in [
            (
                &request[..],
                "520 bytes that open no session: byte 0 is 10, the control flag of 0.6: in 0.7 it is 04; they begin with \
                 10 00 00 ff ff ff ff 05 24 05 cd fd 00 00 00 00",
            ),
            (
                b"\x10\0\0\x09",
                "4 bytes that open no session; they are 10 00 00 09",
            ),
            (
                b"G",
                "1 byte that opens no session: a header has 3 bytes, in 0.7 and with the token flag of 0.6.5 it has 7; it is 47",
            ),
            (
                b"",
                "0 bytes that open no session: a header has 3 bytes, in 0.7 and with the token flag of 0.6.5 it has 7",
            ),
        ] {
            let what = OpensNothing::classify(bytes);
            let sentence = Sentence {
                what,
                len: bytes.len(),
                start: &start(what, bytes),
            };
            assert_eq!(sentence.to_string(), expected);
        }
        // A scrubbed recording contains only the kind.
        let sentence = Sentence {
            what: OpensNothing::Close,
            len: 4,
            start: "",
        };
        assert_eq!(
            sentence.to_string(),
            "4 bytes that open no session: a CLOSE: there is no session to close"
        );
    }
}

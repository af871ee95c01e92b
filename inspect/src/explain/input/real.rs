//! Tests with dumps that the programs themselves wrote, all of the same bytes. Their text is unedited.

use super::*;

/// Returns the 71 bytes that were dumped.
fn dumped() -> Vec<u8> {
    let start = b"\x10\x00\x00\x01TKEN\xff\xff\xff\xff  AB0x1:";
    [&start[..], &[0; 48], b"abc"].concat()
}

macro_rules! dumps {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("dumps/", $name, ".txt")))),*]
    };
}

#[test]
fn every_dump_of_bytes_is_read() {
    for (name, text) in dumps! {
        "xxd" "xxd-a" "xxd-g1" "xxd-g0" "xxd-g4-c8-u" "xxd-p" "xxd-i" "hexdump-c" "hexdump-cv"
    } {
        let found = from_text(text).unwrap();
        assert_eq!(found.datagram, dumped(), "{name}");
        let program = match name {
            "xxd-p" => None,
            "xxd-i" => Some("the numbers of a list"),
            _ if name.starts_with("xxd") => Some("the text of xxd"),
            _ => Some("the text of hexdump -C"),
        };
        assert_eq!(found.comments.first().map(String::as_str), program, "{name}");
        let more: &[&str] = if name == "xxd-i" {
            &["text around it ignored"]
        } else {
            &[]
        };
        assert_eq!(found.comments.get(1..).unwrap_or_default(), more, "{name}");
    }
}

#[test]
fn every_dump_of_packets_gives_the_first_one() {
    for (name, text) in dumps! {
        "tcpdump-x" "tcpdump-text" "tcpdump-xx" "tshark-x" "tshark-noascii" "tshark-delimit" "tshark-all"
    } {
        let found = from_text(text).unwrap();
        assert_eq!(found.datagram, dumped(), "{name}");
        let program = if name.starts_with("tcpdump") {
            "the text of tcpdump"
        } else {
            "the text of tshark -x"
        };
        let comments: Vec<&str> = found.comments.iter().map(String::as_str).collect();
        assert_eq!(
            comments[..2],
            [program, "only the first packet of the text"],
            "{name}"
        );
        let headers = comments.last().unwrap();
        assert!(
            headers.contains("127.0.0.1:1000 to 127.0.0.1:8303"),
            "{name}: {comments:?}"
        );
    }
}

#[test]
fn dumps_of_words_are_refused_with_advice() {
    for (name, text) in dumps! {
        "bad-xxd-e" "bad-xxd-e-g2" "bad-xxd-e-short" "bad-xxd-e-shorter" "bad-xxd-e-whole" "bad-xxd-e-g2-whole" "bad-xxd-b" "bad-hexdump" "bad-hexdump-x"
        "bad-hexdump-b" "bad-hexdump-one" "bad-od" "bad-od-x" "bad-od-hex-words" "bad-od-x4"
    } {
        let error = from_text(text).unwrap_err();
        let is_word = matches!(error, InputError::Words(_) | InputError::Beside(_));
        assert!(is_word, "{name}: {error}");
        assert!(
            error.to_string().ends_with("; use xxd, hexdump -C or plain hex"),
            "{name}: {error}"
        );
    }
}

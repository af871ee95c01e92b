//! Tests of the scrubbing of texts: secrets, paths, rules, names and numbers.

use super::*;
use crate::scrub::Keep;
use teetap_wire::def::Registry;

fn secrets(texts: &[&str]) -> Secrets {
    let mut secrets = Secrets::default();
    texts.iter().for_each(|text| secrets.add(text.as_bytes()));
    secrets
}

#[test]
fn a_secret_is_a_text_without_its_end_and_no_placeholder() {
    let longest = "x".repeat(MAX_SECRET);
    let rows: [(&[u8], Option<&str>); 9] = [
        (b"abc", Some("abc")),
        (b" abc\0def", Some("abc")),
        (b"\0abc", None),
        (b"", None),
        (b"***", None),
        (b"a**", Some("a**")),
        (b"\xff", None),
        (longest.as_bytes(), Some(&longest)),
        (&[b'x'; MAX_SECRET + 1], None),
    ];
    for (bytes, expected) in rows {
        let mut secrets = Secrets::default();
        secrets.add(bytes);
        let found: Vec<&str> = secrets.0.iter().map(|secret| &**secret).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{bytes:?}");
    }
    let mut many = Secrets::default();
    (0..MAX_SECRETS + 2).for_each(|number| many.add(number.to_string().as_bytes()));
    assert_eq!(many.0.len(), MAX_SECRETS);
}

#[test]
fn a_secret_is_replaced_as_text_and_in_hex_the_longest_one_first() {
    for (known, text, expected) in [
        (&["pass"][..], "a pass, Passing", "a ****, ****ing"),
        (&["pass", "passing"], "a passing pass", "a ******* ****"),
        (&["pass"], "id 70617373 x70617373", "id ******** x********"),
        // A short secret is replaced only as a word of its own.
        (
            &["abc"],
            "abc abcd -abc (abc) 616263 0616263",
            "*** abcd -abc (***) ****** 0616263",
        ),
        (&[], "abc", "abc"),
    ] {
        assert_eq!(secrets(known).removed_from(text), expected);
    }
}

#[test]
fn a_part_is_replaced_regardless_of_case() {
    for (text, part, is_apart, expected) in [
        ("Host host hosts", "host", true, "X X hosts"),
        ("Host host hosts", "HOST", false, "X X Xs"),
        ("my-host host-a host.a", "host", true, "my-host host-a X.a"),
        ("ahost hosta", "host", true, "ahost hosta"),
        ("aaa", "aa", false, "Xa"),
        ("abc", "", false, "abc"),
        ("\u{e9}host host\u{e9}", "host", true, "\u{e9}host host\u{e9}"),
    ] {
        assert_eq!(replace(text, part, is_apart, "X"), expected, "{text} {part}");
    }
}

#[test]
fn a_path_has_parts_or_an_ending_of_this_program() {
    for (text, found) in [
        ("cannot open /a/b: no such file", Some("/a/b")),
        ("cannot open /a/b c/d: no", Some("/a/b c/d")),
        ("cannot open /a/b c.pcap more", Some("/a/b c.pcap")),
        ("cannot open '/a/b c d': no", Some("/a/b c d")),
        ("wrote a.pcapng.", Some("a.pcapng")),
        ("wrote (./a/b) more/x", Some("./a/b")),
        ("a/b", Some("a/b")),
        ("~/a", Some("~/a")),
        ("../a", Some("../a")),
        ("8/64 players", None),
        ("/info", None),
        ("a/", None),
        (".pcap", None),
        ("a.txt", None),
        ("", None),
    ] {
        assert_eq!(path(text).and_then(|range| text.get(range)), found, "{text}");
    }
    assert_eq!(without_paths("a /b/c, d.tap e"), format!("a {FILE}, {FILE} e"));
}

#[test]
fn every_ending_is_the_end_of_a_name() {
    for ending in ENDINGS {
        assert!(has_ending(&format!("a{ending}")), "{ending}");
        assert!(
            !has_ending(ending) && !has_ending(&format!("a{ending}x")),
            "{ending}"
        );
    }
}

#[test]
fn a_rule_keeps_its_words_without_its_values() {
    for (rule, expected) in [
        ("drop when c2s", "drop when c2s"),
        ("set message to \"a b\"", "set message to \"***\""),
        ("say 'a\"b' end", "say '***' end"),
        ("say \"a\\\"b\" end", "say \"****\" end"),
        // The quote after an escaped backslash ends the text.
        ("say \"a\\\\\" log \"b\" end", "say \"***\" log \"*\" end"),
        ("when /ab+/ end", "when /***/ end"),
        ("a / b", "a / b"),
        ("c2s 0x0102030405 end", "c2s 0x0102030405 end"),
        ("c2s 0x010203040506 end", "c2s ************** end"),
        ("c2s 01020304050 end", "c2s *********** end"),
        ("c2s 0102030405g end", "c2s 0102030405g end"),
    ] {
        assert_eq!(without_values(rule), expected);
    }
}

#[test]
fn names_and_numbers_stay_only_in_their_form() {
    let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
    let long = "a".repeat(63);
    for name in ["sv_chat", "ctrl.connect-2", "", &long] {
        assert_eq!(scrubber.name(name), name);
    }
    for numbers in ["1, 2 and 3", "4 to 7 was sent 2 times", ""] {
        assert_eq!(scrubber.numbers(numbers), numbers);
    }
    assert_eq!(scrubber.tally.texts, 0);
    for (name, stars) in [("Sv_chat", 7), ("sv chat", 7), (&*"a".repeat(64), 64)] {
        assert_eq!(scrubber.name(name), "*".repeat(stars), "{name}");
    }
    assert_eq!(scrubber.numbers("1 dog"), "*****");
    assert_eq!(scrubber.tally.texts, 4);
}

#[test]
fn a_target_keeps_its_form() {
    for (target, expected) in [
        ("localhost", "localhost"),
        ("LOCALHOST:8303", "LOCALHOST:8303"),
        ("demo", "demo"),
        ("example.org", SERVER),
        ("example.org:8303", "server.invalid:8303"),
        ("example.org:port", SERVER),
        ("example.org:65536", SERVER),
        ("127.0.0.1:8303", "127.0.0.1:8303"),
        ("[::1]:8303", "[::1]:8303"),
        ("[::1]", "[::1]"),
        ("::1", "::1"),
    ] {
        let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
        assert_eq!(scrubber.target(target), expected, "{target}");
        let is_host = target.starts_with("example");
        assert_eq!(scrubber.hosts.len(), usize::from(is_host), "{target}");
        scrubber.target(target);
        assert_eq!(scrubber.hosts.len(), usize::from(is_host), "{target} is known");
    }
    let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
    (0..70).for_each(|number| drop(scrubber.target(&format!("h{number}.example"))));
    assert_eq!(scrubber.hosts.len(), 64);
}

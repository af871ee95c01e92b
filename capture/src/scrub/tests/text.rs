//! Tests of addresses, names and paths in texts of the program.

use proptest::prelude::*;
use teetap_wire::def::Registry;

use super::super::*;

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Keep::default())
}

fn keeping_text() -> Scrubber {
    let keep = Keep {
        text: true,
        ..Keep::default()
    };
    Scrubber::new(Registry::builtin(), keep)
}

#[test]
fn our_own_texts() {
    let mut scrubber = scrubber();
    for (target, wanted) in [
        ("ger10.ddnet.org:8303", "server.invalid:8303"),
        ("alice-pc", "server.invalid"),
        ("84.1.2.3:8303", "192.0.2.1:8303"),
        ("[2a02::7]:8303", "[2001:db8::1]:8303"),
        ("2a02::7", "2001:db8::1"),
        ("localhost:8303", "localhost:8303"),
        ("127.0.0.1", "127.0.0.1"),
        ("demo", "demo"),
        ("", "server.invalid"),
    ] {
        assert_eq!(scrubber.target(target), wanted, "{target}");
    }
    // If texts are kept, log lines stay except for hosts, addresses and paths.
    let mut scrubber = keeping_text();
    let _remembered = (scrubber.target("ger10.ddnet.org"), scrubber.target("alice-pc"));
    for (text, wanted) in [
        (
            "Ger10.ddnet.org: no (84.1.2.3:9)",
            "server.invalid: no (192.0.2.1:9)",
        ),
        ("alice-pcs of alice-pc.", "alice-pcs of server.invalid."),
        (
            "3 packets recorded to /home/a/x.y, seed 1",
            "3 packets recorded to FILE, seed 1",
        ),
        (
            "3 packets recorded to /home/Max M/x y.pcapng, ended by rule \"/a/b\", ended by x, seed 1",
            "3 packets recorded to FILE, ended by rule \"****\", ended by x, seed 1",
        ),
        ("going on with alice.pcapng", "going on with FILE"),
        (
            "run --log alice.log --control alice.sock",
            "run --log FILE --control FILE",
        ),
        (
            "(recorded to '/home/Max Mustermann Junior/x y.pcapng', by 2a02::7)",
            "(recorded to '****', by 2001:db8::1)",
        ),
        ("say /info and make sure", "say /info and make sure"),
        ("from 2a02::: no", "from 2001:db8::2: no"),
        (
            "repeat: teetap 84.1.2.3 -r 'drop when .cmd == \"pw\"' --until c2s",
            "repeat: teetap 192.0.2.1 -r '**********************' --until c2s",
        ),
        (
            "the server answers 0.6 in 3.2 ms (\"My server\", version 0.6.4, DM on dm1, 3/16 players)",
            "the server answers 0.6 in 3.2 ms (\"My server\", version 0.6.4, DM on dm1, 3/16 players)",
        ),
        ("dm1, 3/16 players", "dm1, 3/16 players"),
        (
            "[fe80::9]:1 and 9.9.9.9 and 84.1.2.3",
            "[2001:db8::3]:1 and 192.0.2.2 and 192.0.2.1",
        ),
    ] {
        assert_eq!(scrubber.text(text), wanted);
    }
}

#[test]
fn a_log_line_stays_only_as_a_sentence_of_the_program() {
    for (text, wanted) in [
        (
            "port 8303 is taken: listening on 84.1.2.3:9",
            "port 8303 is taken: listening on 192.0.2.1:9",
        ),
        (
            "the server answers 0.6 in 3.2 ms (\"My, server\", version 0.6.4, DM on dm1, 3/16 players)",
            "the server answers 0.6 in 3.2 ms (\"**********\", version 0.6.4, DM on dm1, 3/16 players)",
        ),
        (
            "the server answers 0.6 in 3.2 ms (\"My server\", version 0.6.4, 16.4, DM on dm1, 3/16 players) and 0.7 in 4 ms",
            "the server answers 0.6 in 3.2 ms (\"*********\", version 0.6.4, 16.4, DM on dm1, 3/16 players) and 0.7 in 4 ms",
        ),
        (
            "the server answers 0.6 in 3 ms and 0.7 in 4 ms (\"My server\", version 0.7.5, DM on dm1, 3/16 players)",
            "the server answers 0.6 in 3 ms and 0.7 in 4 ms (\"*********\", version 0.7.5, DM on dm1, 3/16 players)",
        ),
        // A name that looks like the rest of the line.
        (
            "the server answers 0.6 in 3 ms (\"a\", version b, c on d, 1/2 players) e\", version 0.6.4, DM on dm1, 3/16 players)",
            "****************************************************************************************************************",
        ),
        ("/home/me/a b.tap was read again", "FILE was read again"),
        (
            "control: added drop when sv_chat",
            "********************************",
        ),
        (
            "warning\nrepeat: x\nteetap: 3.2 s, 1 session, 4 packets recorded to /home/a, b/x.y, ended by rule \"a, b\": c, seed 7, exit 1",
            "*******\n*********\nteetap: 3.2 s, 1 session, 4 packets recorded to FILE, *****, ended by *******, *****, seed 7, exit 1",
        ),
        (
            "3.2 s, 1 session, ended by the end of the command, cmd_exit 1 (stopped by teetap), seed 7, exit 1",
            "3.2 s, 1 session, ended by the end of the command, cmd_exit 1 (stopped by teetap), seed 7, exit 1",
        ),
        // A text of others never matches a part of a sentence.
        (
            "port secret is taken: listening on 84.1.2.3:9",
            "*********************************************",
        ),
    ] {
        assert_eq!(scrubber().text(text), wanted);
        assert_eq!(scrubber().text(wanted), wanted);
    }
}

#[test]
fn values_in_the_text_of_a_rule_may_be_secrets() {
    let mut scrubber = keeping_text();
    for (rule, wanted) in [
        ("chatlog", "chatlog"),
        (
            "drop when rcon_auth.password == \"hunter\\\"2\" and n > 3",
            "drop when rcon_auth.password == \"*********\" and n > 3",
        ),
        (
            "drop when .message ~ /a b/ or .x == 'pw'",
            "drop when .message ~ /***/ or .x == '**'",
        ),
        (
            "drop when raw contains 68756e74657232",
            "drop when raw contains **************",
        ),
    ] {
        assert_eq!(scrubber.of_rule(rule), wanted);
        assert_eq!(scrubber.of_rule(wanted), wanted);
    }
}

#[test]
fn secrets_of_the_traffic_are_replaced_in_all_texts() {
    let mut secrets = Secrets::default();
    for secret in ["hunter2", "hunter22", "ab", "*****", "", "pw\u{e4}"] {
        secrets.add(secret.as_bytes());
    }
    secrets.add(b"\xff\xfe");
    let mut scrubber = keeping_text().with_secrets(secrets);
    for (text, wanted) in [
        ("xHunter2x hunter22, ab cab", "x*******x ********, ** cab"),
        ("68756e74657232 pw\u{e4}", "************** ***"),
    ] {
        assert_eq!(scrubber.of_others(text), wanted);
        assert_eq!(scrubber.text(text), wanted);
        assert_eq!(scrubber.of_rule(text), wanted);
    }
}

proptest! {
    #[test]
    fn texts_that_were_scrubbed_stay(text in "[0-9af:. xé]{0,60}") {
        let once = keeping_text().text(&text);
        prop_assert_eq!(keeping_text().text(&once), once);
        let once = scrubber().text(&text);
        prop_assert_eq!(scrubber().text(&once), once);
    }

    #[test]
    fn no_address_is_left(before in "[('\"]{0,2}", six in any::<u128>(), four in 1..100_u8, port in any::<u16>(), behind in "[)'\";,.:]{0,2}") {
        let six = std::net::Ipv6Addr::from_bits(six >> 4 | 2 << 124);
        let four = std::net::Ipv4Addr::new(four, 84, four, four);
        for ip in [six.into(), std::net::IpAddr::from(four)] {
            for address in [ip.to_string(), std::net::SocketAddr::new(ip, port).to_string()] {
                let text = keeping_text().text(&format!("{before}{address}{behind} sent 3 bytes"));
                prop_assert!(!text.contains(&ip.to_string()), "{}", text);
            }
        }
    }
}

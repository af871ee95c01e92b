//! Addresses, names and paths in texts.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use teetap_wire::def::Registry;

use super::super::*;

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Unknown::Blank)
}

#[test]
fn addresses_in_texts() {
    for (text, found) in [
        ("84.1.2.3", vec!["84.1.2.3"]),
        ("(84.1.2.3:8303, [2a02::7]:8303)", vec!["84.1.2.3", "2a02::7"]),
        ("at 84.1.2.3. And 010.001.002.003", vec!["84.1.2.3", "10.1.2.3"]),
        ("<{84.1.2.3:1}> addr=fe80::1%eth0", vec!["84.1.2.3", "fe80::1"]),
        ("::ffff:84.1.2.3", vec!["::ffff:84.1.2.3"]),
        ("to: 2a02::1: yes, 2a02::", vec!["2a02::1", "2a02::"]),
        ("v1.2.3.4abc", vec!["1.2.3.4"]),
        (
            "ip:2a02::1... at:84.1.2.3... .2a02::2",
            vec!["2a02::1", "84.1.2.3", "2a02::2"],
        ),
        // Behind and before letters, and with more numbers around them.
        ("IPv6:2a02:908::1", vec!["2a02:908::1"]),
        ("me:2a02::1 source:2a02::2", vec!["2a02::1", "2a02::2"]),
        ("from2:2a02:908:1:2:3:4:5:6", vec!["2a02:908:1:2:3:4:5:6"]),
        (
            "2a02:908:1234:5678:9abc:def0:1234:5678:8303",
            vec!["2a02:908:1234:5678:9abc:def0:1234:5678"],
        ),
        (
            "2a02::1s ip2a02::2 2a02::3:gone",
            vec!["2a02::1", "2a02::2", "2a02::3"],
        ),
        ("::::2a02::1", vec!["::2a02"]),
        ("84.1.2.3:8303:2a02::1", vec!["84.1.2.3", "8303:2a02::1"]),
        ("84.1.2.3:2a02::1", vec!["84.1.2.3", "2a02::1"]),
        ("ip::ffff:84.1.2.3:8303", vec!["84.1.2.3"]),
        ("84.1.2.3..84.1.2.4", vec!["84.1.2.3", "84.1.2.4"]),
        ("1.84.1.2.3 127.0.0.1.84.1.2.4", vec!["84.1.2.3", "84.1.2.4"]),
        (
            "127.0.0.1 ::1 0.0.0.0 12:30:45 1.2.3 1.2.3.4.5 1.2.3.256 std::string 00:11:22:33:44:55",
            vec![],
        ),
        (
            ":: a :: b ::: std::deque Foo::bar vec2::new ::ffff:127.0.0.1 12:34:56: 1:2:3:4:5 x:::1",
            vec![],
        ),
    ] {
        let ips: Vec<_> = text::addresses(text.as_bytes())
            .into_iter()
            .map(|(range, ip)| {
                assert!(text[range].contains(['.', ':']));
                ip.to_string()
            })
            .collect();
        assert_eq!(ips, found, "{text}");
    }
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
        ("going on with alice.pcapng", "going on with FILE"),
        (
            "(recorded to '/home/Max Mustermann Junior/x y.pcapng', by me:2a02::7)",
            "(recorded to 'FILE', by me:2001:db8::1)",
        ),
        ("dm1, 3/16 players", "dm1, 3/16 players"),
        (
            "[fe80::9]:1 and 9.9.9.9 and 84.1.2.3",
            "[2001:db8::2]:1 and 192.0.2.2 and 192.0.2.1",
        ),
    ] {
        assert_eq!(scrubber.text(text), wanted);
    }
}

proptest! {
    #[test]
    fn no_address_is_left(before in "(.*[^0-9a-fA-F:.])?([g-z]*[0-9]?:)?", six in any::<u128>(), four in 1..100_u8, behind in "(:[0-9]{1,5})?([^0-9a-fA-F:.].*)?") {
        let six = Ipv6Addr::from_bits(six >> 4 | 2 << 124);
        let four = Ipv4Addr::new(four, 84, four, four);
        for ip in [six.to_string(), four.to_string()] {
            let mut text = format!("{before}{ip}{behind}").into_bytes();
            scrubber().peer_text(&mut text);
            prop_assert!(!String::from_utf8(text).unwrap().contains(&ip));
        }
    }

    #[test]
    fn texts_that_were_scrubbed_stay(text in "[0-9af:. xé]{0,60}") {
        // Colons that are of nothing become a part of the placeholder behind them.
        prop_assume!(!text.contains(":::"));
        let once = scrubber().text(&text);
        prop_assert_eq!(scrubber().text(&once), once);
        let mut once = text.into_bytes();
        scrubber().peer_text(&mut once);
        prop_assert_eq!(text::addresses(&once), vec![]);
    }
}

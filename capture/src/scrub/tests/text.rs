//! Addresses, names and paths in the texts of the program.

use proptest::prelude::*;
use teetap_wire::def::Registry;

use super::super::*;

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Keep::default())
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
            "(recorded to '/home/Max Mustermann Junior/x y.pcapng', by 2a02::7)",
            "(recorded to 'FILE', by 2001:db8::1)",
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
    fn texts_that_were_scrubbed_stay(text in "[0-9af:. xé]{0,60}") {
        let once = scrubber().text(&text);
        prop_assert_eq!(scrubber().text(&once), once);
    }

    #[test]
    fn no_address_is_left(before in "[('\"]{0,2}", six in any::<u128>(), four in 1..100_u8, port in any::<u16>(), behind in "[)'\";,.:]{0,2}") {
        let six = std::net::Ipv6Addr::from_bits(six >> 4 | 2 << 124);
        let four = std::net::Ipv4Addr::new(four, 84, four, four);
        for ip in [six.into(), std::net::IpAddr::from(four)] {
            for address in [ip.to_string(), std::net::SocketAddr::new(ip, port).to_string()] {
                let text = scrubber().text(&format!("{before}{address}{behind} sent 3 bytes"));
                prop_assert!(!text.contains(&ip.to_string()), "{}", text);
            }
        }
    }
}

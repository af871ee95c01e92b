//! Replaces addresses with placeholders.
//!
//! Law: the same address always gets the same placeholder, different addresses get different placeholders, and
//! placeholders are never the addresses of real hosts. Placeholders are numbered in the order in which addresses occur,
//! so that they reveal nothing else, and scrubbing a scrubbed recording changes nothing.
//!
//! | family | placeholder | source |
//! |---|---|---|
//! | IPv4 | 192.0.2.1 to 192.0.2.254, then 240.0.0.1 and so on | RFC 5737 documentation, RFC 1112 reserved |
//! | IPv6 | 2001:db8::1 and so on | RFC 3849 documentation |
//! | MAC | 02:00:00:00:00:01 and so on | IEEE 802 locally administered |
//!
//! An IPv4 address within an IPv6 address (`::ffff:a.b.c.d`) has its own placeholder, within the same prefix. Loopback,
//! unspecified and broadcast addresses are the same everywhere and stay unchanged.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Maximum number of addresses per family, which bounds the memory.
const MAX: usize = 1 << 20;

/// Last number that fits the range for documentation.
const DOCUMENTATION: u32 = 254;

/// Addresses so far, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    four: BTreeMap<Ipv4Addr, u32>,
    six: BTreeMap<Ipv6Addr, u32>,
    macs: BTreeMap<[u8; 6], u32>,
}

impl Addresses {
    /// Returns the number of IP addresses with a placeholder.
    pub(super) fn count(&self) -> u64 {
        (self.four.len() + self.six.len()) as u64
    }

    /// Returns the placeholder of an address; `None` if there are too many addresses.
    pub(super) fn ip(&mut self, ip: IpAddr) -> Option<IpAddr> {
        Some(match ip {
            _ if stays(ip) => ip,
            IpAddr::V4(ip) => self.four(ip)?.into(),
            IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
                Some(within) => self.four(within)?.to_ipv6_mapped().into(),
                None => self.six(ip)?.into(),
            },
        })
    }

    /// Same as [`Self::ip`], for an address with a port, which stays unchanged.
    pub(super) fn socket(&mut self, address: SocketAddr) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.ip(address.ip())?, address.port()))
    }

    /// Same as [`Self::ip`], for the address of a network card.
    pub(super) fn mac(&mut self, mac: [u8; 6]) -> Option<[u8; 6]> {
        if mac == [0; 6] || mac == [0xff; 6] {
            return Some(mac);
        }
        let [a, b, c, d] = number(&mut self.macs, mac)?.to_be_bytes();
        Some([2, 0, a, b, c, d])
    }

    fn four(&mut self, ip: Ipv4Addr) -> Option<Ipv4Addr> {
        let number = number(&mut self.four, ip)?;
        Some(match number.checked_sub(DOCUMENTATION + 1) {
            None => Ipv4Addr::from_bits(Ipv4Addr::new(192, 0, 2, 0).to_bits() + number),
            Some(more) => Ipv4Addr::from_bits(Ipv4Addr::new(240, 0, 0, 1).to_bits() + more),
        })
    }

    fn six(&mut self, ip: Ipv6Addr) -> Option<Ipv6Addr> {
        let number = number(&mut self.six, ip)?;
        let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0);
        Some(Ipv6Addr::from_bits(prefix.to_bits() + u128::from(number)))
    }
}

/// Returns true for an address that is the same everywhere and stays unchanged.
pub(super) fn stays(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn number<K: Ord>(known: &mut BTreeMap<K, u32>, key: K) -> Option<u32> {
    if let Some(number) = known.get(&key) {
        return Some(*number);
    }
    let number = u32::try_from(known.len() + 1)
        .ok()
        .filter(|_| known.len() < MAX)?;
    known.insert(key, number);
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(addresses: &mut Addresses, text: &str) -> String {
        addresses.ip(text.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn placeholders_are_numbered_by_family_and_stay() {
        let mut addresses = Addresses::default();
        for (given, wanted) in [
            ("84.1.2.3", "192.0.2.1"),
            ("192.0.2.1", "192.0.2.2"),
            ("2a02::7", "2001:db8::1"),
            ("fe80::1", "2001:db8::2"),
            ("84.1.2.3", "192.0.2.1"),
            ("::ffff:84.1.2.3", "::ffff:192.0.2.1"),
            ("127.9.9.9", "127.9.9.9"),
            ("::1", "::1"),
            ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
            ("0.0.0.0", "0.0.0.0"),
            ("::", "::"),
            ("255.255.255.255", "255.255.255.255"),
        ] {
            assert_eq!(ip(&mut addresses, given), wanted, "{given}");
        }
        assert_eq!(addresses.count(), 4);
        assert_eq!(addresses.mac([9; 6]), Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(addresses.mac([8; 6]), Some([2, 0, 0, 0, 0, 2]));
        assert_eq!(
            (addresses.mac([0; 6]), addresses.mac([0xff; 6])),
            (Some([0; 6]), Some([0xff; 6]))
        );
    }

    #[test]
    fn more_than_fit_are_distinct_and_scrubbed_ones_stay() {
        let (mut addresses, mut again) = (Addresses::default(), Addresses::default());
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..70_000u32 {
            let given = Ipv4Addr::from_bits(0x0808_0000 + number);
            let placeholder = addresses.ip(given.into()).unwrap();
            assert!(seen.insert(placeholder));
            assert_eq!(again.ip(placeholder), Some(placeholder));
        }
        assert_eq!(
            addresses.ip(Ipv4Addr::new(8, 8, 0, 253).into()),
            Some(Ipv4Addr::new(192, 0, 2, 254).into())
        );
        assert_eq!(
            addresses.ip(Ipv4Addr::new(8, 8, 0, 254).into()),
            Some(Ipv4Addr::new(240, 0, 0, 1).into())
        );
    }

    #[test]
    fn memory_has_an_end() {
        let mut addresses = Addresses::default();
        for number in 0..MAX {
            assert!(
                addresses
                    .ip(Ipv6Addr::from_bits((0x2a00 << 112) + number as u128).into())
                    .is_some()
            );
        }
        assert_eq!(addresses.ip("2b00::".parse().unwrap()), None);
    }
}

//! Numbers of pcapng, and names in captures of teetap.
//!
//! Source: draft-ietf-opsawg-pcapng. Facts that a packet cannot express (session, actions on a message) are in an
//! option for local use, which other programs skip.

use teetap_wire::Side;

/// Type of a section header; the same in both byte orders.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
/// Number that shows the byte order.
pub(crate) const MAGIC: u32 = 0x1a2b_3c4d;
pub(crate) const INTERFACE: u32 = 1;
pub(super) const OLD_PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(super) const STATISTICS: u32 = 5;
pub(crate) const PACKET: u32 = 6;

pub(crate) const COMMENT: u16 = 1;
pub(super) const SECTION_PROGRAM: u16 = 4;
pub(super) const INTERFACE_NAME: u16 = 2;
pub(super) const INTERFACE_DESCRIPTION: u16 = 3;
pub(crate) const INTERFACE_RESOLUTION: u16 = 9;
pub(crate) const INTERFACE_FCS: u16 = 13;
pub(super) const INTERFACE_OFFSET: u16 = 14;
pub(super) const PACKET_FLAGS: u16 = 2;
pub(super) const PACKET_DROPS: u16 = 4;
pub(super) const STATISTICS_DROPS: u16 = 5;
/// Option code for local use.
pub(crate) const OWN: u16 = 0x9e7a;

/// Start of the program name in captures of teetap.
pub(crate) const PROGRAM: &str = "teetap ";

/// Returns true for the type of a block that contains a packet.
pub(crate) const fn is_packet(kind: u32) -> bool {
    matches!(kind, PACKET | SIMPLE_PACKET | OLD_PACKET)
}

/// Returns the interface name of a leg.
pub(super) fn name_of(leg: Side) -> &'static str {
    match leg {
        Side::Client => "teetap client leg",
        Side::Server => "teetap server leg",
    }
}

/// Returns the leg for an interface name of teetap; `None` for other names.
pub(super) fn leg_of(name: &[u8]) -> Option<Side> {
    [Side::Client, Side::Server]
        .into_iter()
        .find(|leg| name_of(*leg).as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_of_an_interface_is_a_leg() {
        for leg in [Side::Client, Side::Server] {
            let name = name_of(leg);
            assert_eq!(leg_of(name.as_bytes()), Some(leg), "{name}");
            for other in [format!("{name} 2"), format!("a {name}"), name[1..].to_owned()] {
                assert_eq!(leg_of(other.as_bytes()), None, "{other}");
            }
        }
    }
}

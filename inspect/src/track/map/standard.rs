//! The standard maps of Teeworlds 0.6, with which its clients compare a `map_change` (`NETMSG_MAP_CHANGE` in `client.cpp`
//! and `CMapChecker::IsMapValid` in `mapchecker.cpp` of 0.6.5): a map of such a name with another checksum or size is
//! refused as an "invalid standard map".

use teetap_wire::Proto;

use super::message::Announced;
use crate::Values;

/// The reason of the CLOSE of a client that refuses a map.
pub(crate) const REFUSED: &str = "invalid standard map";

/// Name, crc32 and size in bytes of each map (`mapversions.h` of 0.6.5).
const MAPS: [(&str, u32, i64); 13] = [
    ("ctf1", 0x06b5_f117, 0x1238),
    ("ctf2", 0x27bc_5eac, 0x641a),
    ("ctf3", 0xa373_9d41, 0x170f),
    ("ctf4", 0xbe7c_4db9, 0x2efe),
    ("ctf5", 0xd921_29a0, 0x2f4c),
    ("ctf6", 0x28c8_4351, 0x692f),
    ("ctf7", 0x1d35_9872, 0x1587),
    ("dm1", 0xf215_9e6e, 0x16ad),
    ("dm2", 0x7183_9878, 0x21df),
    ("dm6", 0x474d_a235, 0x1e95),
    ("dm7", 0x426d_a167, 0x272a),
    ("dm8", 0x2f74_d918, 0xa1a1),
    ("dm9", 0x42d4_777e, 0x2011),
];

/// Returns how an announced map differs from the standard map of its name; `None` if it does not, or if clients of this
/// protocol do not compare it.
pub(super) fn other_file(proto: Proto, map: &Announced<'_>) -> Option<Values> {
    if !matches!(proto, Proto::V6 | Proto::V65) {
        return None;
    }
    let (name, crc, size) = *MAPS.iter().find(|(name, ..)| name.as_bytes() == map.name)?;
    ((map.crc, map.size) != (crc, size)).then(|| {
        let got = format_args!("{name} with the crc {:08x} and {} bytes", map.crc, map.size);
        Values::new(got, Some(format_args!("the crc {crc:08x} and {size} bytes")))
            .and(", as in the releases of 0.6, or another name")
    })
}

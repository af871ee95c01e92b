//! UUIDs of extended messages: version 3, made from a namespace and a name (RFC 9562; DDNet uuid_manager.cpp).

use uuid::Uuid;

/// The namespace of all DDNet messages (uuid_manager.cpp).
const NAMESPACE: Uuid = Uuid::from_u128(0xe05d_daaa_c4e6_4cfb_b642_5d48_e80c_0029);

/// Returns the UUID of the extended message `name`, such as `what-is@ddnet.tw`.
pub(super) fn uuid(name: &str) -> [u8; 16] {
    Uuid::new_v3(&NAMESPACE, name.as_bytes()).into_bytes()
}

/// Parses a UUID such as `245e5097-9fe0-39d6-bf7d-9a29e1691e4c`. Other forms are rejected.
pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let is_hyphenated = text.len() == 36;
    Some(Uuid::try_parse(text).ok().filter(|_| is_hyphenated)?.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_the_uuids_that_are_on_the_wire() {
        let what_is = 0x245e_5097_9fe0_39d6_bf7d_9a29_e169_1e4c_u128.to_be_bytes();
        assert_eq!(uuid("what-is@ddnet.tw"), what_is);
        assert_eq!(parse_uuid("245e5097-9fe0-39d6-bf7d-9a29e1691e4c"), Some(what_is));
        for wrong in [
            "",
            "245e50979fe039d6bf7d9a29e1691e4c",
            "{245e5097-9fe0-39d6-bf7d-9a29e1691e4c}",
            "245e5097-9fe0-39d6-bf7d-9a29e1691e4g",
        ] {
            assert_eq!(parse_uuid(wrong), None, "{wrong}");
        }
    }
}

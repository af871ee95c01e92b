use super::*;
use proptest::prelude::*;

const OWN: Token = Token([0x24, 0x05, 0xcd, 0xfd]);

const fn requests(token: Option<Token>, tken: bool) -> Option<Control<'static>> {
    Some(Control::Connect { token, tken })
}

const fn accepts(token: Option<Token>, tken: bool) -> Option<Control<'static>> {
    Some(Control::ConnectAccept { token, tken })
}

fn payload(build: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0xee];
    build(&mut out);
    out.remove(0);
    out
}

#[test]
fn a_magic_with_one_mistake_is_recognised() {
    for almost in [
        &b"TKEM\xff\xff\xff\xff"[..],
        b"TKEM",
        b"XKEN",
        b"tken\0",
        b"TKNE1",
        b"KTEN",
        b"KEN\xff",
        b"TKN",
        b"TKEEN\xff",
        b"xTKEN",
        b"TK\0EN",
    ] {
        assert!(is_almost_tken(almost), "{almost:02x?}");
    }
    for other in [
        &b"TKEN"[..],
        b"TKEN\xff\xff\xff\xff",
        b"",
        b"TK",
        b"TKXX\xff",
        b"NEKT",
        b"\0\0\0\0\x24\x05\xcd\xfd",
        b"\xff\xff\xff\xff",
    ] {
        assert!(!is_almost_tken(other), "{other:02x?}");
    }
}

#[test]
fn a_close_may_have_no_token() {
    for whole in [
        &b"\x04"[..],
        b"\x04\0",
        b"\x04a\0",
        b"\x04no\0",
        b"\x04full\0",
        b"\x04This server is full\0",
        b"\x04You have been banned for 5 minutes\0",
    ] {
        assert!(Control::is_close_without_token(whole), "{whole:02x?}");
        let with_token = [whole, &OWN.0].concat();
        assert!(!Control::is_close_without_token(&with_token), "{with_token:02x?}");
        let with_zero = [whole, b"abc\0"].concat();
        assert!(!Control::is_close_without_token(&with_zero), "{with_zero:02x?}");
    }
    for other in [
        &b""[..],
        b"\x00",
        b"\x04full",
        b"\x04abc\0",
        b"\x04full\xff\x01\0",
        b"\x03This server is full\0",
    ] {
        assert!(!Control::is_close_without_token(other), "{other:02x?}");
    }
}

#[test]
fn connect_of_every_variant() {
    let build = |proto| payload(|out| connect(proto, OWN, out));
    assert_eq!(build(Proto::V6), [1]);
    assert_eq!(build(Proto::Ddnet), *b"\x01TKEN");
    let v65 = build(Proto::V65);
    assert_eq!(
        (v65.len(), &v65[..9]),
        (513, &[1, 0, 0, 0, 0, 0x24, 0x05, 0xcd, 0xfd][..])
    );
    let v7 = build(Proto::V7);
    assert_eq!((v7.len(), &v7[..6]), (513, &[1, 0x24, 0x05, 0xcd, 0xfd, 0][..]));
    assert!(v65[9..].iter().chain(&v7[5..]).all(|&byte| byte == 0));
    for (proto, token) in [
        (Proto::V65, Some(OWN)),
        (Proto::V7, Some(OWN)),
        (Proto::V6, None),
        (Proto::Ddnet, None),
    ] {
        let expected = requests(token, proto == Proto::Ddnet);
        assert_eq!(Control::parse(proto, &build(proto)), expected, "{proto}");
    }
}

#[test]
fn connects_that_carry_no_own_token() {
    // A 0.6.5 server treats a client with a shorter CONNECT as a legacy client.
    let short = &payload(|out| connect(Proto::V65, OWN, out))[..512];
    assert_eq!(Control::parse(Proto::V65, short), requests(None, false));
    // DDNet's repeated 0.7 CONNECT.
    let repeated = Control::parse(Proto::V7, b"\x01TKEN");
    assert_eq!(repeated, requests(Some(Token::TKEN), true));
    assert_eq!(Control::parse(Proto::V7, b"\x01TKE"), requests(None, false));
}

#[test]
fn connect_accept_of_every_variant() {
    let build = |proto| payload(|out| connect_accept(proto, OWN, out));
    let rows: [(_, &[u8], _); 4] = [
        (Proto::V6, &[2], None),
        (Proto::V65, &[2, 0x24, 0x05, 0xcd, 0xfd], Some(OWN)),
        (Proto::Ddnet, b"\x02TKEN", None),
        (Proto::V7, &[2], None),
    ];
    for (proto, bytes, token) in rows {
        assert_eq!(build(proto), bytes, "{proto}");
        assert_eq!(
            Control::parse(proto, bytes),
            accepts(token, proto == Proto::Ddnet)
        );
    }
    // DDNet's 0.7 server adds its token, a 0.6.4 server does not.
    let with_token = Control::parse(Proto::V7, &[2, 0x24, 0x05, 0xcd, 0xfd]);
    assert_eq!(with_token, accepts(Some(OWN), false));
    assert_eq!(Control::parse(Proto::V65, &[2]), accepts(None, false));
}

#[test]
fn tokens_of_0_7() {
    let request = payload(|out| token_request(OWN, out));
    assert_eq!(
        (request.len(), &request[..6]),
        (513, &[5, 0x24, 0x05, 0xcd, 0xfd, 0][..])
    );
    let expected = |payload_len| {
        Some(Control::Token {
            token: Some(OWN),
            payload_len,
        })
    };
    assert_eq!(Control::parse(Proto::V7, &request), expected(513));
    let reply = payload(|out| token_reply(OWN, out));
    assert_eq!(reply, [5, 0x24, 0x05, 0xcd, 0xfd]);
    assert_eq!(Control::parse(Proto::V7, &reply), expected(5));
    assert_eq!(
        Control::parse(Proto::V7, &[5, 1]),
        Some(Control::Token {
            token: None,
            payload_len: 2
        })
    );
    assert_eq!(
        Control::parse(Proto::V6, &[5, 1]),
        Some(Control::Unknown { id: 5, rest: &[1] })
    );
}

#[test]
fn close_with_and_without_reason() {
    assert_eq!(payload(|out| close(b"", out)), [4]);
    assert_eq!(payload(|out| close(b"bye", out)), *b"\x04bye\0");
    assert_eq!(payload(|out| close(b"a\0b", out)), *b"\x04a\0");
    let reason = |bytes: &'static [u8]| match Control::parse(Proto::V6, bytes) {
        Some(Control::Close { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(b"\x04"), None);
    assert_eq!(reason(b"\x04\0"), Some(&b""[..]));
    assert_eq!(reason(b"\x04bye\0junk"), Some(&b"bye"[..]));
    assert_eq!(reason(b"\x04bye"), Some(&b"bye"[..]));
}

#[test]
fn names() {
    let name = |proto, id: u8| Control::parse(proto, &[id]).unwrap().name().into_owned();
    let of_6: Vec<_> = (0..6).map(|id| name(Proto::V6, id)).collect();
    assert_eq!(
        of_6,
        [
            "keepalive",
            "connect",
            "connect_accept",
            "accept",
            "close",
            "control.5"
        ]
    );
    assert_eq!(
        (name(Proto::V7, 3), name(Proto::V7, 5)),
        ("control.3".to_owned(), "token".to_owned())
    );
    assert_eq!(payload(keepalive), [0]);
    assert_eq!(payload(accept), [3]);
}

proptest! {
    #[test]
    fn any_payload_keeps_its_id(
        proto in prop::sample::select(&Proto::ALL[..]),
        id in 0u8..8,
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let payload = [&[id][..], &rest].concat();
        let control = Control::parse(proto, &payload).unwrap();
        prop_assert_eq!(control.id(), id);
        prop_assert_eq!(matches!(control, Control::Unknown { .. }), !is_known(proto, id));
        prop_assert!(!crate::printable(&rest).chars().any(char::is_control));
    }
}

//! Arbitrary bytes as a connectionless datagram.

use teetap_wire::{Connless, First, Token, connless, detect, is_connless, write_v7};

use crate::input::Input;

/// Parses one datagram, and frames its message again.
pub fn connless(data: &[u8]) {
    let parsed = Connless::parse(data);
    assert_eq!(
        parsed.is_some(),
        is_connless(data) && data.len() >= 6,
        "framed or not"
    );
    if data.len() >= 6 {
        assert_eq!(parsed.is_some(), matches!(detect(data), First::Connless(_)));
    }
    let message = parsed.map_or(data, |parsed| parsed.data());
    assert!(data.ends_with(message));
    let tag = connless::tag(message);
    assert!(!tag.is_empty() && tag.len() <= 32, "{tag}");
    assert!(tag.chars().all(|c| c.is_ascii_graphic()), "{tag:?}");
    if let Some(name) = connless::name(message) {
        assert_eq!(name, tag);
    }

    let mut input = Input::new(data);
    let (token, response_token) = (Token(input.token()), Token(input.token()));
    let mut out = vec![1, 2, 3];
    write_v7(token, response_token, message, &mut out);
    assert_eq!(out.len(), message.len() + 9);
    let again = Connless::V7 {
        token,
        response_token,
        data: message,
    };
    assert_eq!(Connless::parse(&out), Some(again));
}

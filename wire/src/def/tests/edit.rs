//! Edits of one field in messages with oddities elsewhere.

use super::*;

/// Returns the message after the edit.
fn spliced(def: &Def, data: &[u8], path: &str, value: &Datum) -> Result<Vec<u8>, EditError> {
    let (mut decoded, mut out) = (Decoded::new(), vec![1, 2, 3]);
    decoded.read(def, data, 1);
    decoded
        .splice(def, data, &def.path(path).unwrap(), value, &mut out)
        .map(|()| out)
}

#[test]
fn everything_else_stays() {
    let chat = game(Proto::V6, "sv_chat");
    // An overlong team, and bytes after the text.
    let data = b"\x06\x80\x00\x03hi\x00\xffodd";
    let edited = |path, value: Datum| spliced(chat, data, path, &value).unwrap();
    assert_eq!(
        edited("message", "capitalism.".into()),
        b"\x06\x80\x00\x03capitalism.\x00\xffodd"
    );
    assert_eq!(
        edited("client_id", 200.into()),
        b"\x06\x80\x00\x88\x03hi\x00\xffodd"
    );
    assert_eq!(edited("team", "blue".into()), b"\x06\x01\x03hi\x00\xffodd");
    assert!(spliced(chat, data, "message", &"a\0".into()).is_err());
    assert!(spliced(chat, data, "message", &1.into()).is_err());
    assert_eq!(
        spliced(chat, b"\x06\x00", "message", &"x".into()),
        Err(EditError::Missing)
    );
}

#[test]
fn elements_and_groups() {
    let skin = game(Proto::V7, "cl_skin_change");
    let mut data = Vec::new();
    skin.encode(&Datum::group([]), &mut data).unwrap();
    let mut decoded = Decoded::new();
    decoded.read(skin, &data, 2);
    let (path, mut out) = (skin.path("skin_part_names[2]").unwrap(), Vec::new());
    decoded
        .splice(skin, &data, &path, &"twinbopp".into(), &mut out)
        .unwrap();
    assert_eq!(out, [&data[..4], b"twinbopp", &data[4..]].concat());
    let input = system(Proto::V7, "input");
    // An overlong direction, and no ping correction.
    let data = [0x29, 5, 6, 40, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let edited = spliced(input, &data, "fire", &9.into()).unwrap();
    assert_eq!(edited, [0x29, 5, 6, 40, 0x81, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
    let edited = spliced(input, &data, "input", &Datum::group([("jump", 1.into())])).unwrap();
    assert_eq!(edited, [0x29, 5, 6, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_counts_the_field_follows() {
    let map = system(Proto::V6, "map_data");
    let data = b"\x07\x00\x00\x80\x00\x03abc";
    assert_eq!(
        spliced(map, data, "data", &"wxyz".into()).unwrap(),
        b"\x07\x00\x00\x80\x00\x04wxyz"
    );
    assert_eq!(
        spliced(map, data, "data", &"xyz".into()).unwrap(),
        b"\x07\x00\x00\x80\x00\x03xyz"
    );
    // An edited count is written as given.
    assert_eq!(
        spliced(map, data, "size", &9.into()).unwrap(),
        b"\x07\x00\x00\x80\x00\x09abc"
    );
    let votes = game(Proto::V7, "sv_vote_option_list_add");
    let list = Datum::List(vec!["a".into(), "bc".into(), "".into()]);
    assert_eq!(
        spliced(votes, b"\x18\x01x\0rest", "description", &list).unwrap(),
        b"\x18\x03a\0bc\0\0rest"
    );
}

#[test]
fn a_field_that_is_missing_is_added() {
    let info = system(Proto::V7, "info");
    let edited = |data: &[u8], path, value: Datum| spliced(info, data, path, &value);
    assert_eq!(edited(b"\x03v\0", "password", "x".into()).unwrap(), b"\x03v\0x\0");
    assert_eq!(
        edited(b"\x03v\0", "client_version", 3.into()).unwrap(),
        b"\x03v\0\0\x03"
    );
    assert_eq!(
        edited(b"\x03v\0p\0", "client_version", 3.into()).unwrap(),
        b"\x03v\0p\0\x03"
    );
    // A field cannot be added after a missing required field, nor before unknown bytes.
    assert_eq!(
        edited(b"\x03", "client_version", 3.into()),
        Err(EditError::Missing)
    );
    assert_eq!(
        edited(b"\x03v\0p\0\x80", "client_version", 3.into()),
        Err(EditError::Missing)
    );
}

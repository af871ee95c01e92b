//! The tables at the end of `docs/src/wire.md`, from the tables that the program uses.
//!
//! To write them: `INSTA_UPDATE=always cargo test --test cli wire_page`.

use std::{fmt::Write as _, fs, path::Path};

use teetap_wire::{
    Proto, TokenPlace,
    def::{Class, Dialect, Id, Registry},
};

/// The comment that precedes the generated part of the page.
const GENERATED: &str = "<!-- The rest is generated from the tables that teetap uses: INSTA_UPDATE=always cargo test --test cli wire_page. -->\n";

fn row(out: &mut String, name: &str, cell: impl Fn(Proto) -> String) {
    let cells: Vec<String> = Proto::ALL.into_iter().map(cell).collect();
    writeln!(out, "| {name} | {} |", cells.join(" | ")).unwrap();
}

/// Returns the table of the differences in framing.
fn framing() -> String {
    let mut out = "| | 0.6 | 0.6.5 | ddnet | 0.7 |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let bit = |bit: u8| format!("`{bit:#04x}`");
    row(&mut out, "control flag", |proto| bit(proto.layout().control));
    row(&mut out, "resend flag", |proto| bit(proto.layout().resend));
    row(&mut out, "compression flag", |proto| {
        bit(proto.layout().compression)
    });
    row(&mut out, "bits that no sender sets", |proto| {
        bit(proto.layout().unused)
    });
    row(&mut out, "token", |proto| match proto.layout().token {
        TokenPlace::Nowhere => "none".to_owned(),
        TokenPlace::HeaderWhenFlag(flag) => format!("bytes 3 to 6, if {} is set", bit(flag)),
        TokenPlace::Header => "bytes 3 to 6".to_owned(),
        TokenPlace::PayloadTail => "last 4 bytes of the payload".to_owned(),
    });
    row(&mut out, "bits of the size in byte 1 of a chunk", |proto| {
        proto.layout().chunk_split.to_string()
    });
    row(&mut out, "largest chunk, bytes of data", |proto| {
        proto.layout().max_chunk.to_string()
    });
    row(&mut out, "largest payload, bytes", |proto| {
        proto.layout().max_payload.to_string()
    });
    row(&mut out, "control messages", |proto| {
        let ids = proto.layout().control_ids.iter();
        let names = ids.map(|id| {
            let def = Registry::builtin()
                .control(proto, teetap_wire::Dir::C2s, *id)
                .unwrap();
            format!("{id} {}", def.name)
        });
        names.collect::<Vec<_>>().join(", ")
    });
    row(
        &mut out,
        "payload of `connect` as sent, bytes without token",
        |proto| proto.layout().connect.len.to_string(),
    );
    row(&mut out, "`connect` has the client's token at byte", |proto| {
        let at = proto.layout().connect.token_at;
        at.map_or_else(|| "-".to_owned(), |at| at.to_string())
    });
    row(
        &mut out,
        "`connect_accept` has the server's token at byte",
        |proto| {
            let at = proto.layout().accept_token_at;
            at.map_or_else(|| "-".to_owned(), |at| at.to_string())
        },
    );
    row(
        &mut out,
        "`connect` and `connect_accept` have `TKEN` after the id",
        |proto| if proto.layout().tken { "yes" } else { "no" }.to_owned(),
    );
    out
}

/// Returns the table of the sizes of snapshot objects on which both sides agree.
fn sizes() -> String {
    let mut out = "| type | 0.6, ddnet | ints | 0.7 | ints |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let agreed = |dialect, number| {
        let mut defs = Registry::builtin().defs(dialect);
        let def = defs.find(|def| def.class == Class::Object && def.id == Id::Number(number))?;
        Some((def.name.to_string(), def.size?.agreed?))
    };
    for number in 1..128 {
        let [six, ddnet, seven] = Dialect::ALL.map(|dialect| agreed(dialect, number));
        // DDNet kept the objects of 0.6.
        assert_eq!(six, ddnet, "{number}");
        if six.is_none() && seven.is_none() {
            continue;
        }
        let cells = |known: Option<(String, u16)>| {
            known.map_or_else(|| "- | -".to_owned(), |(name, ints)| format!("{name} | {ints}"))
        };
        writeln!(out, "| {number} | {} | {} |", cells(six), cells(seven)).unwrap();
    }
    out
}

#[test]
fn the_tables_of_the_page_are_those_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/wire.md");
    let page = fs::read_to_string(&path).unwrap();
    let (written, _) = page.split_once(GENERATED).unwrap();
    let expected = format!(
        "{written}{GENERATED}\n### Framing\n\nFlags are bits of byte 0; offsets count in the control payload from its id.\n\n{}\n\
         ### Sizes of snapshot objects\n\nThe number of ints of an item, which a delta leaves out.\n\n{}",
        framing(),
        sizes()
    );
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "{}", path.display());
    }
}

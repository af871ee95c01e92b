//! Tests of the explained form: it is correct and complete.

use super::super::model::{Compare, ValueFormat};
use super::super::parse::field::{self, RANGE};
use super::super::parse::{GIST, HEADERS, INCLUDE, PARAMS, head};
use super::super::syntax::Builtin;
use super::*;

fn registry() -> Registry {
    Registry::with("form.tw", FORM).unwrap_or_else(|errors| panic!("{errors:?}"))
}

#[test]
fn the_example_can_be_read_and_replaces_nothing() {
    let registry = registry();
    for (dialect, added) in [
        (Dialect::V6, &["cl_pet_call", "pet", "sv_pet"][..]),
        (Dialect::Ddnet, &["cl_pet_call", "pet", "sv_pet"]),
        (Dialect::V7, &[]),
    ] {
        let builtin: Vec<&Def> = Registry::builtin().defs(dialect).collect();
        let all: Vec<&Def> = registry.defs(dialect).collect();
        let mut own: Vec<&str> = all
            .iter()
            .filter(|def| !builtin.contains(def))
            .map(|def| &*def.name)
            .collect();
        own.sort_unstable();
        assert_eq!(own, added);
        assert_eq!(all.len(), builtin.len() + added.len());
        let sets: Vec<&str> = registry.sets(dialect).map(|set| &*set.name).collect();
        assert_eq!(sets.contains(&"pet_mood"), !added.is_empty());
        assert!(
            Registry::builtin()
                .sets(dialect)
                .all(|set| sets.contains(&&*set.name))
        );
    }
}

#[test]
fn the_example_works_as_documented() {
    let registry = registry();
    let pet = registry
        .named(Proto::V6, None, "NETMSGTYPE_SV_PET")
        .next()
        .unwrap();
    let toys = Datum::List(vec!["ball".into(), "stick".into()]);
    let values = Datum::group([
        ("owner", 3.into()),
        ("mood", "hungry".into()),
        ("tricks", 5.into()),
        ("name", "rex".into()),
        ("num_toys", 2.into()),
        ("toys", toys),
        ("note", "do whistle twice".into()),
    ]);
    let (data, decoded) = made(pet, &values);
    assert_eq!(
        data,
        b"\x90\x06\x03\x01\x05rex\0\x02ball\0stick\0do whistle twice\0"
    );
    assert_eq!(codes(&decoded), []);
    let look = GistStyle {
        secrets: Secrets::Hide,
        line: 200,
        value: 40,
    };
    let gist = decoded
        .view()
        .gist(pet, Source::Bytes(&data), look, &|_| Some(&b"ann"[..]));
    assert_eq!(
        gist.unwrap(),
        r#"3 "ann": "rex" is hungry, can sit|fetch, has "ball", "stick": "do whistle" •••"#
    );
    let call = [&[0][..], &uuid::uuid("pet-call@example.org"), b"rex\0"].concat();
    let found = registry.message(Proto::Ddnet, Dir::C2s, &call).unwrap();
    assert_eq!((&*found.def.name, found.body), ("cl_pet_call", 17));
    let object = registry.object_uuid(Proto::Ddnet, &uuid::uuid("pet@example.org"));
    assert_eq!(object.unwrap().size.unwrap().full, 8);
}

/// Returns the first words of the rows of a part, without values and explanations.
fn rows(part: &str) -> Vec<&'static str> {
    let lines = FORM
        .lines()
        .skip_while(|line| !line.starts_with(&format!("# {part}")));
    let lines = lines.skip(1).take_while(|line| line.starts_with("#   "));
    let words = lines.flat_map(|line| {
        // The explanation is in a separate column.
        let (words, _) = line.split_at_checked(30).unwrap_or((line, ""));
        words.split_whitespace().skip(1)
    });
    words
        .map(|word| word.split_inclusive('=').next().unwrap_or_default())
        .collect()
}

fn names<T>(table: &'static [(&'static str, T)]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|(name, _)| *name)
}

#[test]
fn every_word_of_the_parser_is_explained() {
    let (definitions, types, attributes) = (rows("DEFINITIONS"), rows("TYPES"), rows("ATTRIBUTES"));
    for word in HEADERS {
        assert!(definitions.contains(&word), "{word}: {definitions:?}");
    }
    for word in names(&Builtin::NAMES) {
        assert!(types.contains(&word), "{word}: {types:?}");
    }
    for word in names(&field::Attribute::NAMES).chain([RANGE]) {
        assert!(attributes.contains(&word), "{word}: {attributes:?}");
    }
    let head = rows("demo files only");
    for word in names(&head::Attribute::NAMES)
        .chain(names(&Vitality::NAMES))
        .chain(names(&Frequency::NAMES))
    {
        assert!(head.contains(&word), "{word}: {head:?}");
    }
    let prose = FORM.lines().take_while(|line| line.starts_with('#'));
    let prose: String = prose.map(|line| format!("{line} ")).collect();
    let words: Vec<&str> = prose.split([' ', ',', ';', ':', '`', '(', ')']).collect();
    let dialects = Dialect::ALL.into_iter().map(Dialect::name);
    let others = names(&Endpoints::NAMES)
        .chain(names(&ValueFormat::NAMES))
        .chain(dialects);
    for word in others.chain([INCLUDE, GIST]) {
        assert!(words.contains(&word), "{word}");
    }
    for sign in names(&Compare::SIGNS).chain([PARAMS]) {
        assert!(prose.contains(sign), "{sign}");
    }
}

#[test]
fn it_is_a_page_of_short_lines() {
    assert!(FORM.lines().count() <= 131);
    for line in FORM.lines() {
        assert!(line.chars().count() <= 122, "{line}");
    }
}

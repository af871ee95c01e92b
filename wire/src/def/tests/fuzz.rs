//! Any text is accepted or rejected without a panic.

use proptest::prelude::*;

use super::*;

pub(super) const WORDS: &[&str] = &[
    "for",
    "0.6",
    "ddnet",
    "0.7",
    "const",
    "words",
    "enum",
    "flags",
    "struct",
    "control",
    "system",
    "game",
    "connless",
    "object",
    "include",
    "gist",
    "\"{a}\"",
    "\"{b:player} [a? x] [b<0?{x1:raw}]\"",
    "\"[a.b",
    "a",
    "b",
    "x1",
    "90",
    "-1",
    "0x7f",
    "4294967296",
    "gie3",
    "q@w",
    "c2s",
    "s2c",
    "both",
    "vital",
    "periodic",
    "dead",
    "explicit",
    "since=1",
    "alias=z",
    "int",
    "str",
    "raw",
    "twstr",
    "uuid",
    "int[a]",
    "int?[*]",
    "b[3]",
    "a[b.params]",
    "0..",
    "..5",
    "-1..a",
    "len=4",
    "len=a",
    "rest",
    "ints=6",
    "bytes=a",
    "max=3",
    "limit=0",
    "default=",
    "default=7",
    "secret",
    "transient",
    "hide_after=a",
    "hide_with=a:b",
    "expect=x",
    "#",
    "é",
    "=",
    "..",
    "[",
    "player_input",
    "team",
    "params=2",
];

fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    let line = (
        prop::sample::select(&["", "  ", "\t"][..]),
        prop::collection::vec(word, 0..6),
    );
    let line = line.prop_map(|(indent, words)| format!("{indent}{}\n", words.join(" ")));
    prop::collection::vec(line, 0..30).prop_map(|lines| format!("for 0.6 ddnet 0.7\n{}", lines.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![texts(), any::<String>(), "[ -~\n]{0,200}"]) {
        match Registry::with("any.tw", &text) {
            // An accepted text gives definitions that read any bytes without a panic.
            Ok(registry) => {
                let mut decoded = Decoded::new();
                for def in registry.defs(Dialect::V7) {
                    decoded.read(def, &[0; 40], 0);
                    decoded.read(def, &[0xff; 40], 0);
                    let _ = def.encode(&Datum::group([]), &mut Vec::new());
                }
            }
            Err(errors) => {
                let lines = u32::try_from(text.lines().count()).unwrap();
                for error in errors {
                    prop_assert!(&*error.file == "any.tw" && (1..=lines).contains(&error.line), "{}", error);
                }
            }
        }
    }

    /// A built-in file with one line changed.
    #[test]
    fn broken_files_are_refused_or_read(line in any::<prop::sample::Index>(), word in prop::sample::select(WORDS), at in 0usize..8) {
        let text = include_str!("../../../defs/v07.tw");
        let line = line.index(text.lines().count());
        let broken = text.lines().enumerate().fold(String::new(), |out, (number, old)| {
            let mut words: Vec<_> = old.split(' ').collect();
            if number == line {
                words.insert(at.min(words.len()), word);
            }
            out + &words.join(" ") + "\n"
        });
        let _either = Registry::with("v07.tw", &broken);
    }
}

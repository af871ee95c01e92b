//! The text form: its meaning and its errors.

use super::*;
use crate::def::Frequency;

pub(super) fn errors(text: &str) -> Vec<String> {
    match Registry::with("my.tw", text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the lines of a table in twos: a case, and the result indented below it.
pub(super) fn pairs(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = table.trim().lines();
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?.strip_prefix("  ").unwrap())))
}

#[test]
fn a_user_adds_and_replaces() {
    let text = "\
for 0.6 ddnet

# Where a bot is.
game my-bot@example.org sv_bot s2c vital since=1.0 alias=NETMSG_BOT
  x     int   -5..  # to the right
  mood  mood?       # how it is
  tags  str_cc[*]

enum mood
  0 bored
  1 glad

# A chat line of a mod.
game 3 sv_chat s2c vital
  text  str

for 0.7
game 1000 sv_far s2c
game 1000 cl_far c2s
  x  int
";
    let registry = Registry::with("my.tw", text).unwrap();
    let chat: Vec<_> = registry
        .named(Proto::Ddnet, None, "sv_chat")
        .map(|def| def.fields.len())
        .collect();
    assert_eq!(chat, [1]);
    // 0.7 is unchanged.
    assert_eq!(
        registry
            .named(Proto::V7, None, "sv_chat")
            .next()
            .unwrap()
            .fields
            .len(),
        4
    );
    let bot = registry.named(Proto::V65, None, "netmsg_bot").next().unwrap();
    let mut data = Vec::new();
    bot.encode(
        &Datum::group([("x", 3.into()), ("mood", "glad".into())]),
        &mut data,
    )
    .unwrap();
    assert_eq!(data.len(), 19);
    let mut decoded = Decoded::new();
    assert_eq!(
        decoded.message(&registry, Proto::Ddnet, Dir::S2c, &data),
        registry.named(Proto::Ddnet, None, "sv_bot").next()
    );
    assert_eq!(codes(&decoded), []);
    let far = |dir| {
        registry
            .message(Proto::V7, dir, &[0x90, 0x1f])
            .map(|found| &*found.def.name)
    };
    assert_eq!((far(Dir::S2c), far(Dir::C2s)), (Some("sv_far"), Some("cl_far")));
}

/// Wrong files, with `|` for the ends of their lines, each with the error reported for it.
const WRONG: &str = "
game 90 x s2c
  1:1: a definition without protocols (put a line such as `for 0.6 ddnet` above it)
for 0.8
  1:5: unknown protocol `0.8` (0.6, ddnet or 0.7)
for 0.7|gmae 90 x s2c
  2:1: unknown definition `gmae` (did you mean `game`?)
for 0.7|game 90 x
  2:9: `x` needs a direction (c2s, s2c or both)
for 0.7|game -1 x s2c
  2:6: expected 0 to 1073741823
for 0.7|game 90 X s2c
  2:9: invalid name `X` (a name is lower case letters, digits and `_`)
for 0.7|game 90 x s2c|  a  itn
  3:6: unknown type `itn` (did you mean `int`?)
for 0.7|game 90 x s2c|  a
  3:3: a field needs a type (such as `message str_strict`)
for 0.7|game 90 x s2c|  a  int  limt=3
  3:11: unknown attribute `limt=3` (did you mean `limit=`?)
for 0.7|game 90 x s2c|  a  int  limit=3
  3:6: `int` has no `limit` (only `cstr`, `str`, `str_cc` and `str_strict` have)
for 0.7|game 90 x s2c|  a  int  5..1
  3:11: expected a range within -2147483648..2147483647
for 0.7|game 90 x s2c|  a  int  0..last_cilent
  3:14: unknown constant `last_cilent` (did you mean `last_client`?)
for 0.7|game 90 x s2c|  a  int[n]
  3:10: no number `n` before this field
for 0.7|game 90 x s2c|  a  int|  a  int
  4:3: duplicate field `a`
for 0.7|game 90 x s2c|  a  int]
  3:6: invalid name `int]` (a name is lower case letters, digits and `_`)
for 0.7|game 90 x s2c|  a  int[3
  3:9: unexpected `[3`
for 0.7|game 90 x s2c|  a  raw
  3:6: `raw` needs a length (len=N, len=FIELD or rest)
for 0.7|game 90 x s2c|  include y
  3:11: unknown struct `y`
for 0.7|game 90 x s2c|game 90 y s2c
  3:6: this id is defined twice; the other definition is at my.tw:2 (a definition replaces those in files before, and those for more protocols)
for 0.7|game 90 x s2c|game 91 x s2c
  3:9: `x` is defined twice; the other definition is at my.tw:2 (a definition replaces those in files before, and those for more protocols)
for 0.7|enum e|  0 a|  0 b
  4:3: `a` has this value already
for 0.7|flags f|  3 a|  2 b
  4:3: `a` has this value already
for 0.7|enum e|  0 a|  1 a
  4:5: duplicate label `a`
for 0.7|object 90 x|  a  str
  3:6: a snapshot object has no `str`
for 0.7|object 90 x|  a  int[*]
  3:3: a snapshot object always has the same size
for 0.7|struct s|  a  s|game 90 x s2c|  b  s
  3:6: structs nested too deep
for 0.7|connless gie33 x s2c
  2:10: expected the four characters after ffffffff
  a  int
  1:3: an indented line without a definition above it
for 0.7|game 90 x s2c|  a  mood|enum mod|  1 b
  3:6: unknown type `mood` (did you mean `mod`?)
for 0.7|game 90 x s2c|  é  int
  3:3: invalid name `é` (a name is lower case letters, digits and `_`)
for 0.7|message 90 x s2c
  2:1: unknown definition `message` (for, const, words, enum, flags, struct, control, system, game, connless, object)
for 0.7|game 90 x s2c|  a  integer
  3:6: unknown type `integer` (int, bool, tick, tune, cstr, str, str_cc, str_strict, decstr, raw, uuid, sha256, u8, be16, be32, addr18, addr6, twstr, or an enum, flags, struct or object)
for 0.7|game 90 x s2c|  int  position
  3:8: unknown type `position` (the name comes first: `position int`)
for 0.7|enum mine|  0 a|for 0.6 0.7|game 90 x s2c|  a  mine
  6:6: no type `mine` for 0.6 (there is one for 0.7)
for 0.7|game 90 x s2c|  a  int  optional
  3:11: unknown attribute `optional` (limit=, default=, len=, rest, expect=, ints=, bytes=, max=, scale=, unit=, secret, hide_after=, hide_command=, hide_with=, transient, after=, MIN..MAX)
for 0.7|game 90 x s2c|  a  str  limit= 3
  3:11: `limit=` needs a value directly after it
for 0.7|game 90 x s2c|  a  str  hide_after=console
  3:22: unknown words `console` (chat_answers, chat_secrets, console_secrets)
for 0.7|game uuid x s2c
  2:6: expected an id, found `uuid` (a number up to 1073741823, a UUID such as 245e5097-9fe0-39d6-bf7d-9a29e1691e4c, or the name with an @ that it is made of, such as what-is@ddnet.tw)
for 0.7|control uuid x s2c
  2:9: expected a number, found `uuid`
for 0.7|object 90 x vital
  2:13: unknown attribute `vital` (dead, explicit, since=RELEASE or alias=NAME)
for 0.7|enum e|  normal 0
  3:3: expected a number, found `normal` (the line of a label is `VALUE NAME`)
for 0.7|enum e|  0 a parms=2
  3:7: unknown attribute `parms=2` (params=N or as=TEXT)
for 0.7|game 90 x s2c|  a  int  default=y
  3:19: `int` cannot be `y`
";

#[test]
fn errors_have_a_place_and_help() {
    for (text, expected) in pairs(WRONG) {
        assert_eq!(
            errors(&text.replace('|', "\n")),
            [format!("my.tw:{expected}")],
            "{text}"
        );
    }
}

#[test]
fn names_that_the_program_objects_to() {
    let text = "for 0.7\nobject 90 mine\ngame 90 mine s2c\n  a  itn\nsystem 90 snap s2c\ngame 91 snap s2c\n";
    let objection = |class: Class, name: &str| {
        (class != Class::Object && ["mine", "snap"].contains(&name)).then(|| format!("no {name}"))
    };
    let errors = Registry::with_names("my.tw", text, objection).unwrap_err();
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    // There is a message of the engine with that name.
    assert_eq!(
        errors,
        [
            "my.tw:3:9: no mine",
            "my.tw:4:6: unknown type `itn` (did you mean `int`?)",
            "my.tw:6:9: no snap"
        ]
    );
}

#[test]
fn all_errors_at_once_in_order() {
    let text = "for 0.7\ngame 90 x s2c\n  a  itn\n  b  int  5..1\ngmae 91 y s2c\n  c  int\ngame 92 z\n";
    let errors = errors(text);
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(
        errors.is_sorted_by_key(|error| error.split(':').nth(1).and_then(|line| line.parse::<u32>().ok()))
    );
    // The number of reported errors is limited.
    let text = (0..5000).fold(String::from("for 0.7\n"), |text, n| {
        text + &format!("game {n} X s2c\n")
    });
    assert_eq!(super::text::errors(&text).len(), 50);
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(5000);
    assert_eq!(
        errors(&format!("for 0.7\nenum {long}")),
        ["my.tw:2:1: a line longer than 4096 bytes"]
    );
    let large = "# comment\n".repeat(200_000);
    assert_eq!(errors(&large), ["my.tw:1:1: longer than 1048576 bytes"]);
    let many = (0..5000).fold(String::from("for 0.7\n"), |text, n| {
        text + &format!("const c{n} 1\n")
    });
    assert!(errors(&many)[0].contains("more than 4096 definitions"));
    // Each struct contains the previous struct twice, which results in 2^20 fields.
    let text = (1..20).fold(String::from("for 0.7\nstruct s0\n  a  int\n"), |text, n| {
        text + &format!("struct s{n}\n  a  s{}\n  b  s{}\n", n - 1, n - 1)
    });
    assert!(!errors(&format!("{text}game 90 x s2c\n  a  s19\n  b  s8\n")).is_empty());
    let wide = "struct a\n".to_owned() + &"  include b\n".repeat(1000);
    let text = format!("for 0.7\n{wide}struct b\n  include c\nstruct c\ngame 90 x s2c\n  include a\n");
    assert_eq!(errors(&text), Vec::<String>::new());
}

#[test]
fn a_definition_keeps_the_frequency_and_the_transient_fields_of_the_built_in_one() {
    let text = "for 0.7\nsystem 10 input_timing s2c nonvital\n  input_pred_tick  int\n  time_left  int\n  more  int?\n\
                system 26 ping both nonvital continuous\nsystem 90 pet c2s vital periodic\n";
    let registry = Registry::with("my.tw", text).unwrap();
    let found = |name| {
        let def = registry
            .named(Proto::V7, Some(Class::System), name)
            .next()
            .unwrap();
        let transient: Vec<_> = def.fields.iter().map(|field| field.transient).collect();
        (def.frequency, transient)
    };
    assert_eq!(
        found("input_timing"),
        (Frequency::Continuous, vec![true, true, false])
    );
    assert_eq!(found("ping"), (Frequency::Continuous, vec![]));
    assert_eq!(found("pet"), (Frequency::Periodic, vec![]));
}

#[test]
fn what_is_printed_can_be_read() {
    for (dialect, proto) in [
        (Dialect::V6, Proto::V6),
        (Dialect::Ddnet, Proto::Ddnet),
        (Dialect::V7, Proto::V7),
    ] {
        for def in Registry::builtin().defs(dialect) {
            let text = format!("for {dialect}\n\n{}", def.to_text());
            let registry =
                Registry::with("printed.tw", &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
            let again = registry
                .named(proto, Some(def.class), &def.name)
                .find(|other| other.id == def.id)
                .unwrap();
            assert_eq!((&again.fields, &again.gist), (&def.fields, &def.gist), "{text}");
            assert_eq!(
                (
                    again.way,
                    again.vitality,
                    again.frequency,
                    again.dead,
                    again.size,
                    &again.doc,
                    &again.since,
                    &again.aliases
                ),
                (
                    def.way,
                    def.vitality,
                    def.frequency,
                    def.dead,
                    def.size,
                    &def.doc,
                    &def.since,
                    &def.aliases
                )
            );
        }
    }
}

#[test]
fn documentation_of_a_message() {
    let text = Registry::builtin().describe(None, "NETMSG_RCON_AUTH").unwrap();
    let expected = r#"for 0.6

# The client logs in to the remote console.
system 18 rcon_auth c2s vital
  name              str     limit=32  secret  # ignored; DDNet has user names
  password          str_cc  limit=32  secret  # the server compares it with its settings or accounts; too many wrong ones lead to a ban
  request_commands  int?    0..1  # 1: the client wants to receive rcon_cmd_add
  gist "password {password}[request_commands?, wants the commands]"

for ddnet

# The client logs in to the remote console.
system 18 rcon_auth c2s vital
  name              str_cc  secret  # user name of the account; empty if only a password is needed
  password          str_cc  secret  # the server compares it with its settings or accounts; too many wrong ones lead to a ban
  request_commands  int     0..1  # 1: the client wants to receive rcon_cmd_add
  gist "[name {name}, ]password {password}[request_commands?, wants the commands]"

for 0.7

# The client logs in to the remote console.
system 22 rcon_auth c2s vital
  password  str_cc  limit=32  secret  # the server compares it with its settings or accounts; too many wrong ones lead to a ban
  gist "password {password}"
"#;
    assert_eq!(text, expected);
    assert!(
        Registry::builtin()
            .describe(None, "what_is")
            .unwrap()
            .contains("# 245e5097-9fe0-39d6-bf7d-9a29e1691e4c")
    );
    assert_eq!(Registry::builtin().describe(None, "nothing"), None);
}

#[test]
fn documentation_by_class_and_id() {
    let describe = |class, name| Registry::builtin().describe(class, name);
    let text = describe(Some(Class::System), "18").unwrap();
    assert!(
        text.contains("system 18 rcon_auth") && !text.contains("object 18"),
        "{text}"
    );
    assert_eq!(describe(None, "18"), None);
    let what_is = describe(None, "what_is");
    assert!(what_is.is_some());
    for name in [
        "245e5097-9fe0-39d6-bf7d-9a29e1691e4c",
        "ex.245e5097-9fe0-39d6-bf7d-9a29e1691e4c",
        "ex.245E50979FE039D6BF7D9A29E1691E4C",
    ] {
        assert_eq!(describe(Some(Class::System), name), what_is, "{name}");
        assert_eq!(describe(Some(Class::Game), name), None, "{name}");
    }
    let info = describe(Some(Class::Connless), "info").unwrap();
    assert!(
        info.contains("connless inf3 info") && !info.contains("system"),
        "{info}"
    );
}

#[test]
fn a_replacement_that_does_not_fit_is_an_error_of_its_own_file() {
    let text = "for 0.6 ddnet 0.7\n\nconst unused 1\nstruct team\n";
    let errors = Registry::with("own.tw", text).unwrap_err();
    let [error] = &errors[..] else {
        panic!("{errors:?}");
    };
    assert_eq!((&*error.file, error.line, error.column), ("own.tw", 4, 8));
    assert!(
        error.message.starts_with("this does not fit where v06.tw:")
            && error.message.ends_with("`team` has no range"),
        "{error}"
    );
}

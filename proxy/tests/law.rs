//! Checks the law of the session core: the same inputs give the same outputs. So the code of the core, and
//! the code of `wire` and `rules` that it uses, must not have global state or read anything from the machine.
//! Clippy forbids some calls; this test searches the sources for the others.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The sources of the core.
const SOURCES: [&str; 3] = ["src/session", "../rules/src", "../wire/src"];

/// State that all sessions and threads would share, and access to the machine.
const FORBIDDEN: [&str; 23] = [
    "thread_local!",
    "lazy_static!",
    "static mut ",
    "OnceLock",
    "LazyLock",
    "Mutex",
    "RwLock",
    "Condvar",
    "Atomic",
    "Registry::builtin",
    "HashMap",
    "HashSet",
    "RandomState",
    "DefaultHasher",
    "Instant",
    "SystemTime",
    "rand::",
    "getrandom",
    "std::env",
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::thread",
];

/// Types that allow a `static` to be changed.
const CELLS: [&str; 5] = ["Cell", "LazyCell", "OnceCell", "RefCell", "UnsafeCell"];

/// The built-in definitions, which are read at their first use. Only callers outside of the core use them.
const EXCEPTION: (&str, [&str; 3]) = ("wire/src/def/registry.rs", ["LazyLock"; 3]);

/// Returns the lines outside of tests, without comments.
fn code(source: &str) -> impl Iterator<Item = (usize, &str)> {
    // A module of tests is the last item of a file, unless it has its own file.
    let tests = source.find("\nmod tests {").unwrap_or(source.len());
    let code = source.get(..tests).unwrap_or_default();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    (1..).zip(lines)
}

/// Returns true if any word in the line begins with `word`.
fn has_word(line: &str, word: &str) -> bool {
    let in_word = |before: char| before.is_alphanumeric() || before == '_';
    let mut found = line.match_indices(word);
    found.any(|(at, _)| !line.get(..at).unwrap_or_default().ends_with(in_word))
}

/// Returns the line number and the word of each forbidden item.
fn offences(source: &str) -> Vec<(usize, &'static str)> {
    let of_line = |(number, line): (usize, &str)| {
        let is_static = line.split_whitespace().any(|word| word == "static");
        let cells = CELLS.into_iter().filter(move |_| is_static);
        let words = FORBIDDEN.into_iter().chain(cells);
        let line = line.to_owned();
        words
            .filter(move |word| has_word(&line, word))
            .map(move |word| (number, word))
    };
    code(source).flat_map(of_line).collect()
}

fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name == "tests" || name.ends_with("_tests")
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the sources can be listed").path();
        if is_test(&path) {
            continue;
        }
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn the_core_has_no_global_state() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut read = 0;
    for folder in SOURCES {
        let mut paths = Vec::new();
        files(&root.join(folder), &mut paths);
        assert!(paths.len() > 20, "{folder}: {}", paths.len());
        for path in paths {
            let source = fs::read_to_string(&path).expect("a source is text");
            let mut offences = offences(&source);
            if path.ends_with(EXCEPTION.0) {
                let words: Vec<&str> = offences.drain(..).map(|(_, word)| word).collect();
                assert_eq!(words, EXCEPTION.1, "{}", path.display());
            }
            found.extend(
                offences
                    .into_iter()
                    .map(|(line, word)| format!("{}:{line}: {word}", path.display())),
            );
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
    assert_eq!(found, [] as [&str; 0], "the core gets everything as an input");
}

#[test]
fn offences_are_found() {
    for (source, wanted) in [
        (
            "static NAMES: OnceLock<Vec<u8>> = OnceLock::new();",
            &[(1, "OnceLock")][..],
        ),
        ("\n    static COUNT: Cell<u8> = Cell::new(0);", &[(2, "Cell")]),
        (
            "thread_local! { }\nlet now = Instant::now();",
            &[(1, "thread_local!"), (2, "Instant")],
        ),
        (
            "let found = Registry::builtin().message(proto);",
            &[(1, "Registry::builtin")],
        ),
        ("static mut LAST: u8 = 0;", &[(1, "static mut ")]),
        ("static TABLE: [u8; 4] = table(); // no Mutex", &[]),
        ("let side = Operand::Left;", &[]),
        ("fn cell(of: &'static str) -> Cell<u8> {}", &[]),
        ("#[cfg(test)]\nmod tests {\n    use std::sync::Mutex;\n}", &[]),
        ("#[cfg(test)]\nmod tests;\nuse std::sync::Mutex;", &[(3, "Mutex")]),
    ] {
        assert_eq!(offences(source), wanted, "{source}");
    }
}

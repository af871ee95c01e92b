//! The settings of cargo mutants name existing files: a glob for a moved folder would silently exclude its files.

use std::fs;
use std::path::Path;

/// Folders of the crates whose mutants are tested.
const FOLDERS: [&str; 10] = [
    "wire", "rules", "peer", "proxy", "inspect", "capture", "engine", "harness", "tui", "src",
];

/// Appends the paths of all files in a folder, relative to the root.
fn collect(root: &Path, folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, found);
        } else {
            found.push(path);
        }
    }
}

/// Returns true if the parts of a path match the parts of a glob: `**` matches any number of parts, `*` at the start
/// of a part any text.
fn is_match(glob: &[&str], path: &[&str]) -> bool {
    match (glob, path) {
        (["**", rest @ ..], _) => (0..=path.len()).any(|from| is_match(rest, &path[from..])),
        ([], _) | (_, []) => glob.is_empty() && path.is_empty(),
        ([first, glob @ ..], [part, path @ ..]) => {
            let is_same = first
                .strip_prefix('*')
                .map_or(first == part, |end| part.ends_with(end));
            is_same && is_match(glob, path)
        }
    }
}

#[test]
fn each_glob_matches_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(".cargo/mutants.toml")).unwrap();
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(root, folder, &mut files);
    }
    let mut unmatched = Vec::new();
    for key in ["examine_globs", "exclude_globs"] {
        let (_, list) = text.split_once(&format!("{key} = [")).unwrap();
        let (list, _) = list.split_once(']').unwrap();
        // The text between quotes.
        for glob in list.split('"').skip(1).step_by(2) {
            let parts: Vec<&str> = glob.split('/').collect();
            let is_of_glob = |file: &String| is_match(&parts, &file.split('/').collect::<Vec<_>>());
            if !files.iter().any(is_of_glob) {
                unmatched.push(format!("{key}: {glob}"));
            }
        }
    }
    assert_eq!(
        unmatched,
        Vec::<String>::new(),
        "these globs of .cargo/mutants.toml match no file"
    );
}

//! The imports between the files of each crate: no file imports a file that imports it, directly or through other
//! files.
//!
//! The files of such a ring can only be understood together. An import points from the file that names an item to the
//! file that defines the item, whichever module re-exports it. Unit tests are excluded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Folders of the crates that make up the binary.
const CRATES: [&str; 10] = [
    "wire", "rules", "peer", "proxy", "inspect", "capture", "engine", "harness", "tui", ".",
];

/// Maximum number of re-exports followed for one name.
const MAX_EXPORTS: usize = 16;

/// A path through modules, from the root of the crate: `["session", "link"]` for `crate::session::link`.
type Module = Vec<String>;

/// The files that each file imports, each with the paths by which it names them.
type Imports<'a> = BTreeMap<&'a Module, BTreeMap<&'a Module, BTreeSet<String>>>;

/// The names that a file defines and uses.
#[derive(Default)]
struct Source {
    defines: BTreeSet<String>,
    /// Names brought into scope by imports, with the path of each as written.
    imports: HashMap<String, Module>,
    /// All paths in the file as written, including imports.
    paths: Vec<Module>,
}

impl Source {
    fn read(text: &str) -> Result<Self> {
        let mut source = Self::default();
        source.visit_file(&syn::parse_file(text)?);
        Ok(source)
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |name: &syn::Ident| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Name(name) if name.ident == "self" => self.name(prefix.last().cloned(), prefix.to_vec()),
            UseTree::Name(name) => self.name(Some(name.ident.to_string()), with(&name.ident)),
            UseTree::Rename(name) => self.name(Some(name.rename.to_string()), with(&name.ident)),
            UseTree::Glob(_) => {}
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix)),
        }
    }

    fn name(&mut self, name: Option<String>, path: Module) {
        self.imports.extend(name.map(|name| (name, path.clone())));
        self.paths.push(path);
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name): (&[Attribute], _) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Mod(item) => (&item.attrs, item.content.is_some().then_some(&item.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Use(item) => (&item.attrs, None),
            _ => (&[], None),
        };
        if attributes.iter().any(is_left_out) {
            return;
        }
        self.defines.extend(name.map(ToString::to_string));
        if let Item::Use(item) = item {
            self.import(&item.tree, &[]);
        }
        visit::visit_item(self, item);
    }

    /// The module in `pub(in module)` is not an import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.paths.push(segments.collect());
        visit::visit_path(self, path);
    }
}

/// Returns true for an item that the built program does not contain: a test, or an import that only documentation
/// links need.
fn is_left_out(attribute: &Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|option| option == "test" || option == "doc")
}

/// The files of a crate by module.
struct Crate(BTreeMap<Module, (PathBuf, Source)>);

impl Crate {
    fn read(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        let sources = files.into_iter().map(|file| {
            let source =
                Source::read(&fs::read_to_string(&file)?).with_context(|| file.display().to_string())?;
            Ok((module(file.strip_prefix(folder)?), (file, source)))
        });
        Ok(Self(sources.collect::<Result<_>>()?))
    }

    /// Returns the file that defines the item at a path written in `module`; `None` if it is not an item of this
    /// crate.
    fn definer(&self, module: &[String], path: &[String]) -> Option<&Module> {
        let (mut module, mut path) = (module.to_vec(), path.to_vec());
        for _ in 0..MAX_EXPORTS {
            let (at, name) = self.step(&module, &path)?;
            let (key, (_, source)) = self.0.get_key_value(&at)?;
            match name.split_first() {
                // A bare module: only the items used from it are imports.
                None => return None,
                Some((first, _)) if source.defines.contains(first) => return Some(key),
                Some((first, rest)) => {
                    let target = source.imports.get(first)?;
                    if at == module && target.as_slice() == path {
                        return None;
                    }
                    path = [target, rest].concat();
                    module = at;
                }
            }
        }
        None
    }

    /// Follows the modules of a path. Returns the last module, and the rest of the path after it.
    fn step(&self, module: &[String], path: &[String]) -> Option<(Module, Module)> {
        let mut at = module.to_vec();
        let mut rest = path;
        while let Some((first, behind)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop()?;
                }
                name => {
                    let child = [at.as_slice(), &[name.to_owned()]].concat();
                    if !self.0.contains_key(&child) {
                        break;
                    }
                    at = child;
                }
            }
            rest = behind;
        }
        Some((at, rest.to_vec()))
    }

    /// Returns the files that each file imports, with the paths by which it names them.
    fn imports(&self) -> Imports<'_> {
        let mut imports = Imports::new();
        for (module, (_, source)) in &self.0 {
            let targets = imports.entry(module).or_default();
            for path in &source.paths {
                // A submodule is a part of its parents.
                if let Some(target) = self.definer(module, path)
                    && !module.starts_with(target)
                {
                    targets.entry(target).or_default().insert(path.join("::"));
                }
            }
        }
        imports
    }

    /// Returns the rings: sets of files that all import each other, directly or through other files of the set.
    fn rings(&self) -> Vec<String> {
        let imports = self.imports();
        let reach: BTreeMap<_, _> = imports
            .keys()
            .map(|from| (*from, reached(&imports, from)))
            .collect();
        let ring = |(from, reached): (&&Module, &BTreeSet<_>)| {
            let ring = reached
                .iter()
                .copied()
                .filter(|to: &&Module| reach[to].contains(*from));
            ring.collect::<BTreeSet<_>>()
        };
        let rings: BTreeSet<_> = reach.iter().map(ring).filter(|ring| !ring.is_empty()).collect();
        rings.iter().map(|ring| self.describe(ring, &imports)).collect()
    }

    fn describe(&self, ring: &BTreeSet<&Module>, imports: &Imports<'_>) -> String {
        let file = |module| self.0[module].0.display();
        let mut text = format!("{} files:", ring.len());
        for from in ring {
            for (to, names) in imports[from].iter().filter(|(to, _)| ring.contains(*to)) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                text += &format!("\n  {} -> {}: {}", file(*from), file(to), names.join(", "));
            }
        }
        text
    }
}

/// Returns the files that a file imports, directly or through other files.
fn reached<'a>(imports: &Imports<'a>, from: &Module) -> BTreeSet<&'a Module> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for to in imports[file].keys() {
            if reached.insert(*to) {
                next.push(to);
            }
        }
    }
    reached
}

/// Appends the source files in a folder, except unit tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        if path.is_dir() && stem != "tests" {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !stem.ends_with("tests") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the module of a file, whose path is relative to the source folder.
fn module(file: &Path) -> Module {
    let mut module: Module = file
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

#[test]
fn no_file_imports_a_file_that_imports_it() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rings = Vec::new();
    for folder in CRATES {
        rings.extend(Crate::read(&root.join(folder).join("src"))?.rings());
    }
    ensure!(
        rings.is_empty(),
        "{} rings of imports\n{}",
        rings.len(),
        rings.join("\n")
    );
    Ok(())
}

#[test]
fn the_check_finds_rings_and_nothing_else() -> Result<()> {
    let rings = |files: [(&str, &str); 4]| -> Result<Vec<String>> {
        let read = |(file, text)| {
            Ok((
                module(Path::new(file)),
                (PathBuf::from(file), Source::read(text)?),
            ))
        };
        Ok(Crate(files.map(read).into_iter().collect::<Result<_>>()?).rings())
    };
    let parent = "mod a; mod b; mod c; pub use a::A; pub const MAX: u8 = 1;";
    let (a, b) = (
        "use super::MAX; pub struct A(B); use crate::b::B;",
        "pub struct B;",
    );
    let at_rest = [
        ("lib.rs", parent),
        ("a.rs", a),
        ("b.rs", b),
        ("c.rs", "fn c(_: crate::A) {}"),
    ];
    assert_eq!(rings(at_rest)?, [""; 0], "a parent, a chain");
    let by_export = "pub struct B; use super::A;";
    let ring = "2 files:\n  a.rs -> b.rs: B, crate::b::B\n  b.rs -> a.rs: super::A";
    assert_eq!(
        rings([("lib.rs", parent), ("a.rs", a), ("b.rs", by_export), ("c.rs", "")])?,
        [ring]
    );
    let by_three = "pub struct B; fn b() { crate::c::c() }";
    let found = rings([
        ("lib.rs", parent),
        ("a.rs", a),
        ("b.rs", by_three),
        ("c.rs", "pub fn c() -> super::a::A {}"),
    ])?;
    assert!(
        matches!(&found[..], [ring] if ring.starts_with("3 files:")),
        "{found:?}"
    );
    let in_tests = "pub struct B; #[cfg(test)] mod tests { use crate::A; }";
    assert_eq!(
        rings([("lib.rs", parent), ("a.rs", a), ("b.rs", in_tests), ("c.rs", "")])?,
        [""; 0],
        "a test"
    );
    Ok(())
}

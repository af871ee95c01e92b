//! Regression tests: what the language reads, prints, explains and decides for many generated texts must be the same as
//! before.
//!
//! A snapshot has a line for each group of texts, with the number of lines and the checksum of all outputs. Any difference
//! fails the test, whether or not it is intended. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p teetap-rules --test language same` and look at the groups that differ.
//! `TEETAP_SAME=DIR` writes the outputs to files, to be compared with `diff` before and after the change.

mod fields;
mod filters;
mod links;
mod runs;
mod texts;

use std::fmt::{Arguments, Write as _};

use teetap_rules::{Diagnostic, Style};

/// The outputs of a test, in groups.
#[derive(Default)]
struct Same {
    groups: Vec<(String, String)>,
}

impl Same {
    /// Starts a group. The following lines belong to it.
    fn group(&mut self, name: impl Into<String>) {
        self.groups.push((name.into(), String::new()));
    }

    fn line(&mut self, line: Arguments<'_>) {
        let (_, text) = self.groups.last_mut().unwrap();
        writeln!(text, "{line}").unwrap();
    }

    /// Adds what a user sees of diagnostics about a text.
    fn diagnostics(&mut self, text: &str, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            let code = diagnostic.code;
            self.line(format_args!(
                "{} {:?} {}",
                code.name(),
                diagnostic.severity(),
                code.text()
            ));
            self.line(format_args!(
                "{}",
                diagnostic.render("rules.tap", text, Style::Plain)
            ));
        }
    }

    /// Returns the number of lines and the checksum of each group. Also writes the outputs to a file if `TEETAP_SAME` is
    /// set.
    fn table(&self, name: &str) -> String {
        if let Some(dir) = std::env::var_os("TEETAP_SAME") {
            let groups = self.groups.iter();
            let text: Vec<_> = groups.map(|(name, text)| format!("== {name}\n{text}")).collect();
            std::fs::write(std::path::Path::new(&dir).join(name), text.concat()).unwrap();
        }
        let row = |(name, text): &(String, String)| {
            format!("{:5} {:016x} {name}", text.lines().count(), checksum(text))
        };
        self.groups.iter().map(row).collect::<Vec<_>>().join("\n")
    }
}

/// Returns a checksum (FNV-1a) that is the same on every machine.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A source of choices (splitmix64) that is the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// Returns a word of one of two lists, each with the same chance.
    fn of_two(&mut self, one: &[&'static str], other: &[&'static str]) -> &'static str {
        let list = *self.pick(&[one, other]);
        self.pick::<&str>(list)
    }
}

//! Checksums of outputs, to be compared with stored checksums.
//!
//! A test that stores checksums generates many inputs and compares every output that a user can observe. Any difference
//! fails it, whether or not the difference is intended. After an intended change, run the test with
//! `INSTA_UPDATE=always` and look at the lines that differ. `TEETAP_SAME=DIR` writes the outputs to files, to be compared
//! with `diff` before and after the change.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::{fmt::Write as _, fs, path::Path};

/// A checksum (64-bit FNV-1a), the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u64);

impl Checksum {
    /// The checksum of no bytes.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    /// Returns the checksum as a number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// Returns the checksum of `bytes`.
pub fn checksum(bytes: impl AsRef<[u8]>) -> u64 {
    let mut sum = Checksum::EMPTY;
    sum.add(bytes.as_ref());
    sum.value()
}

/// Writes an output to the file `name` if `TEETAP_SAME` is set to a folder.
///
/// # Panics
/// If the file cannot be written.
pub fn keep(name: &str, output: impl AsRef<[u8]>) {
    if let Some(folder) = std::env::var_os("TEETAP_SAME") {
        fs::write(Path::new(&folder).join(name), output).unwrap();
    }
}

/// Outputs in groups, each of which has its own checksum.
#[derive(Default)]
pub struct Groups(Vec<(String, String)>);

impl Groups {
    /// Starts a group. The following lines belong to it.
    pub fn group(&mut self, name: impl Into<String>) {
        self.0.push((name.into(), String::new()));
    }

    /// Adds a line to the last group.
    ///
    /// # Panics
    /// If there is no group.
    pub fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let (_, text) = self.0.last_mut().unwrap();
        let _infallible = writeln!(text, "{line}");
    }

    /// Returns the number of lines and the checksum of each group. See [`keep`] for `name`.
    pub fn table(&self, name: &str) -> String {
        let groups = self.0.iter();
        let outputs: Vec<_> = groups.map(|(name, text)| format!("== {name}\n{text}")).collect();
        keep(name, outputs.concat());
        let row = |(name, text): &(String, String)| {
            format!("{:5} {:016x} {name}", text.lines().count(), checksum(text))
        };
        self.0.iter().map(row).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of FNV-1a.
    #[test]
    fn checksums_are_those_of_fnv_1a() {
        assert_eq!(checksum(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(checksum("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(checksum("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_group_has_a_line_with_the_checksum_of_its_lines() {
        let mut groups = Groups::default();
        groups.group("one");
        groups.line(format_args!("a"));
        groups.line(format_args!("b"));
        groups.group("none");
        let (one, none) = (checksum("a\nb\n"), checksum(""));
        let table = format!("    2 {one:016x} one\n    0 {none:016x} none");
        assert_eq!(groups.table("unused"), table);
    }
}

//! Helpers that the tests of several modules share.

/// Returns the bytes of hex digits, with any whitespace between them.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// A source of small numbers.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// Returns one of the elements.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// Returns any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }

    pub(crate) fn int(&mut self) -> i32 {
        let any = i32::from_le_bytes(self.below(1 << 32).to_le_bytes()[..4].try_into().unwrap());
        if self.below(3) == 0 { any } else { any % 100 }
    }
}

/// Outputs of the code under test, in groups whose checksums are stored.
///
/// A test with such groups is a net: it compares everything that a user can observe for many generated inputs, and any
/// difference fails it, whether or not it is intended. After an intended change, run
/// `INSTA_UPDATE=always cargo test -p teetap-wire --lib same` and look at the groups that differ. `TEETAP_SAME=DIR` writes
/// the outputs to files, to be compared with `diff` before and after the change.
#[derive(Default)]
pub(crate) struct Same {
    groups: Vec<(String, String)>,
}

impl Same {
    /// Starts a group. The following lines belong to it.
    pub(crate) fn group(&mut self, name: impl Into<String>) {
        self.groups.push((name.into(), String::new()));
    }

    /// Adds a line to the last group.
    pub(crate) fn line(&mut self, line: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        let (_, text) = self.groups.last_mut().unwrap();
        writeln!(text, "{line}").unwrap();
    }

    /// Returns the number of lines and the checksum of each group. Also writes the outputs to a file if `TEETAP_SAME` is
    /// set.
    pub(crate) fn table(&self, name: &str) -> String {
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

//! The text column of a dump against its bytes: words that were turned round show there.
//!
//! Law: it changes no byte. Only what the text proves is refused; what differs otherwise is said, since somebody may have
//! edited the hex.

use super::InputError;

/// What the lines so far have shown.
#[derive(Default)]
pub(super) struct Beside {
    /// The first line whose text is not that of its bytes.
    differs: Option<usize>,
    /// And not that of its words turned round.
    differs_turned: bool,
    /// Words of four bytes or more that are others when they are turned round.
    turnable: bool,
    /// Lines that have a text.
    texts: bool,
}

impl Beside {
    /// Refuses what `xxd -b` and, at the end of the bytes, `xxd -e` write.
    ///
    /// # Errors
    /// [`InputError::Bits`] and [`InputError::Turned`].
    pub(super) fn words(&self, line: usize, hex: &str, text: &str) -> Result<(), InputError> {
        let bits = |word: &str| word.len() == 8 && word.bytes().all(|digit| matches!(digit, b'0' | b'1'));
        let count = hex.split_whitespace().count();
        let shown = text.trim_start().chars().count();
        if count > 0 && hex.split_whitespace().all(bits) && (1..=count).contains(&shown) {
            return Err(InputError::Bits(line));
        }
        if short_word(hex, text) {
            return Err(InputError::Turned(line));
        }
        Ok(())
    }

    /// Compares the bytes of a line, in words of `word`, with the text behind them.
    pub(super) fn compare(&mut self, line: usize, bytes: &[u8], word: usize, text: &str) {
        let turned: Vec<u8> = bytes
            .chunks(word.max(1))
            .flat_map(|word| word.iter().rev().copied())
            .collect();
        self.turnable |= word >= 4 && turned != bytes;
        self.texts |= !text.trim().is_empty();
        if !agree(bytes, text) {
            self.differs = self.differs.or(Some(line));
        }
        self.differs_turned |= !agree(&turned, text);
    }

    /// What there is to say, if anything.
    ///
    /// # Errors
    /// [`InputError::Turned`].
    pub(super) fn told(&self) -> Result<Option<String>, InputError> {
        match self.differs {
            Some(line) if !self.differs_turned => Err(InputError::Turned(line)),
            Some(line) => Ok(Some(format!(
                "the text beside the bytes of line {line} is not theirs; the bytes are taken"
            ))),
            None if self.turnable && self.texts && !self.differs_turned => Ok(Some(
                "the words are taken as they stand; the text beside them does not tell whether xxd -e turned them round"
                    .to_owned(),
            )),
            None => Ok(None),
        }
    }
}

/// Whether the last word is a short one that stands to the right, as only `xxd -e` writes it.
fn short_word(hex: &str, text: &str) -> bool {
    let is_hex = |word: &str| word.bytes().all(|digit| digit.is_ascii_hexdigit());
    // xxd has one space before the first word.
    let lead = hex.len() - hex.trim_start().len();
    let first = hex.split_whitespace().next().unwrap_or_default();
    if matches!(lead - lead.min(1) + first.len(), 4 | 8 | 16) && lead > 1 && is_hex(first) {
        return true;
    }
    let trimmed = text.trim_start();
    let gap = text.len() - trimmed.len();
    let (word, rest) = trimmed.split_once("  ").unwrap_or((trimmed, ""));
    let words = hex.split_whitespace();
    let bytes = words.map(|word| word.len() / 2).sum::<usize>() + word.len() / 2;
    let fills = gap >= 1 && gap - 1 + word.len() == first.len();
    // What is behind it has a character for each byte, but for spaces at the ends.
    let shown = rest.trim().chars().count();
    fills && word.len() >= 2 && word.len() % 2 == 0 && is_hex(word) && shown > 0 && shown + 2 >= bytes
}

/// Whether `text` may be what a dump shows of `bytes`: themselves where they are printable, dots for others.
fn agree(bytes: &[u8], text: &str) -> bool {
    let text = text.trim();
    let bars = [('|', '|'), ('>', '<')];
    let inner = bars.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
        (inner.chars().count() == bytes.len()).then_some(inner)
    });
    let text = inner.unwrap_or(text);
    // Nobody knows how others than ASCII are shown.
    if text.is_empty() || !text.is_ascii() {
        return true;
    }
    text.len() == bytes.len() && alike(bytes, text) || {
        // Spaces at the ends cannot be told from those around the text.
        let (bytes, text) = (trimmed(bytes), text.trim());
        text.len() == bytes.len() && alike(bytes, text)
    }
}

fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = bytes {
        bytes = rest;
    }
    bytes
}

fn alike(bytes: &[u8], text: &str) -> bool {
    bytes.iter().zip(text.bytes()).all(|(&byte, shown)| {
        if byte.is_ascii_graphic() {
            shown == byte
        } else {
            matches!(shown, b'.' | b' ')
        }
    })
}

//! Reads a file line by line.
//!
//! Law: memory is bounded, since lines longer than [`LONGEST`] bytes are skipped. The last line may lack its newline.

use std::io::{self, BufRead, Read as _};

/// Maximum length of a line, in bytes: more than any event needs.
const LONGEST: usize = 16 << 20;

/// Reads lines from a file.
#[derive(Debug)]
pub(super) struct Input<R> {
    input: R,
    /// Number of bytes read so far.
    pub(super) offset: u64,
    line: Vec<u8>,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A line, without its newline.
    Line(&'a [u8]),
    /// The last line of the file, which has no newline.
    Last(&'a [u8]),
    /// A line longer than [`LONGEST`], which was skipped.
    TooLong,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            line: Vec::new(),
        }
    }

    /// Returns the next line; `None` at the end of the file.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub(super) fn next(&mut self) -> io::Result<Option<Found<'_>>> {
        self.line.clear();
        let read = (&mut self.input)
            .take(LONGEST as u64)
            .read_until(b'\n', &mut self.line)?;
        self.offset += read as u64;
        if read == 0 {
            return Ok(None);
        }
        if read == LONGEST && self.line.last() != Some(&b'\n') {
            self.pass_over()?;
            return Ok(Some(Found::TooLong));
        }
        let line = self.line.as_slice();
        Ok(Some(
            line.strip_suffix(b"\n").map_or(Found::Last(line), Found::Line),
        ))
    }

    /// Skips the rest of the line.
    fn pass_over(&mut self) -> io::Result<()> {
        self.line = Vec::new();
        loop {
            let block = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                block => block?,
            };
            let end = block.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(block.len(), |end| end + 1);
            self.input.consume(length);
            self.offset += length as u64;
            if end.is_some() || length == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length() {
        let exact = [&vec![b'x'; LONGEST - 1][..], b"\n"].concat();
        let long = [&vec![b'x'; 2 * LONGEST + 5][..], b"\n"].concat();
        let text = [b"one\n\n", &exact[..], &long, b"two\r\n", b"end"].concat();
        let mut input = Input::new(text.as_slice());
        let mut found = Vec::new();
        while let Some(line) = input.next().unwrap() {
            found.push(match line {
                Found::Line(line) => format!(
                    "{}:{}",
                    line.len(),
                    line.first().map_or(' ', |byte| *byte as char)
                ),
                Found::Last(line) => format!("last {}", line.len()),
                Found::TooLong => "long".to_owned(),
            });
        }
        let exact = format!("{}:x", LONGEST - 1);
        assert_eq!(found, ["3:o", "0: ", &exact, "long", "4:t", "last 3"]);
        assert_eq!(input.offset, text.len() as u64);
    }
}

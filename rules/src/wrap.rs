//! Text for people in lines of a given width.

use textwrap::{Options, WordSplitter};

/// Returns the options of lines that have at most `width` columns and end at spaces. A longer word stays whole.
#[must_use]
pub fn at_spaces<'i>(width: usize) -> Options<'i> {
    Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
}

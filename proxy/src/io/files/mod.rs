//! Files of the user: read with a size limit and without blocking, and written so that only their owner can
//! read them.
//!
//! Law: a path may lead to anything: a pipe without a writer, a device without an end, a link that another
//! user made. Opening never blocks, waiting has a timeout, and the size is bounded before anything is read.

mod pipe;
mod private;
mod read;

pub use pipe::{PipeWriter, has_no_reader, is_pipe, open_pipe, write_ready};
pub use private::{Access, Private, PrivateError, create_new, open_private};
pub use read::{PATIENCE, Unread, open_regular, read_given, read_regular};

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests measure how long a call takes")]
mod tests;

//! `--until-stdin-closes`: the end of stdin ends the run.

use std::{io, sync::mpsc, thread};

use crate::wake::Wake;

/// Bytes to read, and to ignore, at once.
const CHUNK: usize = 4096;

/// Starts a thread that reads stdin, ignores its bytes, and sends its end to `wake`.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub(crate) fn watch(wake: mpsc::Sender<Wake>) -> io::Result<()> {
    thread::Builder::new().name("stdin".into()).spawn(move || {
        skip(&mut io::stdin().lock());
        // The run may already have ended.
        let _ended = wake.send(Wake::StdinClosed);
    })?;
    Ok(())
}

/// Reads to the end, or to the first error: a stdin that cannot be read is closed.
fn skip(input: &mut impl io::Read) {
    let mut bytes = [0; CHUNK];
    loop {
        match input.read(&mut bytes) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

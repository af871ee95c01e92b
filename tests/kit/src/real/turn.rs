//! Turns for the tests of one binary: most run in parallel, a few measure and run alone.
//!
//! Law: works between threads (`cargo test`) and between processes (a runner with a process per test), since the lock
//! is on the file of the test binary.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};

/// Held while waiting for a turn, so that a test that wants to be alone cannot starve.
static NEXT: Mutex<()> = Mutex::new(());

/// A turn; it ends when dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Turn {
    _locked: File,
}

/// Waits until no test runs alone.
pub fn shared() -> Result<Turn> {
    take(File::lock_shared)
}

/// Waits until no other test runs.
pub fn alone() -> Result<Turn> {
    take(File::lock)
}

fn take(lock: fn(&File) -> std::io::Result<()>) -> Result<Turn> {
    let file = File::open(Path::new("/proc/self/exe")).context("open the test binary")?;
    let _next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    lock(&file).context("lock the test binary")?;
    Ok(Turn { _locked: file })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn one_test_is_alone_and_the_others_share() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let together = std::sync::Barrier::new(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let turn = shared().unwrap();
                    // Waits until both tests hold a turn; hangs if they cannot.
                    together.wait();
                    drop(turn);
                });
            }
        });
        thread::scope(|scope| {
            for number in 0..12 {
                let (running, most) = (&running, &most);
                scope.spawn(move || {
                    let is_alone = number % 3 == 0;
                    let _turn = if is_alone { alone() } else { shared() }.unwrap();
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    if is_alone {
                        assert_eq!(now, 1);
                        most.fetch_add(1, Ordering::SeqCst);
                    }
                    thread::sleep(std::time::Duration::from_millis(2));
                    assert!(!is_alone || running.load(Ordering::SeqCst) == 1);
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 4);
    }
}

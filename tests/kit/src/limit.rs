//! A time limit for each test that starts programs: a test that hangs is named, and its test binary is ended.
//!
//! Law: the limit is far longer than a test needs on a busy machine. The time that a test waits for its turn is not
//! counted, as long as the test has started no program.

#![expect(clippy::print_stderr, reason = "a report of the test binary")]

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env, process,
    sync::{Mutex, Once, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Maximum time of a test, unless `TEETAP_LONG` is set.
const LIMIT: Duration = Duration::from_mins(20);

/// Maximum time of a test if `TEETAP_LONG` is set.
const LONG: Duration = Duration::from_hours(3);

/// Time between two checks of the running tests.
const LOOK: Duration = Duration::from_millis(500);

/// The running tests, each with its start time.
static RUNNING: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// A test, from its first program to the end of its thread.
struct Test(String);

impl Drop for Test {
    fn drop(&mut self) {
        lock().remove(&self.0);
    }
}

thread_local! {
    static TEST: RefCell<Option<Test>> = const { RefCell::new(None) };
}

fn lock() -> std::sync::MutexGuard<'static, BTreeMap<String, Instant>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the time limit of this test, if it has not started.
pub fn begin() {
    let limit = match env::var_os("TEETAP_LONG") {
        Some(_) => LONG,
        None => LIMIT,
    };
    within(limit);
}

/// Starts the time limit of this test. The limit of the first call applies to all tests.
fn within(limit: Duration) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        thread::spawn(move || watch(limit));
    });
    // The harness names the thread of a test by the test.
    let thread = thread::current();
    let Some(name) = thread.name() else { return };
    TEST.with_borrow_mut(|test| {
        if test.is_none() {
            lock().insert(name.to_owned(), Instant::now());
            *test = Some(Test(name.to_owned()));
        }
    });
}

fn watch(limit: Duration) {
    loop {
        thread::sleep(LOOK);
        let late: Vec<String> = lock()
            .iter()
            .filter(|(_, begun)| begun.elapsed() > limit)
            .map(|(name, _)| name.clone())
            .collect();
        if !late.is_empty() {
            eprintln!("after {limit:?} still running: {}", late.join(", "));
            process::exit(101);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The variable that makes the test run as the late one.
    const INSIDE: &str = "TEETAP_TEST_LIMIT";

    #[test]
    fn a_test_that_does_not_end_is_named() {
        if env::var_os(INSIDE).is_some() {
            within(Duration::from_millis(600));
            // A test that ends in time is not counted.
            let other = thread::Builder::new().name("other".to_owned());
            let ended = other.spawn(|| within(LIMIT)).map(thread::JoinHandle::join);
            assert!(matches!(ended, Ok(Ok(()))));
            thread::sleep(Duration::from_mins(1));
            return;
        }
        let begun = Instant::now();
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "limit::tests::a_test_that_does_not_end_is_named",
                "--nocapture",
            ])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(101), "{stderr}");
        assert!(
            stderr.contains("after 600ms still running: limit::tests::a_test_that_does_not_end_is_named\n"),
            "{stderr}"
        );
        assert!(begun.elapsed() < Duration::from_secs(50));
    }
}

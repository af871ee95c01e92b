use std::{
    ffi::OsString,
    sync::atomic::{AtomicUsize, Ordering},
};

use teetap_wire::{Dir, Proto};

use super::*;
use crate::torture::{cell::Fault, login::LoginMessage};

/// Runs `test` with a tester whose runs cannot be prepared. `test` also receives the number of attempts, the number
/// of pauses, and the stopper.
fn with_tester(jobs: usize, test: impl FnOnce(&Tester<'_>, &AtomicUsize, &AtomicUsize, &Stopper)) {
    let (attempts, pauses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let prepare = |_: Option<&str>| {
        attempts.fetch_add(1, Ordering::SeqCst);
        Err("for a test".into())
    };
    let plan = Plan {
        prepare: &prepare,
        command: &[OsString::from("true")],
        timeout: Duration::ZERO,
        stay: Duration::ZERO,
        only: &[],
    };
    let tell = |progress: Progress<'_>| {
        if matches!(progress, Progress::Pause) {
            pauses.fetch_add(1, Ordering::SeqCst);
        }
    };
    let stopper = Stopper::default();
    test(
        &Tester::new(&plan, &stopper, jobs, &tell),
        &attempts,
        &pauses,
        &stopper,
    );
}

/// Each thread that tries cells may have begun one before another thread halts the matrix.
#[test]
fn no_cell_is_begun_after_a_halt() {
    let step = LoginMessage {
        dir: Dir::S2c,
        name: "sys.con_ready".to_owned(),
        vital: true,
        is_control: false,
        proto: Proto::Ddnet,
    };
    let cell = Cell {
        step,
        fault: Fault::Lose,
    };
    for (jobs, cells) in [(1, 20), (3, 20), (3, 1), (1, 0)] {
        with_tester(jobs, |tester, attempts, _, _| {
            let (tried, halt) = tester.each(vec![cell.clone(); cells], &Baseline::default());
            assert!(tried.is_empty(), "{tried:?}");
            let attempts = attempts.load(Ordering::SeqCst);
            let least = usize::from(cells > 0);
            assert!(
                (least..=jobs.min(cells)).contains(&attempts),
                "{attempts} of {cells} cells with {jobs} threads"
            );
            let is_failed = matches!(halt, Some(Halt::Failed(TortureError::Run(RunError::Prepare(_)))));
            assert_eq!(is_failed, cells > 0, "{halt:?}");
        });
    }
}

/// After a limit was found, the server accepts [`AT_ONCE`] clients in each [`WINDOW`].
#[test]
fn a_server_with_a_limit_is_sent_no_more_clients_than_it_accepts() {
    with_tester(1, |tester, _, pauses, stopper| {
        let pauses = || pauses.load(Ordering::SeqCst);
        let runs = || tester.limited.lock().unwrap().map(|(_, runs)| runs);
        for _ in 0..3 * AT_ONCE {
            tester.keep_limit().unwrap();
        }
        assert_eq!((runs(), pauses()), (None, 0), "no limit was found");
        let begun = Instant::now().checked_sub(WINDOW).unwrap();
        *tester.limited.lock().unwrap() = Some((begun, 0));
        for number in 1..=AT_ONCE {
            tester.keep_limit().unwrap();
            assert_eq!((runs(), pauses()), (Some(number), 0));
        }
        // The window is over.
        tester.keep_limit().unwrap();
        assert_eq!((runs(), pauses()), (Some(1), 1));
        for number in 2..=AT_ONCE {
            tester.keep_limit().unwrap();
            assert_eq!((runs(), pauses()), (Some(number), 1));
        }
        // The next window has just begun: the wait for its end is interrupted.
        stopper.stop();
        assert!(matches!(tester.keep_limit(), Err(Halt::Stopped)));
        assert_eq!(pauses(), 2);
    });
}

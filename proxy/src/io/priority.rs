//! The priority of threads other than the data thread.
//!
//! If a screen is shown, decoding and drawing take more time than forwarding. On a machine with few cores
//! these threads share a core with the data thread, and a datagram that arrives while a frame is drawn would
//! wait for the rest of a time slice. A thread with a lower priority is preempted immediately.

/// The niceness of a thread, as for `nice`: from 0 (usual priority) to 19 (lowest priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nice(pub u8);

impl Nice {
    /// Lowers the priority of the calling thread.
    ///
    /// Only on Linux: elsewhere this would apply to the whole process, including the data thread. If the
    /// system refuses, the priority is unchanged.
    pub fn apply(self) {
        #[cfg(target_os = "linux")]
        if self.0 > 0 {
            let _as_before = rustix::process::nice(self.0.into());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    #[test]
    fn a_thread_gives_way_alone() {
        let before = getpriority_process(None).expect("the priority of this thread");
        let inside = std::thread::spawn(|| {
            Nice::default().apply();
            let as_before = getpriority_process(None).expect("the priority of that thread");
            Nice(3).apply();
            (
                as_before,
                getpriority_process(None).expect("the priority of that thread"),
            )
        });
        assert_eq!(inside.join().expect("the thread"), (before, (before + 3).min(19)));
        assert_eq!(getpriority_process(None), Ok(before));
    }
}

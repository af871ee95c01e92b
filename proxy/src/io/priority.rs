//! The priority of threads beside the data thread.
//!
//! Where a screen is shown, decoding and drawing take longer than passing traffic on, and on a machine of few cores they have
//! one core together with it. A datagram that arrives while a frame is drawn would wait for the rest of a time slice; a thread
//! that gives way is interrupted at once.

/// How far a thread gives way to others, as for `nice`: 0 not at all, 19 most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nice(pub u8);

impl Nice {
    /// Lets the calling thread give way.
    ///
    /// Only on Linux: elsewhere it would be the whole process, the data thread with it. A system that refuses it leaves the
    /// priority as it is.
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

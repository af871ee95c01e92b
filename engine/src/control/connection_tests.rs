//! Tests of the steps of a connection, each without the others.

use std::{
    net::{Ipv4Addr, Shutdown},
    num::NonZeroU32,
    sync::{Mutex, OnceLock, atomic::AtomicUsize},
};

use teetap_inspect::{Decoder, Subscribers};
use teetap_proxy::session::{Event, Notice, Time};
use teetap_wire::{
    Dir,
    def::{Registry, Secrets},
};

use super::*;
use crate::{Builder, Origin, Run, control::ServerParts};

/// A connection of a run that nobody serves, and the sockets of its peer and of the end of the run.
struct Served {
    connection: Connection,
    peer: UnixStream,
    running: UnixStream,
    _run: Run,
}

fn served(start: &[u8]) -> Served {
    let run = Builder::new((Ipv4Addr::LOCALHOST, 9).into()).start().unwrap();
    let (running, ended) = UnixStream::pair().unwrap();
    let shared = Arc::new(Shared {
        parts: ServerParts {
            handle: run.handle(Origin::Socket),
            bus: Bus::new(),
            subscribers: Subscribers::default(),
            clock: run.clock(),
            secrets: Secrets::Hide,
            is_quiet: false,
            start: start.to_vec(),
        },
        connections: AtomicUsize::new(1),
        subscribed: Mutex::new(0),
        last: OnceLock::new(),
        ended,
    });
    let (peer, stream) = UnixStream::pair().unwrap();
    Served {
        connection: Connection::new(stream, Counted(shared)).unwrap(),
        peer,
        running,
        _run: run,
    }
}

/// Returns (readable, closed, ended).
fn flags(ready: &Ready) -> (bool, bool, bool) {
    (ready.readable, ready.closed, ready.ended)
}

#[test]
fn a_connection_wakes_for_data_and_the_end_of_a_peer_and_of_the_run() {
    let mut served = served(b"");
    served.peer.write_all(b"\n").unwrap();
    assert_eq!(flags(&served.connection.wait().unwrap()), (true, false, false));
    served.connection.read().unwrap();
    served.peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(flags(&served.connection.wait().unwrap()), (true, false, false));
    served.connection.read().unwrap();
    assert!(served.connection.is_deaf);
    drop(served.running);
    assert_eq!(flags(&served.connection.wait().unwrap()), (false, false, true));
}

/// The descriptor of a peer that sends no more data stays readable, so a wait for its data would never block.
#[test]
fn a_peer_that_sends_no_more_data_does_not_keep_its_connection_awake() {
    let mut served = served(b"");
    served.peer.shutdown(Shutdown::Write).unwrap();
    served.connection.read().unwrap();
    let Served { connection, peer, .. } = served;
    let closing = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(peer);
    });
    assert_eq!(flags(&connection.wait().unwrap()), (false, true, false));
    closing.join().unwrap();
}

/// The bell rings only for a message that is held until a script releases it.
#[test]
fn the_bell_of_a_subscription_rings_for_a_held_message() {
    let bus = Bus::new();
    let (mut publisher, mut worker) = bus.open(Decoder::new(Registry::builtin()));
    // Without watchers nothing is published.
    let _watcher = bus.watch();
    let bell = Bell::new(&bus).unwrap();
    let has_rung = || {
        let mut fds = [PollFd::new(&bell.rung, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() > 0
    };
    let held = Notice::Held {
        dir: Dir::C2s,
        held: NonZeroU32::MIN,
        rule: "pause".into(),
        max: Duration::from_secs(60),
    };
    for (notice, rings) in [
        (Notice::EarlyClose, false),
        (held.clone(), true),
        (Notice::Hole, false),
        (held, true),
    ] {
        let name = notice.to_string();
        publisher.publish(Event {
            at: Time::ZERO,
            session: None,
            what: EventKind::Notice(notice),
        });
        assert!(worker.turn());
        assert_eq!(has_rung(), rings, "{name}");
        bell.clear();
        assert!(!has_rung(), "{name}: not cleared");
    }
}

/// A peer is cut off if it reads nothing for [`PATIENCE`], and not if it reads slowly.
#[test]
fn each_read_of_a_peer_renews_the_patience_with_it() {
    // More than the buffers of the socket.
    let start = vec![b'x'; 4 << 20];
    let mut served = served(&start);
    let long_ago = Instant::now().checked_sub(PATIENCE).unwrap();
    let mut received = 0;
    let writes = |connection: &mut Connection| {
        connection.progress = long_ago;
        connection.write().unwrap();
        let is_renewed = connection.progress != long_ago;
        (is_renewed, connection.output.is_empty())
    };
    assert_eq!(writes(&mut served.connection), (true, false), "an empty buffer");
    assert_eq!(writes(&mut served.connection), (false, false), "a full buffer");
    let mut chunk = vec![0; 1 << 20];
    while received < start.len() {
        received += served.peer.read(&mut chunk).unwrap();
        let (is_renewed, is_done) = writes(&mut served.connection);
        assert!(is_renewed || is_done, "after {received} bytes");
    }
    assert_eq!(received, start.len());
}

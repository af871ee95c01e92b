//! Tests of the sockets, on the loopback.

use super::*;

const UPSTREAM: UpstreamId = UpstreamId(1);
const LISTENER: ListenerId = ListenerId(1);

/// A datagram that the kernel refuses, since it is larger than UDP allows.
static TOO_LONG: [u8; 70_000] = [0; 70_000];

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

/// Returns the sockets of a proxy for `server`, without an upstream socket.
fn sockets(server: SocketAddr) -> Sockets {
    Sockets::new(socket(), server, None, Arc::new(Readiness::new().unwrap())).unwrap()
}

/// Carries out outputs, which cause no events.
fn carry_out(sockets: &mut Sockets, outputs: impl IntoIterator<Item = Output<'static>>) {
    let mut events = Vec::new();
    for output in outputs {
        sockets.carry_out(output, &mut events);
    }
    assert!(events.is_empty(), "sockets cause no events");
}

/// Returns the news as text: kind, id, and the kind of the error.
fn news(sockets: &mut Sockets) -> Vec<String> {
    let words = |news: SocketEvent| match news {
        SocketEvent::Opened(UpstreamId(id), _) => format!("upstream {id} opened"),
        SocketEvent::Failed(UpstreamId(id), error) => format!("upstream {id} failed: {:?}", error.kind()),
        SocketEvent::Unreachable(UpstreamId(id), error) => {
            format!("upstream {id} unreachable: {:?}", error.raw_os_error())
        }
        SocketEvent::ListenerOpened(ListenerId(id), _) => format!("listener {id} opened"),
        SocketEvent::ListenerFailed(ListenerId(id), error) => {
            format!("listener {id} failed: {:?}", error.kind())
        }
    };
    sockets.news.drain(..).map(words).collect()
}

fn open(port: u16) -> Output<'static> {
    Output::OpenUpstream {
        upstream: UPSTREAM,
        port,
    }
}

fn to_server(bytes: &'static [u8]) -> Output<'static> {
    Output::ToServer {
        upstream: UPSTREAM,
        bytes,
    }
}

fn to_client(listener: ListenerId, addr: SocketAddr, bytes: &'static [u8]) -> Output<'static> {
    Output::ToClient {
        listener,
        addr,
        bytes,
    }
}

#[tokio::test]
async fn a_datagram_that_is_not_sent_is_counted_once_with_its_errors() {
    let (server, client) = (socket(), socket());
    let (server, client) = (server.local_addr().unwrap(), client.local_addr().unwrap());
    let mut sockets = sockets(server);
    let mut expected = Counters::default();
    let steps = [
        ("no upstream", to_server(b"x"), (1, 0), &[][..]),
        ("no listener", to_client(LISTENER, client, b"x"), (1, 0), &[]),
        (
            "to the client",
            to_client(ListenerId::FIRST, client, b"x"),
            (0, 0),
            &[],
        ),
        (
            "too long for the client",
            to_client(ListenerId::FIRST, client, &TOO_LONG),
            (1, 0),
            &[],
        ),
        ("upstream", open(server.port()), (0, 0), &["upstream 1 opened"]),
        ("to the server", to_server(b"x"), (0, 0), &[]),
        // EMSGSIZE of Linux.
        (
            "too long for the server",
            to_server(&TOO_LONG),
            (1, 1),
            &["upstream 1 unreachable: Some(90)"],
        ),
        ("close", Output::CloseUpstream(UPSTREAM), (0, 0), &[]),
        ("closed upstream", to_server(b"x"), (1, 0), &[]),
    ];
    for (what, output, (unsent, errors), told) in steps {
        carry_out(&mut sockets, [output]);
        expected.unsent += unsent;
        expected.errors += errors;
        assert_eq!(sockets.counters, expected, "{what}: counters");
        assert_eq!(news(&mut sockets), told, "{what}: news");
    }
}

#[tokio::test]
async fn a_refusal_is_an_error_of_the_datagram_before_which_was_sent() {
    let closed = socket().local_addr().unwrap();
    let mut sockets = sockets(closed);
    carry_out(
        &mut sockets,
        [open(closed.port()), to_server(b"1"), to_server(b"2")],
    );
    let expected = Counters { unsent: 0, errors: 1 };
    assert_eq!(sockets.counters, expected, "the kernel sent both");
    // ECONNREFUSED of Linux.
    let told = ["upstream 1 opened", "upstream 1 unreachable: Some(111)"];
    assert_eq!(news(&mut sockets), told);
}

#[tokio::test]
async fn the_datagrams_of_each_listener_and_upstream_are_their_own() {
    let (server, client) = (socket(), socket());
    let (at, from) = (server.local_addr().unwrap(), client.local_addr().unwrap());
    let mut sockets = sockets(at);
    let listen = Output::OpenListener {
        listener: LISTENER,
        port: at.port(),
    };
    carry_out(&mut sockets, [open(at.port()), listen]);
    let (mut first, mut second, mut upstream) = (None, None, None);
    for news in sockets.news.drain(..) {
        match news {
            SocketEvent::Opened(UPSTREAM, local) => upstream = Some(local),
            SocketEvent::ListenerOpened(LISTENER, local) => second = Some(local),
            other => panic!("expected an upstream and a listener, got {other:?}"),
        }
    }
    first.get_or_insert(sockets.listen.socket.local_addr().unwrap());
    let sent = [
        to_server(b"of the upstream"),
        to_client(ListenerId::FIRST, from, b"of the first"),
        to_client(LISTENER, from, b"of the second"),
    ];
    carry_out(&mut sockets, sent);
    let received = |socket: &UdpSocket| {
        socket
            .set_read_timeout(Some(std::time::Duration::from_secs(10)))
            .unwrap();
        let mut buffer = [0; 64];
        let (len, from) = socket.recv_from(&mut buffer).unwrap();
        (String::from_utf8_lossy(&buffer[..len]).into_owned(), Some(from))
    };
    assert_eq!(received(&server), ("of the upstream".to_owned(), upstream));
    assert_eq!(received(&client), ("of the first".to_owned(), first));
    assert_eq!(received(&client), ("of the second".to_owned(), second));
    assert!(first != second, "each listener has a port of its own");
    assert!(sockets.is_idle(), "nothing waits");
}

#[tokio::test]
async fn each_upstream_socket_has_an_address_of_its_own() {
    let server = socket();
    let target = server.local_addr().unwrap();
    let addresses = Some(ClientAddresses::new(8303, target).unwrap());
    let readiness = Arc::new(Readiness::new().unwrap());
    let mut sockets = Sockets::new(socket(), target, addresses, readiness).unwrap();
    let port = target.port();
    let opened = [1, 2].map(|id| Output::OpenUpstream {
        upstream: UpstreamId(id),
        port,
    });
    let sent = [(1, b"a"), (2, b"b")].map(|(id, bytes)| Output::ToServer {
        upstream: UpstreamId(id),
        bytes,
    });
    carry_out(&mut sockets, opened.into_iter().chain(sent));
    for (bytes, ip) in [(b'a', "127.32.111.1"), (b'b', "127.32.111.2")] {
        let mut buffer = [0; 2];
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(
            (&buffer[..len], from.ip().to_string().as_str()),
            (&[bytes][..], ip)
        );
    }
}

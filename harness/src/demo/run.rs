//! Sockets and time for the demo: a server task and two bots, on tokio.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::bot::Bot;
use super::player::PLAYERS;
use super::report::{BotReport, PlayerReport, Report};
use super::server::DemoHost;

/// Time between two checks of the timers.
const STEP: Duration = Duration::from_millis(5);
/// Maximum wait until the bots' quits reach the server.
const QUITTING: Duration = Duration::from_secs(3);
/// Bytes of the receive buffer; longer datagrams are truncated, as the games do.
const BUFFER: usize = 1400;

/// The demo's server, which runs as a task of the current tokio runtime until it is stopped or dropped.
#[derive(Debug)]
pub(super) struct DemoServer {
    address: SocketAddr,
    stop: oneshot::Sender<Duration>,
    task: JoinHandle<io::Result<Vec<PlayerReport>>>,
}

impl DemoServer {
    /// Starts the server on a free port of 127.0.0.1. Its tokens are derived from the seed.
    pub(super) async fn start(seed: u64) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(socket, DemoHost::new(seed), stopped));
        Ok(Self { address, stop, task })
    }

    /// Returns the address on which the server listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until all clients have left, for at most `patience`. Then closes the remaining connections and returns
    /// the server's reports about the players.
    pub(super) async fn stop(self, patience: Duration) -> io::Result<Vec<PlayerReport>> {
        // A server that failed no longer listens; its task returns the error.
        let _ = self.stop.send(patience);
        self.task.await.map_err(io::Error::other)?
    }
}

/// Lets both bots play through `proxy` for `duration` after they have met. Returns when both are done, at most 15 s
/// later if they do not meet.
///
/// # Errors
/// A socket cannot be opened or used. A missing answer is not an error: it is in the report.
pub(super) async fn play(proxy: SocketAddr, duration: Duration, seed: u64) -> io::Result<Vec<BotReport>> {
    let [seven, ddnet] = PLAYERS.map(|player| Bot::new(player, !seed, duration));
    let (seven, ddnet) = tokio::join!(drive(seven, proxy), drive(ddnet, proxy));
    Ok(vec![seven?, ddnet?])
}

/// Runs the whole demo: starts the server, calls `connect` to start a proxy in front of it, lets the bots play through
/// the address that `connect` returns, and stops the server.
///
/// # Errors
/// A socket cannot be opened or used. A missing answer is not an error: it is in the report.
pub async fn run(
    duration: Duration,
    seed: u64,
    connect: impl AsyncFnOnce(SocketAddr) -> io::Result<SocketAddr>,
) -> io::Result<Report> {
    let server = DemoServer::start(seed).await?;
    let proxy = connect(server.address()).await?;
    let bots = play(proxy, duration, seed).await?;
    // The quits may still be on their way through the proxy.
    let players = server.stop(QUITTING).await?;
    Ok(Report { bots, players })
}

async fn serve(
    socket: UdpSocket,
    mut server: DemoHost,
    mut stopped: oneshot::Receiver<Duration>,
) -> io::Result<Vec<PlayerReport>> {
    let start = Instant::now();
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut buffer = [0; BUFFER];
    let mut end = None;
    while end.is_none_or(|end| start.elapsed() < end && !server.is_empty()) {
        tokio::select! {
            received = socket.recv_from(&mut buffer) => {
                if let Some((len, from)) = unless_refused(received)? {
                    server.handle(start.elapsed(), from, buffer.get(..len).unwrap_or_default());
                }
            }
            _ = steps.tick() => server.tick(start.elapsed()),
            // If the handle was dropped, nothing waits for the result.
            patience = &mut stopped, if end.is_none() => end = Some(start.elapsed() + patience.unwrap_or_default()),
        }
        send_all(&socket, &mut server).await?;
    }
    server.shut_down(start.elapsed());
    send_all(&socket, &mut server).await?;
    Ok(server.players())
}

async fn send_all(socket: &UdpSocket, server: &mut DemoHost) -> io::Result<()> {
    while let Some((to, datagram)) = server.poll_transmit() {
        unless_refused(socket.send_to(&datagram, to).await)?;
    }
    Ok(())
}

async fn drive(mut bot: Bot, proxy: SocketAddr) -> io::Result<BotReport> {
    let any: SocketAddr = if proxy.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(proxy).await?;
    let start = Instant::now();
    let mut steps = interval(STEP);
    steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut buffer = [0; BUFFER];
    while !bot.is_over() {
        tokio::select! {
            received = socket.recv(&mut buffer) => {
                if let Some(len) = unless_refused(received)? {
                    bot.handle(start.elapsed(), buffer.get(..len).unwrap_or_default());
                }
            }
            _ = steps.tick() => bot.tick(start.elapsed()),
        }
        while let Some(datagram) = bot.poll_transmit() {
            unless_refused(socket.send(&datagram).await)?;
        }
    }
    Ok(bot.report().clone())
}

/// Treats a refused datagram (ICMP) as a lost one, which the timers of the connection handle.
fn unless_refused<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(None),
        Err(error) => Err(error),
    }
}

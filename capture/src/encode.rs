//! Encodes the events of a run as pcapng.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use teetap_wire::{Dir, Side, counted, printable};

use super::{
    Run, frame,
    own::Own,
    pcapng::write::{self, Packet},
    recorder::Encode,
};
use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::Seen,
    session::{Ends, Event, EventKind, Level, Notice, Time},
};

/// Returns the comment for the packets of an event.
pub type Gist = fn(&DecodedEvent) -> String;

/// Encodes events as packets with comments.
pub struct Encoder {
    run: Run,
    gist: Gist,
    /// Events that were missed, and how many of them no packet has counted yet.
    lost: u64,
    drops: u64,
    frame: Vec<u8>,
}

/// A packet of an event.
pub(crate) struct LegPacket<'a> {
    pub(crate) leg: Side,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: &'a [u8],
    pub(crate) is_inbound: bool,
}

impl Encoder {
    /// Returns an encoder for a run.
    #[must_use]
    pub fn new(run: Run, gist: Gist) -> Self {
        Self {
            run,
            gist,
            lost: 0,
            drops: 0,
            frame: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event, text: &str, out: &mut Vec<u8>) {
        let own = Own::from_event(event).write();
        let parts = self.parts(event);
        let mut own = Some(own.as_slice());
        let time = self.time(event.at);
        if parts.is_empty() {
            write::statistics(time, text, self.lost, own, out);
            return;
        }
        for part in parts {
            self.frame.clear();
            frame::write(part.from, part.to, part.is_inbound, part.bytes, &mut self.frame);
            let packet = Packet {
                leg: part.leg,
                time,
                frame: &self.frame,
                is_inbound: part.is_inbound,
                comment: text,
                drops: std::mem::take(&mut self.drops),
                own: own.take(),
            };
            write::packet(&packet, out);
        }
    }

    /// Returns the packets of an event: the received packet first, then the sent packets.
    pub(crate) fn parts<'a>(&self, event: &'a Event) -> Vec<LegPacket<'a>> {
        let part = |leg, dir, ends: &Ends, bytes: &'a [u8], is_inbound| {
            let (one, other) = match leg {
                Side::Client => self.client_leg(ends),
                Side::Server => self.server_leg(ends),
            };
            let (from, to) = if dir == Dir::C2s {
                (one, other)
            } else {
                (other, one)
            };
            LegPacket {
                leg,
                from,
                to,
                bytes,
                is_inbound,
            }
        };
        let (dir, ends, received, sent): (_, _, _, Vec<&[u8]>) = match &event.what {
            EventKind::Datagram(datagram) => (
                datagram.dir,
                datagram.ends,
                datagram.received(),
                datagram.sent().collect(),
            ),
            EventKind::Connless(connless) => (
                connless.dir,
                connless.ends,
                connless.received(),
                connless.sent.as_deref().into_iter().collect(),
            ),
            EventKind::Notice(Notice::UnknownSender { client, bytes, .. }) if !bytes.is_empty() => {
                let ends = Ends {
                    client: Some(*client),
                    ..Ends::default()
                };
                (Dir::C2s, ends, Some(&bytes[..]), Vec::new())
            }
            EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => return Vec::new(),
        };
        let received = received.map(|bytes| part(dir.sender(), dir, &ends, bytes, true));
        let sent = sent
            .into_iter()
            .map(|bytes| part(dir.receiver(), dir, &ends, bytes, false));
        received.into_iter().chain(sent).collect()
    }

    /// Returns the addresses of a client and of the listener. If the listener is bound to every address, it is shown as
    /// the loopback address to a client on this machine, otherwise as the unspecified address.
    fn client_leg(&self, ends: &Ends) -> (SocketAddr, SocketAddr) {
        let listen = self.run.listen;
        let client = ends.client.unwrap_or(SocketAddr::new(listen.ip(), 0));
        let ip = match (listen.ip().is_unspecified(), client.ip()) {
            (false, _) => listen.ip(),
            (true, IpAddr::V4(ip)) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            (true, IpAddr::V6(ip)) if ip.is_loopback() => Ipv6Addr::LOCALHOST.into(),
            (true, IpAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
            (true, IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
        };
        (
            client,
            SocketAddr::new(ip, ends.listen_port.unwrap_or(listen.port())),
        )
    }

    /// Returns the addresses of the upstream socket and of the server. A socket that could not be opened is shown as
    /// the unspecified address with port 0.
    fn server_leg(&self, ends: &Ends) -> (SocketAddr, SocketAddr) {
        let mut server = self.run.server;
        if let Some(port) = ends.server_port {
            server.set_port(port);
        }
        let nowhere: IpAddr = if server.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        (ends.local.unwrap_or(SocketAddr::new(nowhere, 0)), server)
    }

    /// Converts a time of the run to nanoseconds since 1970.
    pub(crate) fn time(&self, at: Time) -> u64 {
        self.run.wall.saturating_add(at.0.saturating_mul(1000))
    }
}

impl Encode for Encoder {
    fn start(&mut self, out: &mut Vec<u8>) {
        let Run {
            version,
            seed,
            target,
            server,
            listen,
            ..
        } = &self.run;
        let comment = format!(
            "listening on {listen}, server {} ({server}), seed {seed}",
            printable(target.as_bytes())
        );
        let own = serde_json::to_vec(&self.run).unwrap_or_default();
        write::section(
            &format!("{}{version}", crate::pcapng::PROGRAM),
            &comment,
            &own,
            out,
        );
    }

    fn seen(&mut self, seen: &Seen<DecodedEvent>, now: Time, out: &mut Vec<u8>) {
        match seen {
            Seen::Event(decoded) => self.event(&decoded.event, &(self.gist)(decoded), out),
            Seen::Gap(lost) => {
                self.lost += lost;
                self.drops += lost;
                let own = Own::gap(now, *lost).write();
                let events = counted(*lost, "event");
                let text = format!("-- {events} missed: this recording was slower than the traffic --");
                write::statistics(self.time(now), &text, self.lost, Some(&own), out);
            }
        }
    }

    fn left_out(&mut self, at: Time, count: u64, out: &mut Vec<u8>) {
        let own = Own::gap(at, count).write();
        let events = counted(count, "event");
        let text = format!("-- {events} before: this recording has only the end of the run --");
        write::statistics(self.time(at), &text, self.lost, Some(&own), out);
    }

    fn log(&mut self, at: Time, level: Level, text: &str, out: &mut Vec<u8>) {
        let own = Own::log(at, level, text).write();
        // A summary has several lines.
        let lines: Vec<String> = text.split('\n').map(|line| printable(line.as_bytes())).collect();
        write::statistics(self.time(at), &lines.join("\n"), self.lost, Some(&own), out);
    }
}

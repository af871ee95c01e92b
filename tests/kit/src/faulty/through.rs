//! The same session through the session core.

use std::{net::SocketAddr, time::Duration};

use teetap_proxy::session::{Event, Hub, Input, ListenerId, Output, Time, UpstreamId};

use super::{Client, Fault, STEP, Setting, Step, addresses, server};
use crate::{
    capture::Packet,
    link::Hop,
    rules::compiled,
    world::{config, route},
};

/// A session through the proxy.
#[derive(Clone, Debug)]
pub struct Through {
    /// The events of the core.
    pub events: Vec<Event>,
    /// The datagrams of the client's leg, as a capture at the proxy contains them.
    pub packets: Vec<Packet>,
    /// The last message of the join that the server received.
    pub reached: Option<Step>,
}

/// Plays a session through the proxy with these rules and link lines.
///
/// # Errors
/// Returns the message of the first error in the rules.
pub fn through(setting: &Setting, fault: Option<&Fault>, rules: &str) -> Result<Through, String> {
    let mut hub = Hub::new(
        config(setting.seed, Some(Duration::from_secs(100)), true),
        route(),
    );
    hub.handle(
        Time::ZERO,
        Input::Program(Some(compiled(rules).map_err(|errors| format!("{errors:?}"))?)),
    );
    let (from, _) = addresses();
    let mut client = Client::new(setting, fault.map(|fault| &fault.act));
    let mut server = server(setting);
    let [near, far] = setting.halves;
    let hop = |conditions, seed| Hop::new(conditions, seed);
    let mut middle = Middle {
        hub,
        socket: UpstreamId(0),
        to_client: hop(near, setting.seed),
        to_server: hop(far, !setting.seed),
        through: Through {
            events: Vec::new(),
            packets: Vec::new(),
            reached: None,
        },
    };
    let (mut up, mut down) = (hop(near, setting.seed + 1), hop(far, setting.seed + 2));
    let mut now = STEP;
    while now < setting.length {
        while let Some(bytes) = up.receive(now) {
            middle.client_sent(from, &bytes, now);
        }
        while let Some(bytes) = down.receive(now) {
            let upstream = middle.socket;
            middle.input(
                Input::FromServer {
                    upstream,
                    bytes: &bytes,
                },
                now,
            );
        }
        middle.input(Input::Timeout, now);
        while let Some(bytes) = middle.to_server.receive(now) {
            server.receive(from, &bytes, now);
        }
        while let Some(bytes) = middle.to_client.receive(now) {
            client.receive(&bytes, now);
        }
        client.update(now);
        server.update(now);
        client
            .take_outgoing()
            .into_iter()
            .for_each(|bytes| up.send(bytes, now));
        server
            .take_outgoing()
            .into_iter()
            .for_each(|(_, bytes)| down.send(bytes, now));
        now += STEP;
    }
    middle.through.reached = server.reached(from);
    Ok(middle.through)
}

/// The proxy, and the hops to its peers.
struct Middle {
    hub: Hub,
    socket: UpstreamId,
    to_client: Hop<Vec<u8>>,
    to_server: Hop<Vec<u8>>,
    through: Through,
}

impl Middle {
    fn client_sent(&mut self, addr: SocketAddr, bytes: &[u8], now: u64) {
        let listener = ListenerId::FIRST;
        self.record((addr, route().listen), bytes, now);
        self.input(
            Input::FromClient {
                listener,
                addr,
                bytes,
            },
            now,
        );
    }

    fn record(&mut self, (from, to): (SocketAddr, SocketAddr), bytes: &[u8], time: u64) {
        let payload = bytes.to_vec();
        self.through.packets.push(Packet {
            time,
            from,
            to,
            payload,
        });
    }

    fn input(&mut self, input: Input<'_>, now: u64) {
        self.hub.handle(Time(now), input);
        let mut opened = None;
        let mut to_client = Vec::new();
        while let Some(output) = self.hub.poll() {
            match output {
                Output::ToClient { addr, bytes, .. } => to_client.push((addr, bytes.to_vec())),
                Output::ToServer { bytes, .. } => self.to_server.send(bytes.to_vec(), now),
                Output::OpenUpstream { upstream, .. } => opened = Some(upstream),
                Output::Event(event) => self.through.events.push(*event),
                Output::OpenListener { .. } | Output::CloseUpstream(_) => {}
            }
        }
        for (addr, bytes) in to_client {
            self.record((route().listen, addr), &bytes, now);
            self.to_client.send(bytes, now);
        }
        if let Some(upstream) = opened {
            self.socket = upstream;
            let local = crate::world::upstream_addr(upstream);
            self.input(Input::UpstreamOpened { upstream, local }, now);
        }
    }
}

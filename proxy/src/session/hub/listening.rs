//! Listen sockets that redirects requested: the result of opening them.

use std::net::SocketAddr;

use super::{EventKind, Hub, Link, ListenerId, Notice};

impl Hub {
    pub(super) fn on_listener_opened(&mut self, listener: ListenerId, local: SocketAddr) {
        let Some(server) = self.env.listeners.opened(listener, local) else {
            return;
        };
        let opened = Notice::ListenerOpened {
            server,
            listen: local,
        };
        self.env.out.event(self.env.now, None, EventKind::Notice(opened));
        self.resume_all();
    }

    pub(super) fn on_listener_failed(&mut self, listener: ListenerId, error: &str) {
        if self.env.listeners.failed(listener, error) {
            self.resume_all();
        }
    }

    /// Handles the datagrams that waited for a listen socket.
    fn resume_all(&mut self) {
        let waiting = |link: &mut Link| Some((link.upstream(), link.take_waiting()?));
        let waiting: Vec<_> = self.sessions.links.values_mut().filter_map(waiting).collect();
        for (upstream, datagram) in waiting {
            self.on_server(upstream, &datagram);
        }
        self.env.listeners.forget_failed();
    }
}

//! Query of the server in parallel to the run: the protocols that it supports, and its version.

use std::{io, net::SocketAddr, sync::mpsc, thread};

use teetap_proxy::io::{
    Clock, Commands, Request,
    probe::{Finding, probe},
};
use teetap_wire::{Proto, def::Registry};

/// Query of one server.
#[derive(Debug)]
pub(crate) struct Query {
    server: SocketAddr,
    proto: Option<Proto>,
    /// `None` before the query, and after its result was read.
    result: Option<mpsc::Receiver<Finding>>,
}

impl Query {
    pub(crate) const fn new(server: SocketAddr, proto: Option<Proto>) -> Self {
        Self {
            server,
            proto,
            result: None,
        }
    }

    /// Queries the server on a thread of its own, and tells the proxy which protocols it supports.
    pub(crate) fn start(&mut self, commands: Commands, clock: Clock) -> io::Result<()> {
        let (server, proto) = (self.server, self.proto);
        let (sender, result) = mpsc::channel();
        thread::Builder::new().name("probe".into()).spawn(move || {
            let finding = probe(server, proto, Registry::builtin(), &clock);
            // The run may have ended before the server answered.
            let _too_late = commands.send(Request::Probed(finding.speaks()));
            let _too_late = sender.send(finding);
        })?;
        self.result = Some(result);
        Ok(())
    }

    /// Returns the result, once.
    pub(crate) fn result(&mut self) -> Option<Finding> {
        let finding = self.result.as_ref()?.try_recv().ok()?;
        self.result = None;
        Some(finding)
    }
}

//! The route from a client to a server: direct, or through the proxy. Scenarios cannot tell the difference.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::teetap::text;
use super::{Server, Teetap, show_difference};

/// The kind of route.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// The client connects to the server directly.
    Direct,
    /// The client connects to the `teetap` binary at this path.
    Proxy(&'a Path),
}

/// An open route to one server.
#[derive(Debug)]
pub struct Route {
    teetap: Option<Teetap>,
    addr: SocketAddr,
}

impl Route {
    /// Opens the route to `server`.
    pub fn open(via: Via<'_>, server: &dyn Server) -> Result<Self> {
        Self::open_to(via, server.addr())
    }

    /// Opens the route to a server at the address `server`.
    pub fn open_to(via: Via<'_>, server: SocketAddr) -> Result<Self> {
        let teetap = match via {
            Via::Direct => None,
            Via::Proxy(path) => Some(Teetap::start(path, server, &[])?),
        };
        let addr = teetap.as_ref().map_or(server, Teetap::listen);
        Ok(Self { teetap, addr })
    }

    /// Returns the address that a client must connect to.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends the proxy and checks its report: it ran to the end, ended with the exit code of SIGTERM, and saw exactly
    /// `protos` (the `proto` of each game session, in any order) go online and be closed by their clients. Checks
    /// nothing on a direct route.
    pub fn close(self, protos: &[&str]) -> Result<()> {
        let Some(objects) = self.finish()? else {
            return Ok(());
        };
        came(&objects, "online", protos)?;
        came(&objects, "closing", protos)?;
        for session in sessions(&objects, "closing") {
            ensure!(
                text(session, "by") == "client",
                "not closed by its client: {session}"
            );
        }
        Ok(())
    }

    /// Same as [`Route::close`], for sessions that the server closes (perhaps before they are online), each with
    /// exactly this `reason`.
    pub fn close_with(self, protos: &[&str], reason: &str) -> Result<()> {
        let Some(objects) = self.finish()? else {
            return Ok(());
        };
        came(&objects, "closing", protos)?;
        for session in sessions(&objects, "closing") {
            let closed = text(session, "by") == "server" && text(session, "reason") == reason;
            ensure!(closed, "not closed by the server with {reason:?}: {session}");
        }
        Ok(())
    }

    /// Ends the proxy and returns everything it reported; `None` on a direct route.
    fn finish(self) -> Result<Option<Vec<Value>>> {
        let Some(teetap) = self.teetap else {
            return Ok(None);
        };
        let objects = teetap.stop()?;
        let last = objects.last().unwrap_or(&Value::Null);
        ensure!(
            text(last, "event") == "summary",
            "the last object is not the summary: {last}"
        );
        Ok(Some(objects))
    }
}

/// Runs a scenario directly and through the `teetap` binary at this path; its results (the server's log) must be
/// equal.
pub fn both_ways(teetap: &Path, scenario: impl Fn(Via<'_>) -> Result<Vec<String>>) -> Result<()> {
    let direct = scenario(Via::Direct).context("the direct run")?;
    let proxied = scenario(Via::Proxy(teetap)).context("the run through the proxy")?;
    show_difference(&direct, &proxied)
}

/// Checks that sessions of exactly these `protos`, in any order, reached a state.
fn came(objects: &[Value], state: &'static str, protos: &[&str]) -> Result<()> {
    let mut seen: Vec<&str> = sessions(objects, state)
        .map(|object| text(object, "proto"))
        .collect();
    let mut wanted = protos.to_vec();
    seen.sort_unstable();
    wanted.sort_unstable();
    let about = objects.iter().filter(|object| text(object, "event") == "session");
    let about: String = about
        .map(|object| {
            format!(
                "
    {object}"
            )
        })
        .collect();
    ensure!(seen == wanted, "not {protos:?} {state}: {about}");
    Ok(())
}

fn sessions<'a>(objects: &'a [Value], state: &'static str) -> impl Iterator<Item = &'a Value> {
    objects
        .iter()
        .filter(move |object| text(object, "event") == "session" && text(object, "state") == state)
}

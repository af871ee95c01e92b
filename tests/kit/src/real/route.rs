//! The way from a client to a server: straight, or through the proxy. The scenarios cannot tell.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::teetap::text;
use super::{Server, Teetap, show_difference};

/// The exit code of a program that SIGTERM (15) ended in order.
const TERMINATED: i32 = 128 + 15;

/// Which way to take.
#[derive(Clone, Copy, Debug)]
pub enum Via<'a> {
    /// The client talks to the server itself.
    Direct,
    /// The client talks to the `teetap` binary at this path.
    Proxy(&'a Path),
}

/// An open way to one server.
#[derive(Debug)]
pub struct Route {
    teetap: Option<Teetap>,
    addr: SocketAddr,
}

impl Route {
    /// Opens the way to `server`.
    ///
    /// # Errors
    /// The proxy does not start.
    pub fn open(via: Via<'_>, server: &impl Server) -> Result<Self> {
        let teetap = match via {
            Via::Direct => None,
            Via::Proxy(path) => Some(Teetap::start(path, server.addr(), &[])?),
        };
        let addr = teetap.as_ref().map_or_else(|| server.addr(), Teetap::listen);
        Ok(Self { teetap, addr })
    }

    /// Where a client must connect to.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Ends the proxy and checks what it reports: it ran to the end, ended as SIGTERM asks, and saw exactly `protos` (the
    /// `proto` of each game session, in any order) come online and close. Straight there is nothing to check.
    ///
    /// # Errors
    /// One of these does not hold.
    pub fn close(self, protos: &[&str]) -> Result<()> {
        let Some(objects) = self.finish()? else {
            return Ok(());
        };
        let mut wanted = protos.to_vec();
        wanted.sort_unstable();
        for state in ["online", "closed"] {
            let mut seen: Vec<&str> = sessions(&objects, state)
                .map(|object| text(object, "proto"))
                .collect();
            seen.sort_unstable();
            ensure!(seen == wanted, "sessions {state}: {seen:?}, wanted {wanted:?}");
        }
        Ok(())
    }

    /// As [`Route::close`], for sessions that end for a reason: each of them closed with one that contains `reason`.
    ///
    /// # Errors
    /// One of these does not hold.
    pub fn close_with(self, protos: &[&str], reason: &str) -> Result<()> {
        let Some(objects) = self.finish()? else {
            return Ok(());
        };
        let closed: Vec<&Value> = sessions(&objects, "closed").collect();
        ensure!(
            closed.len() == protos.len(),
            "sessions closed: {closed:?}, wanted {protos:?}"
        );
        for session in closed {
            ensure!(
                text(session, "reason").contains(reason),
                "closed without {reason:?}: {session}"
            );
        }
        Ok(())
    }

    /// Ends the proxy in order; all it reported.
    fn finish(self) -> Result<Option<Vec<Value>>> {
        let Some(teetap) = self.teetap else {
            return Ok(None);
        };
        let (code, objects) = teetap.stop()?;
        ensure!(code == TERMINATED, "teetap ended with {code}, not {TERMINATED}");
        let last = objects.last().unwrap_or(&Value::Null);
        ensure!(
            text(last, "event") == "summary",
            "the last object is not the summary: {last}"
        );
        Ok(Some(objects))
    }
}

/// Runs a scenario straight and through the `teetap` binary at this path; what it gives (the server's log) must be the same.
///
/// # Errors
/// A run fails, or the two differ.
pub fn both_ways(teetap: &Path, scenario: impl Fn(Via<'_>) -> Result<Vec<String>>) -> Result<()> {
    let direct = scenario(Via::Direct).context("the direct run")?;
    let proxied = scenario(Via::Proxy(teetap)).context("the run through the proxy")?;
    show_difference(&direct, &proxied)
}

fn sessions<'a>(objects: &'a [Value], state: &'static str) -> impl Iterator<Item = &'a Value> {
    objects
        .iter()
        .filter(move |object| text(object, "event") == "session" && text(object, "state") == state)
}

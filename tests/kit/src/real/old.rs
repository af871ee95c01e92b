//! Servers of Teeworlds 0.6, which are not packaged: an environment variable contains the path of the program.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{Launch, PATIENCE, Program, home, on_free_port};

/// A running server of 0.6.4 or 0.6.5.
#[derive(Debug)]
pub struct OldServer {
    program: Program,
    addr: SocketAddr,
    _home: TempDir,
}

/// Returns the path of the program in an environment variable; `None` if it is not set. The `data` folder of its
/// release must be beside the program.
pub fn old_server(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

impl OldServer {
    /// Starts the program at `path`. Both releases accept 16 clients; the limit of 0.6.5 for old clients is lifted.
    pub fn start(path: &Path) -> Result<Self> {
        let home = home("old-server")?;
        let (program, addr) = on_free_port("a server of 0.6", |port| Self::launch(path, home.path(), port))?;
        Ok(Self {
            program,
            addr,
            _home: home,
        })
    }

    fn launch(path: &Path, home: &Path, port: u16) -> Result<Option<Program>> {
        let folder = path.parent().context("the path of the server has no folder")?;
        // The program finds its data in the working directory.
        let launch = Launch::new("teeworlds_srv", path, folder).env("HOME", home);
        let settings = [
            "bindaddr 127.0.0.1",
            "sv_register 0",
            "sv_map dm1",
            "sv_max_clients 16",
            "sv_max_clients_per_ip 16",
            "sv_old_clients_per_interval 100000",
        ];
        let port = format!("sv_port {port}");
        let program = settings
            .iter()
            .chain([&port.as_str()])
            .fold(launch, Launch::arg)
            .start()?;
        program
            .log()
            .wait_for(r"\[server\]: version 0\.6 |couldn't open socket", PATIENCE)?;
        Ok((!program.log().contains("couldn't open socket")).then_some(program))
    }

    /// Returns the address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops the server.
    pub fn stop(&mut self) -> Result<()> {
        self.program.stop().map(drop)
    }
}

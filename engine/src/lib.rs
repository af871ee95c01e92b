//! A run of teetap in process: the layer between the session core and the programs that show or control a run.
//!
//! ```
//! use std::{net::UdpSocket, thread, time::{Duration, Instant}};
//! use teetap_engine::Builder;
//! use teetap_peer::{Client, ClientConfig, Server, ServerConfig, Variant, token};
//!
//! let (at_server, at_client) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
//! at_server.set_nonblocking(true)?;
//! at_client.set_nonblocking(true)?;
//! let run = Builder::new(at_server.local_addr()?).rules("lose when ctrl.connect once").seed(7).start()?;
//!
//! let mut server = Server::new(ServerConfig::new(1));
//! let mut client = Client::new(ClientConfig::new(Variant::Ddnet, token(2, "tee"), "nameless tee"));
//! let (start, mut buffer) = (Instant::now(), [0; 1400]);
//! while !client.has_joined() && start.elapsed() < Duration::from_secs(20) {
//!     thread::sleep(Duration::from_millis(1));
//!     let now = start.elapsed();
//!     client.tick(now);
//!     server.tick(now);
//!     client.poll_transmit().map(|datagram| at_client.send_to(&datagram, run.addr())).transpose()?;
//!     server.poll_transmit().map(|(to, datagram)| at_server.send_to(&datagram, to)).transpose()?;
//!     if let Ok((len, from)) = at_server.recv_from(&mut buffer) { server.handle(now, from, &buffer[..len]); }
//!     if let Ok(len) = at_client.recv(&mut buffer) { client.handle(now, &buffer[..len]); }
//! }
//! let ended = run.stop("the end").ended.ok_or("the data thread crashed")?;
//! assert!(client.has_joined(), "the client repeats its CONNECT");
//! assert_eq!(ended.report.rules[0].hits.count, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`rules`] | the rules of a run: texts and watched files, compiled as one program |
//! | [`faults`] | the rules and decisions of a journal, for a run that repeats its faults |
//! | [`Builder`], [`Run`] | a proxy in front of a server: its start, its events, its end |
//! | [`Handle`] | carries out commands for a run, and returns their results |
//! | [`control`] | the control socket, over which scripts send commands and subscribe to events |
//! | [`recording`] | the recording of a run: opened before the start, completed at the end |
//!
//! Law: nothing here prints, reads the command line or ends the process. Errors are typed; the caller decides about
//! their wording, colours and exit codes.

mod builder;
mod commands;
pub mod control;
pub mod faults;
mod query;
pub mod recording;
pub mod rules;
mod run;

pub use builder::{Builder, RunError};
pub use commands::{CommandError, Handle, HeldError, MessageError, Origin, Reply, SessionError, StatusLine};
pub use run::{Run, Summary};

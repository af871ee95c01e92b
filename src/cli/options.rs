//! Options: what each is called, and what it says about a run.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, builder::BoolishValueParser};
use teetap_capture::Target;
use teetap_inspect::Verbosity;
use teetap_proxy::io::Listen;
use teetap_rules::syntax::{self, Quantity};
use teetap_wire::{
    Proto,
    def::{Registry, Secrets},
};

use crate::{definitions, exit::Failure};

/// Options of everything that starts a proxy; other commands take some of them.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Where clients connect to; redirects of the server open more ports at that IP address [default: 127.0.0.1:8303, or the next free port]
    #[arg(short, long, value_name = "ADDR:PORT", env = "TEETAP_LISTEN", global = true, value_parser = listen_address, hide_env_values = true)]
    listen: Option<SocketAddr>,

    /// Lets clients of other machines in: needed for a listen address that is not loopback
    #[arg(long, env = "TEETAP_ALLOW_REMOTE", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    allow_remote: bool,

    /// Seed of what rules will decide at random; shown and logged, nothing uses it yet [default: a new one each time, shown at the start]
    #[arg(
        long,
        value_name = "N",
        env = "TEETAP_SEED",
        global = true,
        value_parser = seed,
        hide_env_values = true
    )]
    pub(crate) seed: Option<u64>,

    /// The one protocol that clients may speak; for explain, the one to read the datagram as
    #[arg(
        long,
        value_name = "PROTO",
        env = "TEETAP_PROTO",
        global = true,
        default_value = "auto",
        hide_env_values = true
    )]
    proto: ProtoChoice,

    /// Only warnings, session states and the summary
    #[arg(short, long, env = "TEETAP_QUIET", global = true, value_parser = BoolishValueParser::new(), conflicts_with = "verbose", hide_env_values = true)]
    pub(crate) quiet: bool,

    /// A line per datagram with both legs' numbers and acks; twice: its bytes too, secrets in them included
    #[arg(short, long, env = "TEETAP_VERBOSE", global = true, action = clap::ArgAction::Count, hide_env_values = true)]
    verbose: u8,

    /// One JSON object per line on stdout
    #[arg(long, env = "TEETAP_JSON", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) json: bool,

    /// Shows only messages that match, such as 'c2s and not input' or 'sv_chat.message contains "gg"'; `teetap grep --help`
    /// has all words
    #[arg(
        short,
        long,
        value_name = "EXPR",
        env = "TEETAP_FILTER",
        global = true,
        hide_env_values = true
    )]
    pub(crate) filter: Option<String>,

    /// Ends the run when a message matches
    #[arg(
        long,
        value_name = "EXPR",
        env = "TEETAP_UNTIL",
        global = true,
        hide_env_values = true
    )]
    pub(crate) until: Option<String>,

    /// Ends the run after so long, such as 30s or 5min: exit code 4 when --until has not come
    #[arg(long, value_name = "DUR", env = "TEETAP_TIMEOUT", global = true, value_parser = duration, hide_env_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Shows passwords, rcon commands and codes instead of •••
    #[arg(long, env = "TEETAP_SHOW_SECRETS", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    show_secrets: bool,

    /// Messages and objects of your own, or others than those built in; `teetap messages --form` explains how they are written
    #[arg(
        long,
        value_name = "FILE",
        env = "TEETAP_MESSAGES",
        global = true,
        hide_env_values = true
    )]
    messages: Option<PathBuf>,

    /// Writes every input of the run to a new file, for `teetap replay`; it holds passwords and can only be read by you
    #[arg(
        long,
        value_name = "FILE",
        env = "TEETAP_INPUT_LOG",
        global = true,
        hide_env_values = true
    )]
    pub(crate) input_log: Option<PathBuf>,

    /// Records the run: FILE.pcapng with every datagram, for tshark and `teetap open`, or FILE.jsonl with the lines of
    /// --json -vv, without the items of snapshots, which `teetap open` reads from the bytes. A recording of teetap's that is there is gone on with; it holds passwords and can only be read by you
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "TEETAP_WRITE",
        global = true,
        value_parser = Target::parse,
        hide_env_values = true
    )]
    pub(crate) write: Option<Target>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtoChoice {
    /// All of them
    Auto,
    /// 0.6 without tokens
    #[value(name = "0.6")]
    V6,
    /// 0.6.5 with its token in the header
    #[value(name = "0.6.5")]
    V65,
    /// DDNet's 0.6
    Ddnet,
    /// 0.7
    #[value(name = "0.7")]
    V7,
}

impl Options {
    /// Where to listen.
    ///
    /// # Errors
    /// When the address is not loopback and nobody allowed that.
    pub(crate) fn listen(&self) -> Result<Listen, Failure> {
        match self.listen {
            None => Ok(Listen::Default),
            Some(addr) if self.allow_remote || addr.ip().to_canonical().is_loopback() => Ok(Listen::At(addr)),
            Some(addr) => Err(Failure::usage(format!(
                "listening on {addr} would let other machines in: add --allow-remote if that is wanted"
            ))),
        }
    }

    /// The one protocol; `None` = all.
    pub(crate) fn proto(&self) -> Option<Proto> {
        match self.proto {
            ProtoChoice::Auto => None,
            ProtoChoice::V6 => Some(Proto::V6),
            ProtoChoice::V65 => Some(Proto::V65),
            ProtoChoice::Ddnet => Some(Proto::Ddnet),
            ProtoChoice::V7 => Some(Proto::V7),
        }
    }

    /// The same for all protocols at once.
    pub(crate) fn of_all_protocols(&self) -> Self {
        Self {
            proto: ProtoChoice::Auto,
            ..self.clone()
        }
    }

    /// Whether ordinary traffic is of no interest: neither shown, nor recorded, nor asked about.
    pub(crate) fn sees_only_odd(&self) -> bool {
        self.quiet && self.write.is_none() && self.filter.is_none() && self.until.is_none()
    }

    /// Whether secrets are shown.
    pub(crate) fn secrets(&self) -> Secrets {
        if self.show_secrets {
            Secrets::Show
        } else {
            Secrets::Hide
        }
    }

    /// The definitions of messages.
    ///
    /// # Errors
    /// When those of the user cannot be read.
    pub(crate) fn registry(&self) -> Result<&'static Registry, Failure> {
        definitions::load(self.messages.as_deref())
    }

    /// How much is shown.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match self.verbose {
            0 => Verbosity::Messages,
            1 => Verbosity::Datagrams,
            _ => Verbosity::Bytes,
        }
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a number from 0 to 18446744073709551615".to_owned())
}

/// A number with a unit of time, as in filters.
fn duration(text: &str) -> Result<Duration, String> {
    let number = match syntax::parse(text).map(|expr| expr.kind) {
        Ok(syntax::Kind::Number(number)) => Some(number),
        _ => None,
    };
    number
        .filter(|number| number.quantity() == Quantity::Duration)
        .and_then(|number| u64::try_from(number.value()?).ok())
        .filter(|micros| *micros > 0)
        .map(Duration::from_micros)
        .ok_or_else(|| "write a number and a unit of time, like 500ms, 30s or 5min".to_owned())
}

/// `ADDR:PORT`; `:PORT` is a port of 127.0.0.1.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.to_owned()
    };
    full.parse()
        .map_err(|_| "write an address and a port, like 127.0.0.1:8303, [::1]:8303 or :0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses() {
        assert_eq!(listen_address(":0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(listen_address("[::1]:5").unwrap().to_string(), "[::1]:5");
        assert!(listen_address("8303").is_err() && listen_address("host:1").is_err());
    }
}

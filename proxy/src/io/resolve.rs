//! `HOST[:PORT]` as users write it, and its resolution to an address.
//!
//! Resolving waits for the name server, so it is done before the proxy starts, never on the data thread.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    str::FromStr,
};

use teetap_wire::printable;

use super::listen::DEFAULT_PORT;

/// A server, as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host name or address, without brackets.
    pub host: String,
    /// UDP port, 1..=65535.
    pub port: u16,
}

/// The reason why the name of a server is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The text is empty.
    #[error("the server's address is empty")]
    Empty,
    /// The text after the colon is not a port.
    #[error("invalid port '{0}': expected 1-65535")]
    Port(String),
    /// `[` without `]`, or text after it.
    #[error("invalid IPv6 address '{0}': write it like [::1]:8303")]
    Bracket(String),
    /// The host name contains characters that no host name has.
    #[error("invalid host name '{0}'")]
    Host(String),
    /// The name is unknown to the name server, or there is no name server.
    #[error("cannot resolve '{host}': {error}")]
    Unknown {
        /// The name.
        host: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The name exists but has no address.
    #[error("'{0}' has no address")]
    NoAddress(String),
}

impl FromStr for Target {
    type Err = ResolveError;

    /// Accepts `host`, `host:port`, `1.2.3.4:port`, `[v6]:port`, `[v6]` and a bare IPv6 address. The port is
    /// 8303 if none is given. The form of a DDNet client (`tw-0.7+udp://host:port`) is accepted too.
    fn from_str(text: &str) -> Result<Self, ResolveError> {
        let text = text
            .strip_prefix("tw-0.7+udp://")
            .or_else(|| text.strip_prefix("tw-0.6+udp://"))
            .unwrap_or(text);
        if let Some(inner) = text.strip_prefix('[') {
            let bracket = || ResolveError::Bracket(shown(text));
            let (host, after) = inner.split_once(']').ok_or_else(bracket)?;
            let port = match after.strip_prefix(':') {
                Some(port) => parse_port(port)?,
                None if after.is_empty() => DEFAULT_PORT,
                None => return Err(bracket()),
            };
            let numeric = host.split('%').next().unwrap_or_default();
            if !numeric.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()) {
                return Err(bracket());
            }
            return Ok(Self {
                host: host.to_owned(),
                port,
            });
        }
        let (host, port) = match text.rsplit_once(':') {
            // More than one colon and no bracket: a bare IPv6 address.
            Some((before, _)) if before.contains(':') => (text, DEFAULT_PORT),
            Some((host, port)) => (host, parse_port(port)?),
            None => (text, DEFAULT_PORT),
        };
        check_host(host)?;
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl Target {
    /// Returns the address. If there are several, returns the first IPv4 address, because most servers of the
    /// game speak only IPv4.
    ///
    /// # Errors
    /// [`ResolveError::Unknown`] or [`ResolveError::NoAddress`].
    pub fn resolve(&self) -> Result<SocketAddr, ResolveError> {
        let found: Vec<SocketAddr> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| ResolveError::Unknown {
                host: shown(&self.host),
                error,
            })?
            .collect();
        found
            .iter()
            .find(|addr| addr.is_ipv4())
            .or_else(|| found.first())
            .copied()
            .ok_or_else(|| ResolveError::NoAddress(shown(&self.host)))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Returns a user's text with escapes for everything that a terminal would hide or interpret.
fn shown(text: &str) -> String {
    printable(text.escape_debug().to_string().as_bytes())
}

fn parse_port(text: &str) -> Result<u16, ResolveError> {
    // `parse` alone would accept a plus sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err(ResolveError::Port(shown(text))),
    }
}

fn check_host(host: &str) -> Result<(), ResolveError> {
    if host.is_empty() {
        return Err(ResolveError::Empty);
    }
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    if host.starts_with('-') || !host.chars().all(legal) {
        return Err(ResolveError::Host(shown(host)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        for (text, host, port) in [
            ("example.org", "example.org", 8303),
            ("example.org:8304", "example.org", 8304),
            ("10.0.0.1", "10.0.0.1", 8303),
            ("10.0.0.1:1", "10.0.0.1", 1),
            ("[::1]:8305", "::1", 8305),
            ("[::1]", "::1", 8303),
            ("::1", "::1", 8303),
            ("fe80::1%eth0", "fe80::1%eth0", 8303),
            ("[fe80::1%eth0]:5", "fe80::1%eth0", 5),
            ("tw-0.7+udp://10.0.0.1:8310", "10.0.0.1", 8310),
        ] {
            assert_eq!(
                text.parse::<Target>().unwrap(),
                Target {
                    host: host.into(),
                    port
                },
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_refused_is_refused_in_one_line() {
        for text in [
            "",
            ":8303",
            "host:",
            "host:0",
            "host:65536",
            "host:+1",
            "host:x",
            "[::1",
            "[::1]x",
            "[host]:1",
            "a b",
            "-x",
            "a\n:1",
        ] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(
                !message.is_empty() && !message.contains('\n'),
                "{text:?}: {message}"
            );
        }
    }

    #[test]
    fn names_are_resolved_and_shown() {
        let target: Target = "localhost:5".parse().unwrap();
        assert!(target.resolve().unwrap().ip().is_loopback());
        assert_eq!("::1".parse::<Target>().unwrap().to_string(), "[::1]:8303");
        assert_eq!(
            "::1".parse::<Target>().unwrap().resolve().unwrap().to_string(),
            "[::1]:8303"
        );
    }
}

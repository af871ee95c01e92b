//! Everything that the core is told and that it does, as text.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex},
};

use teetap_kit::world::HubObserver;
use teetap_proxy::io::input_log::Recorder;
use teetap_proxy::session::{Datagram, Event, EventKind, Input, Output, Time};

/// The text of a walk.
pub(crate) type Text = Arc<Mutex<String>>;

#[derive(Debug)]
pub(crate) struct Diary {
    pub(crate) text: Text,
    /// The input log of a recorded walk.
    pub(crate) log: Option<Recorder>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// Writes all fields of a datagram.
fn datagram_line(text: &mut String, event: &Event, datagram: &Datagram) -> fmt::Result {
    let Datagram {
        dir,
        proto,
        origin,
        leg,
        ordinal,
        ends,
        placed,
        link,
        notes,
        ..
    } = datagram;
    write!(
        text,
        "{} {:?} {dir} {proto:?} {origin} {leg:?} {ordinal} {} {} {:?} {placed:?} {link:?} {notes:?} {}",
        event.at,
        event.session,
        ends.client.map_or(0, |addr| addr.port()),
        ends.upstream.map_or(0, |upstream| upstream.0),
        (ends.listen_port, ends.server_port),
        datagram.received().map_or_else(String::new, hex),
    )?;
    for sent in datagram.sent() {
        write!(text, " -> {}", hex(sent))?;
    }
    text.write_char('\n')
}

impl HubObserver for Diary {
    fn input(&mut self, at: Time, input: &Input<'_>) {
        if let Some(log) = &mut self.log {
            log.begin(at, input);
        }
        let mut text = self.text.lock().unwrap();
        let _infallible = match input {
            // The world reports the time at each of its steps.
            Input::Timeout => Ok(()),
            Input::FromClient {
                listener,
                addr,
                bytes,
            } => writeln!(text, "{at} < {} {addr} {}", listener.0, hex(bytes)),
            Input::FromServer { upstream, bytes } => {
                writeln!(text, "{at} < server {} {}", upstream.0, hex(bytes))
            }
            Input::Program(program) => writeln!(
                text,
                "{at} < {:?}",
                program.as_ref().map(|program| program.source())
            ),
            Input::Command { id, command } => writeln!(text, "{at} < {id:?} {command:?}"),
            // The results of the others tell which they were.
            _ => writeln!(text, "{at} <"),
        };
    }

    fn output(&mut self, output: &Output<'_>) {
        if let Some(log) = &mut self.log {
            log.output(output);
        }
        let mut text = self.text.lock().unwrap();
        let _infallible = match output {
            Output::ToServer { upstream, bytes } => writeln!(text, "> server {} {}", upstream.0, hex(bytes)),
            Output::ToClient {
                listener,
                addr,
                bytes,
            } => writeln!(text, "> {} {addr} {}", listener.0, hex(bytes)),
            Output::Event(event) => {
                if let EventKind::Notice(notice) = &event.what {
                    let _infallible = writeln!(text, "{notice}");
                }
                match &event.what {
                    EventKind::Datagram(datagram) => datagram_line(&mut text, event, datagram),
                    _ => writeln!(text, "{event:?}"),
                }
            }
            other => writeln!(text, "> {other:?}"),
        };
    }
}

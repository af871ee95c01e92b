//! The effects of link lines on the datagrams of an event, in words.

use std::fmt;

use teetap_proxy::session::{Connless, Datagram, Transit};

/// The words, from a comma on; empty when nothing was done.
///
/// `, link: delayed 41.2 ms; duplicate: lost (loss)`
pub(crate) struct Transits<'a> {
    link: &'a [Transit],
    /// True if the event has more than one datagram that was sent.
    has_several: bool,
}

impl<'a> Transits<'a> {
    pub(crate) fn of(datagram: &'a Datagram) -> Self {
        Self {
            link: &datagram.link,
            has_several: datagram.sent().nth(1).is_some(),
        }
    }

    pub(crate) const fn of_connless(connless: &'a Connless) -> Self {
        Self {
            link: &connless.link,
            has_several: false,
        }
    }
}

impl fmt::Display for Transits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, transit) in self.link.iter().enumerate() {
            f.write_str(if at == 0 { ", link: " } else { "; " })?;
            if self.has_several {
                write!(f, "datagram {} of it: ", transit.datagram + 1)?;
            }
            if transit.duplicate {
                f.write_str("duplicate: ")?;
            }
            one(f, transit)?;
        }
        Ok(())
    }
}

fn one(f: &mut fmt::Formatter<'_>, transit: &Transit) -> fmt::Result {
    if let Some(lost) = transit.lost {
        return write!(f, "lost ({lost})");
    }
    let micros = transit.delay.as_micros();
    write!(f, "delayed {}.{} ms", micros / 1000, micros / 100 % 10)?;
    if transit.reordered {
        f.write_str(", ahead of others")?;
    }
    match &*transit.corrupted {
        [] => Ok(()),
        [bit] => write!(f, ", bit {bit} flipped"),
        bits => write!(f, ", {} bits flipped", bits.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use teetap_proxy::session::Origin;
    use teetap_rules::impair::Lost;
    use teetap_wire::{Dir, Proto};

    use super::*;

    #[test]
    fn the_words_name_each_effect() {
        let late = Transit {
            delay: Duration::from_micros(41_250),
            ..Transit::default()
        };
        let odd = Transit {
            duplicate: true,
            reordered: true,
            corrupted: [9].into(),
            ..Transit::default()
        };
        let lost = Transit {
            datagram: 1,
            lost: Some(Lost::Queue),
            ..Transit::default()
        };
        let text = |sent: &[&[u8]], link: &[Transit]| {
            let sent = sent.iter().copied();
            let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, b"x", sent);
            datagram.link = link.into();
            Transits::of(&datagram).to_string()
        };
        assert_eq!(text(&[b"x"], &[]), "");
        assert_eq!(
            text(&[b"x"], &[late.clone(), odd]),
            ", link: delayed 41.2 ms; duplicate: delayed 0.0 ms, ahead of others, bit 9 flipped"
        );
        assert_eq!(
            text(&[b"x", b"y"], &[late, lost]),
            ", link: datagram 1 of it: delayed 41.2 ms; datagram 2 of it: lost (queue)"
        );
    }
}

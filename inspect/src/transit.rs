//! Effects of link lines on the datagrams of an event, in words.

use std::fmt;

use teetap_proxy::session::{Connless, Datagram, EventKind, Transit};

use crate::after::bits_text;

/// Displays the effects of link lines, starting with a comma; empty if there are none.
///
/// `, link: delayed 41.2 ms; duplicate: lost (loss)`
#[derive(Clone, Copy, Debug)]
pub struct Transits<'a> {
    link: &'a [Transit],
    /// Number of datagrams sent because of the event.
    count: usize,
}

impl<'a> Transits<'a> {
    /// Returns the effects on the datagrams of an event; `None` if the event has no datagram.
    #[must_use]
    pub fn of_event(what: &'a EventKind) -> Option<Self> {
        match what {
            EventKind::Datagram(datagram) => Some(Self::from_datagram(datagram)),
            EventKind::Connless(connless) => Some(Self::of_connless(connless)),
            _ => None,
        }
    }

    pub(crate) fn from_datagram(datagram: &'a Datagram) -> Self {
        Self {
            link: &datagram.link,
            count: datagram.sent().count(),
        }
    }

    /// Returns true if link lines lost all datagrams and all their duplicates.
    #[must_use]
    pub fn are_lost(&self) -> bool {
        let is_lost = |number| {
            let mut of_one = self
                .link
                .iter()
                .filter(|transit| usize::from(transit.datagram) == number);
            // A datagram that was sent at once and unchanged has no record, even if its duplicate has one.
            of_one.clone().any(|transit| !transit.duplicate) && of_one.all(|transit| transit.lost.is_some())
        };
        self.count > 0 && (0..self.count).all(is_lost)
    }

    /// Returns the effects in words, such as `link: lost (loss)`; empty if there are none.
    #[must_use]
    pub fn words(&self) -> String {
        self.to_string().trim_start_matches(", ").to_owned()
    }

    pub(crate) const fn of_connless(connless: &'a Connless) -> Self {
        Self {
            link: &connless.link,
            count: 1,
        }
    }
}

impl fmt::Display for Transits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, transit) in self.link.iter().enumerate() {
            f.write_str(if at == 0 { ", link: " } else { "; " })?;
            if self.count > 1 {
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
        bits => write!(f, ", corrupt: {}", bits_text(bits).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use teetap_proxy::session::Origin;
    use teetap_rules::impair::Lost;
    use teetap_wire::{Dir, Proto};

    use super::*;

    fn datagram(sent: &[&[u8]], link: &[Transit]) -> Datagram {
        let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, b"x", sent.iter().copied());
        datagram.link = link.into();
        datagram
    }

    #[test]
    fn a_datagram_is_lost_with_all_its_duplicates_and_parts() {
        let [lost, late] = [Some(Lost::Queue), None].map(|lost| Transit {
            lost,
            ..Transit::default()
        });
        let second = |transit: &Transit| Transit {
            datagram: 1,
            ..transit.clone()
        };
        let copy = |transit: &Transit| Transit {
            duplicate: true,
            ..transit.clone()
        };
        let (one, two): (&[&[u8]], &[&[u8]]) = (&[b"x"], &[b"x", b"y"]);
        for (sent, link, are_lost) in [
            (one, vec![], false),
            (one, vec![lost.clone()], true),
            (one, vec![late.clone()], false),
            (one, vec![lost.clone(), copy(&lost)], true),
            (one, vec![lost.clone(), copy(&late)], false),
            (two, vec![lost.clone()], false),
            (two, vec![lost.clone(), second(&late)], false),
            (two, vec![lost.clone(), second(&lost)], true),
            (&[], vec![], false),
        ] {
            let datagram = datagram(sent, &link);
            assert_eq!(
                Transits::from_datagram(&datagram).are_lost(),
                are_lost,
                "{sent:?} {link:?}"
            );
        }
    }

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
            let datagram = datagram(sent, link);
            let transits = Transits::from_datagram(&datagram);
            assert_eq!(transits.words(), transits.to_string().trim_start_matches(", "));
            transits.to_string()
        };
        assert_eq!(text(&[b"x"], &[]), "");
        assert_eq!(
            text(&[b"x"], &[late.clone(), odd]),
            ", link: delayed 41.2 ms; duplicate: delayed 0.0 ms, ahead of others, corrupt: bit 9"
        );
        assert_eq!(
            text(&[b"x", b"y"], &[late, lost]),
            ", link: datagram 1 of it: delayed 41.2 ms; datagram 2 of it: lost (queue)"
        );
    }
}

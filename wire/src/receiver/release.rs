//! The releases of the game with known checks, and the identification of a peer's release.

use std::fmt;

use strum::VariantArray as _;

use crate::Proto;

/// A release whose source code the table was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray)]
pub enum Release {
    /// Teeworlds 0.6.4. Older releases of 0.6 check no acks.
    Teeworlds064,
    /// Teeworlds 0.6.5.
    Teeworlds065,
    /// Teeworlds 0.7.5.
    Teeworlds075,
    /// DDNet 16.4, before 19.4 added checks of whole datagrams.
    Ddnet16,
    /// DDNet 20.1.
    Ddnet20,
}

impl Release {
    /// All releases, oldest first.
    pub(super) const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name and number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Teeworlds064 => "Teeworlds 0.6.4",
            Self::Teeworlds065 => "Teeworlds 0.6.5",
            Self::Teeworlds075 => "Teeworlds 0.7.5",
            Self::Ddnet16 => "DDNet 16.4",
            Self::Ddnet20 => "DDNet 20.1",
        }
    }

    /// Returns true for a release of DDNet.
    #[must_use]
    pub const fn is_ddnet(self) -> bool {
        matches!(self, Self::Ddnet16 | Self::Ddnet20)
    }

    /// Returns the size in bytes of the buffer for a clear payload (`m_aChunkData` in each network.h).
    pub(super) const fn room(self) -> usize {
        match self {
            Self::Teeworlds064 | Self::Ddnet16 => 1394,
            Self::Teeworlds065 => 1390,
            Self::Teeworlds075 => 1391,
            Self::Ddnet20 => 1397,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The facts about a peer that may reveal its release.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// The protocol of its leg.
    pub proto: Proto,
    /// The number in `client_version`, such as 16040; `None` if none was sent.
    pub client_version: Option<i32>,
    /// The version in its reply to a server browser, such as `0.6.5` or `0.6, 16.4`.
    pub version: Option<&'a str>,
    /// True if it wrote its token into an ACCEPT of 0.7, or `TKEN` into a CONNECT of 0.7, as only DDNet does.
    pub is_ddnet: bool,
}

/// The release of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identified {
    /// The release whose checks apply.
    pub release: Release,
    /// True if the exact release is unknown or not listed, so that the nearest listed release is assumed.
    pub assumed: bool,
}

/// The version number of the first DDNet release that checks the framing of whole datagrams (19.4).
const CHECKS_FORM: i32 = 19_040;

/// Returns the release of a peer.
#[must_use]
pub fn identify(signs: &Signs<'_>) -> Identified {
    let named = signs.version.and_then(teeworlds);
    let ddnet = signs
        .client_version
        .or_else(|| signs.version.and_then(ddnet_number));
    if let Some(number) = ddnet.filter(|number| *number > 0) {
        let (release, exact) = if number < CHECKS_FORM {
            (Release::Ddnet16, 16_040)
        } else {
            (Release::Ddnet20, 20_010)
        };
        return Identified {
            release,
            assumed: number != exact,
        };
    }
    if let Some(release) = named.filter(|_| !signs.is_ddnet) {
        return Identified {
            release,
            assumed: false,
        };
    }
    let release = match signs.proto {
        Proto::Ddnet => Release::Ddnet20,
        _ if signs.is_ddnet => Release::Ddnet20,
        Proto::V6 => Release::Teeworlds064,
        Proto::V65 => Release::Teeworlds065,
        Proto::V7 => Release::Teeworlds075,
    };
    // A 0.6.5 header token is written by that release alone.
    let assumed = signs.proto != Proto::V65;
    Identified { release, assumed }
}

fn teeworlds(version: &str) -> Option<Release> {
    match version.trim() {
        "0.6.4" => Some(Release::Teeworlds064),
        "0.6.5" => Some(Release::Teeworlds065),
        "0.7.5" => Some(Release::Teeworlds075),
        _ => None,
    }
}

/// Reads the number of a DDNet release from `0.6, 16.4` or `0.6.4, 15.9.1`: two digits for each part after the first.
fn ddnet_number(version: &str) -> Option<i32> {
    let (_, release) = version.split_once(',')?;
    let mut parts = release.trim().split('.').map(str::parse::<i32>);
    let mut next = || parts.next().map_or(Some(0), Result::ok);
    let (major, minor, patch) = (next()?, next()?, next()?);
    let number = |part: i32, max| (0..max).contains(&part).then_some(part);
    Some(number(major, 1000)? * 1000 + number(minor, 100)? * 10 + number(patch, 10)?)
}

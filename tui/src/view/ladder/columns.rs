//! The columns of a line of the ladder.

use ratatui::layout::Rect;
use teetap_wire::Side;

/// Width of the mark and the time.
pub(super) const TIME: u16 = 10;

/// Width of an arrow with its spaces.
const ARROW: u16 = 4;

/// Columns of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    area: Rect,
    /// Width of the numbers of a leg.
    leg: u16,
    /// True if sizes are shown, too.
    sizes: bool,
}

impl Columns {
    pub(super) const fn for_area(area: Rect) -> Self {
        let (leg, sizes) = match area.width {
            ..70 => (12, false),
            70..110 => (14, false),
            _ => (20, true),
        };
        Self { area, leg, sizes }
    }

    /// Returns the area for the numbers of a leg.
    pub(super) fn leg(&self, side: Side) -> Rect {
        let left = match side {
            Side::Client => TIME,
            Side::Server => self.area.width.saturating_sub(self.leg),
        };
        self.part(left, self.leg)
    }

    /// Returns the area for the arrow between a leg and the proxy.
    pub(super) fn arrow(&self, side: Side) -> Rect {
        let left = match side {
            Side::Client => TIME + self.leg,
            Side::Server => self.area.width.saturating_sub(self.leg + ARROW),
        };
        self.part(left, ARROW)
    }

    /// Returns the area for the proxy.
    pub(super) fn middle(&self) -> Rect {
        let left = TIME + self.leg + ARROW;
        self.part(left, self.area.width.saturating_sub(left + ARROW + self.leg))
    }

    fn part(&self, left: u16, width: u16) -> Rect {
        let part = Rect {
            x: self.area.x + left,
            width,
            ..self.area
        };
        part.intersection(self.area)
    }
}

/// Aligns the texts of a leg in their columns: numbers, ack and size.
pub(super) fn cell_text(seq: &str, ack: &str, len: &str, columns: Columns) -> String {
    let width = usize::from(columns.leg);
    if columns.sizes {
        return format!("{seq:>9} {ack:>4} {len:>5}");
    }
    format!("{seq:>0$} {ack:>4}", width - 5)
}

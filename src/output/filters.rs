//! The filters of an output, and a decoder for it.

use teetap_inspect::{Decoder, Style, Viewer};
use teetap_rules::Filter;
use teetap_wire::def::Registry;

/// The filters of an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    /// Selects the messages that are shown.
    pub(crate) show: Option<Filter>,
    /// Matches the message that ends the run, shown or not.
    pub(crate) until: Option<Filter>,
    /// Matches a message that must not be received, shown or not.
    pub(crate) fail_on: Option<Filter>,
    /// Match messages around which the run is recorded.
    pub(crate) save_on: Vec<Filter>,
}

/// Returns a decoder of events for an output.
pub(crate) fn decoder(style: Style, registry: &'static Registry, filters: &Filters) -> Decoder {
    let mut decoder = Decoder::new(registry);
    if style.json {
        decoder.ignore_gists();
    }
    if !style.items {
        decoder.ignore_items();
    }
    if style.since {
        decoder.follow_changes();
    }
    if style.matches_only {
        decoder.ignore_sessions();
    }
    if style.viewer == Viewer::Everything {
        decoder.decode_everything();
    }
    if let Some(filter) = &filters.show {
        decoder.show_only(filter.clone());
    }
    if let Some(until) = &filters.until {
        decoder.wait_for(until.clone());
    }
    if let Some(fail_on) = &filters.fail_on {
        decoder.fail_on(fail_on.clone());
    }
    if !filters.save_on.is_empty() {
        decoder.save_on(filters.save_on.clone());
    }
    decoder
}

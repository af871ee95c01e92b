//! Fields of JSON objects from a control socket.

use serde_json::Value;
use teetap_wire::printable;

/// Returns the elements of a list; none if the field is missing or no list.
pub(super) fn list<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    object[field].as_array().into_iter().flatten()
}

/// Returns the text of a field; empty if the field is missing or no text.
pub(super) fn text(object: &Value, field: &str) -> String {
    object[field]
        .as_str()
        .map(|text| printable(text.as_bytes()))
        .unwrap_or_default()
}

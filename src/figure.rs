//! Results of control commands that have no form of their own.

use serde_json::Value;

/// Returns the name and the value of a result as texts.
pub(crate) fn figure(name: &str, value: &Value) -> [String; 2] {
    let value = match value {
        Value::Object(parts) => {
            let parts = parts.iter().map(|(name, value)| format!("{name} {value}"));
            parts.collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    };
    [name.replace('_', " "), value]
}

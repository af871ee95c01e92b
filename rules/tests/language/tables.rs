//! Rows of the language's tables: the words of truth, the operators after a comparison, and the usual values of
//! each field.

use std::collections::BTreeMap;

use teetap_rules::Filter;
use teetap_wire::Proto;
use teetap_wire::def::{Class, Datum, Dialect, Registry, Repeat, Type};

use crate::subject::Case;

/// Returns the codes of all diagnostics.
fn codes(text: &str) -> Vec<&'static str> {
    let diagnostics = match Filter::parse(text, Registry::builtin()) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    };
    diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code.name())
        .collect()
}

#[test]
fn each_word_of_truth_compares_with_facts_and_fields() {
    let case = |team| {
        let fields = [("team", Datum::Int(team)), ("message", "x".into())];
        Case::new(Proto::V6, "cl_say", &fields)
    };
    let values = [
        ("pkt.resend", true, 0),
        ("cl_say.team", true, 1),
        ("cl_say.team", false, 0),
    ];
    for (value, holds, team) in values {
        for (word, means) in [("true", true), ("yes", true), ("false", false), ("no", false)] {
            for (sign, negates) in [("==", false), ("!=", true)] {
                let text = format!("{value} {sign} {word}");
                let wanted = (holds == means) != negates;
                assert_eq!(case(team).value(&text), Some(wanted), "{text} of {holds}");
            }
        }
        assert_eq!(case(team).value(&format!("not {value}")), Some(!holds), "{value}");
    }
}

#[test]
fn no_operator_follows_a_comparison() {
    for first in ["pkt.size == 1", "pkt.size < 1", "\"a\" matches /a/"] {
        for sign in ["==", "!=", "<", "<=", ">", ">=", "contains", "matches", "in"] {
            let text = format!("{first} {sign} 2");
            assert_eq!(codes(&text), ["E009"], "{text}");
        }
    }
}

/// A value is unusual if no message or object with this name and field has it in its range.
#[test]
fn a_value_is_unusual_only_if_it_is_in_the_range_of_no_dialect() {
    let registry = Registry::builtin();
    let mut ranges: BTreeMap<(String, String), Vec<(i64, i64)>> = BTreeMap::new();
    for def in Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect))
    {
        if matches!(def.class, Class::Object) {
            continue;
        }
        for field in &def.fields {
            let is_plain = field.ty == Type::Int && field.repeat == Repeat::One && !field.name.contains('.');
            let range = if is_plain {
                (field.bounds.min, field.bounds.max)
            } else {
                (i64::MIN, i64::MAX)
            };
            ranges
                .entry((def.name.to_string(), field.name.to_string()))
                .or_default()
                .push(range);
        }
    }
    let mut differ = 0;
    for ((message, field), ranges) in ranges {
        let is_bounded = |(min, max): &(i64, i64)| *min > i64::from(i32::MIN) && *max < i64::from(i32::MAX);
        if !ranges.iter().all(is_bounded) || !ranges.iter().any(|range| *range != ranges[0]) {
            continue;
        }
        differ += 1;
        for value in ranges
            .iter()
            .flat_map(|(min, max)| [min - 1, *min, *max, max + 1])
        {
            let text = format!("{message}.{field} == {value}");
            let is_usual = ranges.iter().any(|(min, max)| (*min..=*max).contains(&value));
            let found = codes(&text);
            assert_eq!(found.contains(&"W302"), !is_usual, "{text}: {ranges:?} {found:?}");
        }
    }
    assert!(differ > 0, "no field has different ranges");
}

//! Lists of the words of the language.

/// Words with which actions begin.
pub(crate) const ACTIONS: [&str; 22] = [
    "pass", "drop", "lose", "delay", "dup", "reorder", "swap", "corrupt", "set", "replace", "inject",
    "reply", "hold", "pause", "stall", "log", "mark", "close", "var", "fail", "expect", "exit",
];

/// Words that follow the condition of a rule, in the order of [`RuleStep`](super::RuleStep).
pub(crate) const MODIFIERS: [&str; 11] = [
    "from", "to", "after", "until", "skip", "every", "chance", "first", "once", "max", "per",
];

/// Words that are operators, which cannot be names if an operand is expected.
pub(crate) const OPERATORS: [&str; 6] = ["and", "or", "not", "contains", "matches", "in"];

/// Parameters and modifiers of a link line.
pub(crate) const LINK_WORDS: [&str; 14] = [
    "delay",
    "jitter",
    "loss",
    "dup",
    "reorder",
    "corrupt",
    "rate",
    "queue",
    "blackhole",
    "connless",
    "from",
    "to",
    "after",
    "until",
];

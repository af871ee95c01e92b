//! Words of other tools and of everyday English, with what to type for them.
//!
//! Law: no row has a word of the language at its place, so that a row never replaces a meaning. The first quoted text of
//! a row is what to type.

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the start of a rule.
    Action,
    /// In place of a condition or a value.
    Condition,
    /// In place of a condition of a filter, which sees what was done to a message.
    Filter,
    /// Before the dot of a path, such as the protocol of another tool.
    Head,
    /// Between two values, or after a condition.
    Operator,
    /// After the condition of a rule.
    Modifier,
    /// In a link line.
    Link,
    /// In place of the direction of a link line.
    Direction,
    /// After the name of a message and a dot.
    Field,
    /// Before a bracket.
    Function,
    /// After a number.
    Unit,
}

/// Words at a place, and what to type for them.
type Row = (Place, &'static [&'static str], &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Place::Action, &["block", "deny", "reject", "discard", "ignore", "kill", "remove", "delete", "filter", "suppress",
        "swallow", "eat", "prevent", "forbid", "cut", "lost", "lösche", "verwerfe", "blockiere"], "`drop`"),
    (Place::Action, &["kick", "ban", "disconnect", "terminate", "abort", "quit", "reset", "hangup", "leave"],
        "`close`, as in `close client \"bye\"`"),
    (Place::Action, &["duplicate", "copy", "repeat", "clone", "double", "twice", "replay", "resend", "retransmit"], "`dup`"),
    (Place::Action, &["latency", "lag", "wait", "sleep", "slow", "defer", "postpone", "delayed", "ping",
        "verzögere", "warte"],
        "`delay`, as in `delay 80ms when input`"),
    (Place::Action, &["print", "echo", "show", "alert", "notify", "debug", "warn", "trace", "report", "display",
        "puts", "printf", "record", "capture", "dump", "count", "zeige"], "`log`"),
    (Place::Action, &["allow", "accept", "permit", "forward", "continue", "keep", "return", "whitelist", "ok"], "`pass`"),
    (Place::Action, &["modify", "edit", "change", "rewrite", "alter", "update", "assign", "overwrite", "patch", "tamper",
        "ändere", "setze"],
        "`set`, as in `set sv_chat.message = \"text\" when sv_chat`"),
    (Place::Action, &["substitute", "sub", "sed", "gsub", "s", "ersetze"],
        "`replace`, as in `replace sv_chat.message /a/ with \"b\" when sv_chat`"),
    (Place::Action, &["send", "insert", "add", "spoof", "create", "emit", "make", "generate", "fake", "push", "sende"],
        "`inject`, as in `inject s2c sv_chat{message: \"hi\"} every 5s`"),
    (Place::Action, &["say", "chat", "broadcast"],
        "`inject s2c sv_chat{message: \"hi\"} every 5s`; to report a text it is `log \"hi\"`"),
    (Place::Action, &["answer", "respond", "response"], "`reply`, as in `reply sv_chat{message: \"hi\"} when cl_say`"),
    (Place::Action, &["buffer", "queue", "intercept", "catch", "breakpoint", "break"],
        "`pause`, which holds the message until a command releases it"),
    (Place::Action, &["freeze", "hang", "blackout", "block_all", "stop_all"], "`stall 3s`"),
    (Place::Action, &["mangle", "fuzz", "garble", "bitflip", "flip", "damage", "mutate", "scramble", "randomize"],
        "`corrupt 3 bits`"),
    (Place::Action, &["shuffle", "misorder", "permute"], "`reorder 4`, or `swap` for two neighbours"),
    (Place::Action, &["throttle", "limit", "bandwidth", "ratelimit", "shape", "speed"],
        "`link both rate 2mbit`; for single messages it is `drop when input max 20 per 1s`"),
    (Place::Action, &["assert", "require", "await", "check", "verify", "ensure", "must"],
        "`expect`, as in `expect sv_motd within 5s`"),
    (Place::Action, &["stop", "end", "halt", "finish", "die"], "`exit 0`, which ends the run"),
    (Place::Action, &["error", "failure", "throw", "raise", "panic"], "`fail`, as in `fail \"no answer\" when close`"),
    (Place::Action, &["tag", "label", "color", "colour", "highlight", "flag", "comment"], "`mark`"),
    (Place::Action, &["increment", "store", "save", "remember", "const", "define", "global"],
        "`var $count = 1`, or `let name = CONDITION` for a condition with a name"),
    (Place::Action, &["include", "import", "load", "require_file"],
        "`-R one.tap -R two.tap` on the command line: a file includes no other"),
    (Place::Action, &["network", "net", "netem", "tc", "qdisc", "wire", "impair"], "`link both delay 40ms`"),
    (Place::Action, &["blackhole"], "`link both blackhole from 10s to 15s`"),
    (Place::Action, &["iptables", "nft", "ufw", "pfctl", "ipfw"], "`drop when s2c`, or `drop when sv_chat` for one message"),
    (Place::Action, &["timeout"], "`link both blackhole from 10s`, after which the peers time out"),

    (Place::Condition, &["ip", "addr", "address", "host", "src", "dst", "port", "source", "destination",
        "endpoint", "peer", "saddr", "daddr", "sport", "dport"],
        "`sess.client == \"127.0.0.1:52000\"` for the address of the client"),
    (Place::Condition, &["time", "timestamp", "elapsed", "age", "seconds", "uptime", "now", "clock"],
        "`t` for the time in the session, as in `t > 5s`"),
    (Place::Condition, &["len", "length", "size", "bytes", "datalen", "payload_size", "bigger", "larger"],
        "`pkt.size` for the size of the datagram, as in `pkt.size > 100`"),
    (Place::Condition, &["seq", "sequence", "seqno", "seq_no", "seqnum", "sequence_number"], "`pkt.seq`, as in `pkt.seq == 5`"),
    (Place::Condition, &["ack", "acks", "acked", "ackno"], "`pkt.ack`, as in `pkt.ack == 5`"),
    (Place::Condition, &["flags", "flag", "compression"], "`pkt.flags contains compression`"),
    (Place::Condition, &["chunks", "num_chunks", "numchunks", "chunk", "chunk_count"], "`pkt.chunks`, as in `pkt.chunks > 1`"),
    (Place::Condition, &["rtt", "latency", "lag", "delay", "jitter", "roundtrip", "round_trip"],
        "`sess.rtt`, as in `sess.rtt > 80ms`"),
    (Place::Condition, &["player", "players", "nick", "nickname", "playername", "player_name", "username", "user", "who", "tee"],
        "`sess.name == \"nameless tee\"` for the player of the session"),
    (Place::Condition, &["name"],
        "`sess.name == \"nameless tee\"` for the player of the session; a message is its name alone, such as `sv_chat`"),
    (Place::Condition, &["msgtype", "msg_type", "msg_name", "message_name", "type", "kind", "msg", "msgid", "msg_id"],
        "`sv_chat`, the name of a message alone; the name of the player is `sess.name`"),
    (Place::Condition, &["session", "sessions", "sid", "session_id", "conn", "connection", "stream", "flow", "id"],
        "`sess.id == 1`"),
    (Place::Condition, &["proto", "protocol", "dialect", "variant"], "`sess.proto == \"0.7\"`"),
    (Place::Condition, &["state", "status", "online"], "`sess.state == online`"),
    (Place::Condition, &["dir", "direction", "way", "sender", "receiver", "incoming", "outgoing", "out", "inbound",
        "outbound", "sent", "received", "recv", "rx", "tx", "egress", "ingress", "leg_dir"],
        "`c2s` for messages to the server, or `s2c` for messages to the client"),
    (Place::Condition, &["client", "clients", "cl", "from_client", "fromclient", "client_to_server", "client2server",
        "to_server", "toserver", "up", "upstream", "upload", "cs", "c_s", "ctos"], "`c2s` for messages from the client"),
    (Place::Condition, &["server", "servers", "sv", "srv", "from_server", "fromserver", "server_to_client", "server2client",
        "to_client", "toclient", "down", "downstream", "download", "sc", "s_c", "stoc"], "`s2c` for messages from the server"),
    (Place::Condition, &["both", "everything", "anything", "always", "true", "all", "any", "every", "messages", "message_any",
        "packet", "packets", "datagram", "datagrams", "traffic", "each", "star", "udp", "tcp", "alles"],
        "`c2s or s2c`, which matches every message"),
    (Place::Condition, &["handshake", "handshakes", "control", "controls", "ctl", "ctrlmsg"], "`ctrl`, the control messages"),
    (Place::Condition, &["system", "netmsg"], "`sys`"),
    (Place::Condition, &["ingame", "gamemsg", "netmsgtype"], "`game`"),
    (Place::Condition, &["snapshot", "snapshots", "snaps", "anysnap", "gamestate", "world"], "`any_snap`"),
    (Place::Condition, &["resent", "retransmit", "retransmitted", "retransmission", "retransmissions", "resends", "retry",
        "duplicate", "duplicates", "dup", "again", "repeated"], "`resend`"),
    (Place::Condition, &["reliable", "acknowledged", "important"], "`vital`"),
    (Place::Condition, &["unreliable", "nonvital", "unvital", "non_vital"], "`not vital`"),
    (Place::Condition, &["warning", "warnings", "note", "notes", "oddity", "oddities", "odd", "strange", "suspicious",
        "wrong", "issue", "problem", "lints"], "`lint`, which matches messages with a warning or an error"),
    (Place::Condition, &["errors", "bad", "invalid", "broken", "corrupt", "corrupted", "unreadable", "failed", "failure"],
        "`malformed`, which matches messages with an error"),
    (Place::Filter, &["dropped", "blocked"], "`action == drop`"),
    (Place::Filter, &["lost"], "`link.lost`, or `action == lose` for a rule"),
    (Place::Filter, &["changed", "edited", "modified", "replaced"], "`action == edit`"),
    (Place::Filter, &["delayed"], "`action == delay` for a rule, or `link.delay > 0ms` for a link line"),
    (Place::Filter, &["held"], "`action == hold`"),
    (Place::Filter, &["injected"], "`action == inject`"),
    (Place::Filter, &["rules", "matched", "hit"], "`touched`, or `rule == \"name\"` for one rule"),
    (Place::Condition, &["dropped", "lost", "changed", "edited", "modified", "delayed", "injected", "rules", "matched",
        "hit", "held", "replaced", "blocked"],
        "`log` or `mark` in the rule, which reports what it does: conditions see messages as they came"),
    (Place::Condition, &["browser", "serverbrowser", "master", "masterserver", "connectionless", "serverinfo"], "`connless`"),
    (Place::Condition, &["chat", "chats", "say", "talk", "saychat", "chatmsg"],
        "`sv_chat` for chat to the client, or `cl_say` for chat to the server"),
    (Place::Condition, &["kick", "ban", "disconnect", "leave", "quit", "part", "bye", "timeout", "closed", "exit"],
        "`ctrl.close`"),
    (Place::Condition, &["join", "login", "joined", "entered", "spawned", "connected"],
        "`enter_game`, which a client sends last in its join"),
    (Place::Condition, &["inputs", "key", "keys", "keyboard", "move", "movement"], "`input`"),
    (Place::Condition, &["crc", "checksum"], "`snap.crc_ok`, as in `any_snap and not snap.crc_ok`"),
    (Place::Condition, &["tick", "ticks", "gametick"], "`snap.tick`, as in `snap.tick > 1000`"),
    (Place::Condition, &["nth", "number", "num", "index", "count", "counter", "occurrence", "no"],
        "`n`, as in `sv_chat and n == 3`"),
    (Place::Condition, &["random", "rand", "chance", "probability", "prob", "percent"],
        "`chance 5%` after the condition of a rule"),
    (Place::Condition, &["contains", "matches", "search", "find", "grep", "text", "string", "body", "content", "regex"],
        "`\"gg\"` to search all fields, or `sv_chat.message contains \"gg\"`"),
    (Place::Condition, &["frames", "frame_number", "packet_number", "pktno", "line"], "`frame == 12`"),

    (Place::Condition, &["emote", "emotes", "emoticon", "emoji"], "`sv_emoticon`, or `cl_emoticon` of the client"),
    (Place::Condition, &["tw7", "v7", "seven", "vanilla"], "`sess.proto == \"0.7\"`"),
    (Place::Condition, &["tw", "tw6", "v6", "teeworlds"], "`sess.proto == \"0.6\"`"),
    (Place::Condition, &["ddnet", "ddrace"], "`sess.proto == ddnet`"),

    (Place::Head, &["control", "ctl"], "`ctrl.connect`, with `ctrl` before the dot"),
    (Place::Head, &["system"], "`sys.info`, with `sys` before the dot"),
    (Place::Head, &["frame"], "`frame == 12` for the number of the datagram"),
    (Place::Head, &["udp", "ip", "ipv6", "tcp", "eth", "net"],
        "`sess.client == \"127.0.0.1:52000\"` for the address of the client"),
    (Place::Head, &["packet", "datagram", "header", "hdr", "chunk"], "`pkt.size`, `pkt.ack`, `pkt.seq`, `pkt.chunks` or `pkt.flags`"),
    (Place::Head, &["session", "client", "player", "conn", "connection"], "`sess.name`, `sess.id`, `sess.client` or `sess.rtt`"),
    (Place::Head, &["snapshot", "snapshots", "world", "item", "items"], "`snap.character[3].x`"),
    (Place::Head, &["note", "notes", "warning", "code"], "`lint.wrong_token`"),

    (Place::Operator, &["is", "equals", "equal", "eq", "be", "are", "was"], "`==`"),
    (Place::Operator, &["isnt", "ne", "neq", "unequal", "differs"], "`!=`"),
    (Place::Operator, &["gt", "greater", "above", "over", "more", "exceeds", "bigger"], "`>`"),
    (Place::Operator, &["lt", "less", "below", "under", "fewer", "smaller"], "`<`"),
    (Place::Operator, &["ge", "gte"], "`>=`"),
    (Place::Operator, &["le", "lte"], "`<=`"),
    (Place::Operator, &["has", "have", "includes", "include", "containing", "contain", "substring", "icontains", "holds"],
        "`contains`, as in `sv_chat.message contains \"gg\"`"),
    (Place::Operator, &["like", "ilike", "matching", "match", "regex", "regexp", "glob", "rlike"],
        "`matches`, as in `sv_chat.message matches /g+/`"),
    (Place::Operator, &["startswith", "starts", "starts_with", "beginswith", "begins", "prefix"],
        "`matches /^text/`"),
    (Place::Operator, &["endswith", "ends", "ends_with", "suffix"], "`matches /text$/`"),
    (Place::Operator, &["between", "within", "range"], "`in 5..9`, as in `t in 5s..10s`"),
    (Place::Operator, &["one_of", "oneof", "among", "any_of"], "`in {1 2 5..9}`"),
    (Place::Operator, &["mod", "modulo"], "`%`"),
    (Place::Operator, &["plus", "but", "also", "where", "with", "which", "that", "having", "und"], "`and`"),
    (Place::Operator, &["unless", "except", "without", "minus", "nor", "ohne", "außer"], "`and not`"),
    (Place::Operator, &["either", "xor", "else", "oder"], "`or`"),

    (Place::Modifier, &["probability", "prob", "random", "randomly", "odds", "p", "percent", "percentage", "ratio", "likelihood"],
        "`chance 5%`"),
    (Place::Modifier, &["nth", "number", "num", "count", "occurrence", "n", "index"],
        "`and n == 3` in the condition, or `every 3` for each third match"),
    (Place::Modifier, &["limit", "atmost", "maximum", "rate", "ratelimit", "throttle", "upto"],
        "`first 3` for three in all, or `max 20 per 1s`"),
    (Place::Modifier, &["between", "during", "window", "in_time", "time"], "`from 5s to 10s`"),
    (Place::Modifier, &["before", "till", "ending", "end", "stop", "for"], "`to 10s`, or `until CONDITION`"),
    (Place::Modifier, &["since", "starting", "start", "begin", "beginning", "at", "ab"], "`from 10s`, or `after CONDITION`"),
    (Place::Modifier, &["interval", "each", "nth_match", "alternate"], "`every 3`, or `every 5s`"),
    (Place::Modifier, &["twice"], "`first 2`"),
    (Place::Modifier, &["single", "onetime", "one", "only", "just"], "`once`"),
    (Place::Modifier, &["ignore", "omit"], "`skip 2`"),
    (Place::Modifier, &["globally", "shared", "total"], "`per global`"),
    (Place::Modifier, &["then", "do"], "`drop, log when sv_chat`: actions come first, with commas between them"),

    (Place::Link, &["latency", "lag", "ping", "rtt", "wait", "slow"], "`delay`, as in `delay 40ms` in each direction"),
    (Place::Link, &["packet", "packets", "drop", "lose", "lost", "packetloss", "packet_loss", "drops"], "`loss 5%`"),
    (Place::Link, &["duplicate", "duplication", "duplicates", "copy", "repeat"], "`dup 1%`"),
    (Place::Link, &["bandwidth", "speed", "throughput", "bitrate", "throttle", "tbf", "bw", "rate_limit"],
        "`rate 2mbit`"),
    (Place::Link, &["limit", "buffer", "bufferbloat", "backlog"],
        "`queue 64kB`, next to a `rate`: netem's limit counts datagrams, a queue counts bytes"),
    (Place::Link, &["outage", "down", "off", "disconnect", "offline", "dead", "cut", "block", "disabled", "unplug"],
        "`blackhole`"),
    (Place::Link, &["variance", "jit", "deviation", "variation", "delay_jitter"], "`jitter 8ms`, next to a `delay`"),
    (Place::Link, &["distribution", "dist", "normal", "uniform", "pareto", "paretonormal"],
        "`delay 40ms jitter 8ms normal`"),
    (Place::Link, &["corruption", "bitflip", "ber", "flip"], "`corrupt 1%`"),
    (Place::Link, &["reordering", "shuffle", "swap", "misorder"], "`reorder 2%`"),
    (Place::Link, &["state", "gilbert", "burst", "bursts", "markov", "ecn", "slot", "correlation"],
        "`loss gemodel 1% 30%` for loss in bursts"),
    (Place::Link, &["for", "during", "between", "till", "before", "since", "at"], "`from 5s to 10s`"),
    (Place::Link, &["when", "if", "where"],
        "`after CONDITION` or `until CONDITION`: a link line acts on all datagrams of a time"),
    (Place::Link, &["and", "with", "plus"], "the parameters one after the other, as in `delay 40ms loss 1%`"),
    (Place::Link, &["browser", "serverbrowser", "connectionless"], "`connless`"),

    (Place::Direction, &["up", "upstream", "upload", "uplink", "tx", "out", "outgoing", "egress", "client", "cl", "server",
        "sv", "srv", "down", "downstream", "download", "downlink", "rx", "in", "incoming", "ingress", "to", "from"],
        "`c2s` for datagrams to the server, or `s2c` for datagrams to the client"),
    (Place::Direction, &["all", "any", "each", "every", "bidirectional", "duplex", "network", "everything"], "`both`"),

    (Place::Field, &["msg", "text", "content", "body", "string", "chat", "str", "line"], "message"),
    (Place::Field, &["hp", "life", "lives", "hearts"], "health"),
    (Place::Field, &["shield", "armour"], "armor"),
    (Place::Field, &["cid", "player", "pid", "player_id", "from", "sender", "client", "id"], "client_id"),
    (Place::Field, &["player_name", "nick", "nickname", "username"], "name"),
    (Place::Field, &["map", "mapname", "map_name"], "name"),
    (Place::Field, &["checksum", "hash"], "crc"),
    (Place::Field, &["cause", "why"], "reason"),
    (Place::Field, &["killer_id", "attacker"], "killer"),
    (Place::Field, &["dead", "victim_id"], "victim"),

    (Place::Function, &["length", "size", "strlen", "bytes"], "`len(.message) > 100`"),
    (Place::Function, &["exists", "defined", "isset", "hasfield"], "`has(sv_chat.team)`"),
    (Place::Function, &["previous", "prev", "latest"], "`last(sv_chat).message`"),
    (Place::Function, &["happened", "saw", "received", "got", "had"], "`seen(enter_game)`"),
    (Place::Function, &["number", "sum", "total", "times", "nth"], "`count(sv_chat) > 3`"),
    (Place::Function, &["elapsed", "time", "age", "ago", "after"], "`since(enter_game) > 5s`"),
    (Place::Function, &["lower", "upper", "lowercase", "tolower", "toupper"], "`matches /(?i)text/` to ignore case"),
    (Place::Function, &["rand", "random", "chance"], "`chance 5%` after the condition of a rule"),
    (Place::Function, &["startswith", "starts_with"], "`sv_chat.message matches /^text/`"),
    (Place::Function, &["endswith", "ends_with"], "`sv_chat.message matches /text$/`"),
    (Place::Function, &["like", "match", "regex", "search", "has_text", "includes"], "`sv_chat.message contains \"text\"`"),

    (Place::Unit, &["m"], "`min` for minutes, or `ms` for milliseconds"),
    (Place::Unit, &["mbps", "mbits", "megabit", "megabits", "mbytes"], "`mbit`: megabits per second"),
    (Place::Unit, &["kbps", "kbits", "kilobit", "kilobits", "kbytes", "k"], "`kbit`: kilobits per second"),
    (Place::Unit, &["gbps", "gbits"], "`gbit`: gigabits per second"),
    (Place::Unit, &["bps", "bits"], "`bit`: bits per second"),
    (Place::Unit, &["ticks", "tick"], "the number alone, or a time: a tick lasts `20ms`"),
    (Place::Unit, &["x", "times", "st", "nd", "rd", "th"], "the number alone"),
];

/// Start of the rows whose words name a direction only for those who know where they stand.
pub(crate) const BOTH_WAYS: &str = "`c2s` for messages to the server, or";

/// Names of the protocol that other programs write before the name of a message.
pub(crate) const PROTOCOLS: [&str; 10] = [
    "tw",
    "tw6",
    "tw7",
    "tw06",
    "tw07",
    "teeworlds",
    "ddnet",
    "ddrace",
    "msg",
    "message",
];

/// Returns true if a row has the word in place of a condition, an operator, a modifier or a unit.
pub(crate) fn is_known(word: &str) -> bool {
    let places = [Place::Condition, Place::Operator, Place::Modifier, Place::Unit];
    places.iter().any(|place| typed(*place, word).is_some())
}

/// Returns what to type for a word at a place; `None` if no row has the word. Ignores case and dashes.
pub(crate) fn typed(place: Place, word: &str) -> Option<&'static str> {
    let is_row =
        |(of, words, _): &&Row| *of == place && words.iter().any(|known| known.eq_ignore_ascii_case(word));
    ROWS.iter().find(is_row).map(|(.., typed)| *typed)
}

/// Returns help with what to type for a word at a place; `None` if no row has the word.
pub(crate) fn help(place: Place, word: &str) -> Option<String> {
    typed(place, word).map(|typed| format!("write {typed}"))
}

/// Returns what to type for a field, of which a message has `known`; `None` if no row has the word.
pub(crate) fn field<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let rows = ROWS
        .iter()
        .filter(|(of, words, _)| *of == Place::Field && words.contains(&word));
    let mut found = rows.filter_map(|(.., typed)| known.iter().copied().find(|known| known == typed));
    found.next()
}

/// Returns help with what to type for a word in place of a condition; `None` if no row has the word.
pub(crate) fn condition_help(word: &str, is_rule: bool) -> Option<String> {
    let of_filter = help(Place::Filter, word).filter(|_| !is_rule);
    of_filter.or_else(|| help(Place::Condition, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::is_word;
    use crate::impair::Dirs;
    use crate::syntax::{ACTIONS, LINK_WORDS, MODIFIERS, OPERATORS, Unit};
    use teetap_wire::def::Class;

    #[test]
    fn no_row_replaces_a_word_and_no_word_has_two_rows() {
        let mut seen = Vec::new();
        for (place, words, typed) in ROWS {
            assert!(
                *place == Place::Field
                    || typed.contains('`')
                    || *place == Place::Unit
                    || *place == Place::Link
            );
            for word in *words {
                let is_taken = match place {
                    Place::Action => ACTIONS.contains(word),
                    Place::Condition | Place::Filter => {
                        is_word(Class::Game, word) && !OPERATORS.contains(word)
                    }
                    Place::Operator => OPERATORS.contains(word),
                    Place::Modifier => MODIFIERS.contains(word),
                    Place::Link => LINK_WORDS.contains(word),
                    Place::Direction => Dirs::C2s.name() == *word,
                    Place::Unit => Unit::named(word).is_some(),
                    Place::Head | Place::Field | Place::Function => false,
                };
                assert!(!is_taken, "{word}: {typed}");
                assert_eq!(*word, word.to_ascii_lowercase());
                assert!(
                    *place == Place::Field || !seen.contains(&(*place, *word)),
                    "{word}: {typed}"
                );
                seen.push((*place, *word));
            }
        }
    }
}

//! Rules of a walk: every combination of an action, a condition, a modifier and a link line can be drawn.

use std::sync::Arc;

use teetap_kit::{link::Random, rules::compiled};
use teetap_rules::Program;

use crate::messages::LONG;

/// Actions. `LONG` stands for a text that does not fit into a chunk of 0.6.
const ACTIONS: [&str; 42] = [
    "pass",
    "drop",
    "lose",
    "lose 2 times",
    "delay 20ms",
    "delay 10ms..60ms",
    "delay 70ms unordered",
    "dup",
    "dup 2 gap 15ms",
    "swap",
    "reorder 3",
    "corrupt 2 bits",
    "corrupt 1 byte",
    "hold until seen(cl_emoticon) max 1s",
    "hold until seen(sv_motd) max 400ms unordered",
    "early: hold until false max 2s",
    "paused: pause max 300ms",
    "pause max 900ms unordered",
    "stall 200ms",
    "log \"{pkt.seq} {pkt.size} {t}\"",
    "log",
    "mark odd",
    "var $seen = t",
    "fail \"no\"",
    "exit 17",
    "expect sv_chat within 200ms",
    "expect c2s within 60ms",
    "close client \"kicked\"",
    "close server \"left\"",
    "close both",
    "inject s2c sv_motd{message: \"made\"}",
    "inject c2s cl_say{message: \"made\"} nonvital",
    "inject before c2s cl_say{message: \"first\"}",
    "inject s2c sv_motd{message: \"LONG\"}",
    "reply sv_chat{client_id: -1, message: \"pong\"}",
    "reply cl_say{message: \"ping\"}",
    "set sv_chat.message = \"other\"",
    "set sv_chat.message = \"LONG\"",
    "replace cl_say.message /o/ with \"0\"",
    "set snap.character.x = snap.character.x + 32",
    "set snap.character.x = 100",
    "set ctrl.close.reason = \"because\"",
];

/// Conditions; the empty one is for actions that name their message.
const CONDITIONS: [&str; 25] = [
    "",
    "when c2s and vital",
    "when s2c and vital",
    "when c2s and not vital",
    "when s2c and not vital",
    "when c2s",
    "when s2c",
    "when cl_say",
    "when sv_chat",
    "when sv_motd",
    "when cl_emoticon",
    "when redirect",
    "when any_snap",
    "when resend",
    "when connless",
    "when ctrl.connect",
    "when ctrl.connect_accept",
    "when ctrl.accept",
    "when ctrl.keepalive",
    "when ctrl.close",
    "when ctrl.token",
    "when leg == server and ctrl",
    "when pkt.size > 200",
    "when c2s and count(cl_say) > 2",
    "when s2c and vital and lint",
];

/// Rules whose parts fit together, which is rare among drawn ones.
const FITTING: [&str; 24] = [
    "set snap.character.x = snap.character.x + 32 when any_snap",
    "set snap.character.x = 100 when any_snap every 2",
    "drop when any_snap every 3",
    "swap when any_snap",
    "reorder 2 when any_snap",
    "delay 40ms when any_snap every 2",
    "delay 60ms unordered when any_snap every 3",
    "swap when s2c and vital",
    "swap when c2s and vital every 2",
    "reorder 2 when s2c",
    "reorder 3 when c2s and not vital",
    "hold until seen(sv_motd) max 900ms when c2s and vital",
    "hold until seen(cl_emoticon) unordered when s2c and vital every 2",
    "early: pause max 3s when sv_chat",
    "paused: pause max 3s unordered when cl_say",
    "delay 30ms when ctrl.connect",
    "delay 30ms when ctrl.connect_accept",
    "dup when ctrl",
    "lose when ctrl.connect_accept first 1 per session",
    "delay 100ms when ctrl.accept",
    "delay 40ms when connless",
    "set sv_chat.message = \"LONG\" when sv_chat",
    "inject s2c sv_motd{message: \"LONG\"} when sv_chat",
    "drop when s2c and vital and pkt.seq in {2 3}",
];

const MODIFIERS: [&str; 12] = [
    "",
    "",
    "",
    "",
    "every 2",
    "every 300ms",
    "skip 1",
    "first 2 per global",
    "once",
    "max 1 per 500ms",
    "chance 50%",
    "from 200ms to 3s",
];

const LINKS: [&str; 14] = [
    "",
    "",
    "",
    "",
    "link both delay 30ms",
    "link both delay 15ms jitter 8ms pareto loss 5% dup 5% reorder 10% corrupt 3%",
    "link s2c rate 100kbit queue 2kB",
    "link c2s rate 60kbit queue 1kB connless",
    "link both loss gemodel 5% 30% delay 60ms jitter 10ms normal",
    "link s2c delay 40ms from 300ms to 2s",
    "link c2s blackhole from 1s to 2s",
    "link both delay 25ms connless",
    "link c2s delay 80ms after seen(cl_say)",
    "link s2c delay 10s",
];

fn pick<'t>(random: &mut Random, texts: &[&'t str]) -> &'t str {
    texts[usize::try_from(random.below(texts.len() as u64)).unwrap()]
}

/// Returns a program of up to three random rules and a random link line. Returns `None` if the proxy is to run without
/// rules.
pub(crate) fn program(random: &mut Random) -> Option<Arc<Program>> {
    if random.chance(0.1) {
        return None;
    }
    let mut source = String::new();
    let wanted = random.below(4);
    let mut rules = 0;
    // Not every action can have every condition.
    for _ in 0..8 {
        if rules == wanted {
            break;
        }
        let [action, condition, modifier] =
            [&ACTIONS[..], &CONDITIONS, &MODIFIERS].map(|texts| pick(random, texts));
        let rule = match random.chance(0.5) {
            true => pick(random, &FITTING).to_owned(),
            false => format!("{action} {condition} {modifier}"),
        };
        let rule = format!("{rule}\n").replace("LONG", LONG);
        let longer = format!("{source}{rule}");
        if compiled(&longer).is_ok() {
            source = longer;
            rules += 1;
        }
    }
    source.push_str(pick(random, &LINKS));
    match compiled(&source) {
        Ok(program) => Some(program),
        Err(errors) => panic!("{source}: {errors:?}"),
    }
}

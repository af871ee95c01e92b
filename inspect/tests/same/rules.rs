//! The rules that a stormy run loads one after another.

use std::sync::Arc;

use teetap_rules::Program;
use teetap_wire::def::Registry;

/// Texts of rules that contain all actions and modifiers.
const TEXTS: [&str; 6] = [
    r#"
early: drop when c2s and cl_say every 3
hold until c2s and input max 2s when s2c and sv_chat every 5
paused: pause max 900ms when c2s and cl_say every 4
delay 30ms..60ms unordered when c2s and not vital
dup 2 gap 15ms when c2s and vital max 4 per 1s
log "{sess.name}: {cl_say.message} {t} {n} {pkt.size}" when cl_say
set sv_chat.message = "capitalism" when sv_chat and sv_chat.client_id >= 0 every 2
replace cl_say.message /o(.)/ with "0$1" when cl_say
link both delay 15ms jitter 8ms pareto loss 2% dup 1% reorder 3% corrupt 1%
"#,
    r#"
lose 2 times when s2c and (con_ready or sv_ready_to_enter)
swap when s2c and sv_chat every 3
reorder 4 when s2c and any_snap chance 10%
corrupt 3 bits when s2c and pkt.size > 200 chance 5%
corrupt 2 bytes when c2s and input chance 5%
inject s2c sv_broadcast{message: "packet loss on"} when enter_game
reply sv_chat{client_id: -1, message: "pong"}, drop when cl_say.message == "hello"
mark odd when s2c and lint
let busy = count(input) > 50
var $joined = t when enter_game
log "{$joined} {sess.rtt}" when sv_chat and $joined < 60s and busy once per session
expect sv_chat within 400ms when cl_say every 2
link s2c rate 400kbit queue 8kB from 1s
"#,
    r#"
lose when ctrl.connect first 1 per session
delay 100ms when ctrl.connect_accept
dup 2 when connless and s2c
set ctrl.close.reason = "because" when ctrl.close
drop when ctrl.keepalive chance 30%
drop when leg == server and ctrl.accept first 1
link both loss gemodel 1% 30% delay 30ms jitter 10ms normal
"#,
    r#"
set snap.character.x = snap.character.x + 32 when any_snap every 2
drop when any_snap skip 5 max 3 per 1s
stall 300ms when s2c and sv_chat every 7
set input_timing.time_left = 5 when input_timing and since(enter_game) > 1s
fail "a chat" when cl_say every 9 until 10s
exit 17 when sv_motd from 200s
close client "kicked" when count(cl_say) > 12 per session
seed 7
link c2s rate 300kbit loss 3% dup 5%
"#,
    r#"
drop when c2s and vital and pkt.seq in {5 9 12..14}
hold until seen(enter_game) unordered when s2c and sv_motd
pass when s2c and map_data
dup when s2c and map_data every 2
delay 200ms when c2s and ready
log when s2c and sv_tune_params
drop when s2c and resend chance 20%
inject before c2s cl_say{message: "first"} when cl_say every 6
inject c2s ping nonvital when any_snap every 20
link both reorder 20% gap 3 delay 40ms
"#,
    "link both delay 5ms",
];

/// Returns the program with this number; `None` for every seventh number, to run without rules.
pub(crate) fn program(number: u64) -> Option<Arc<Program>> {
    let at = usize::try_from(number).expect("a small number") % (TEXTS.len() + 1);
    let text = TEXTS.get(at)?;
    match Program::compile(text, Registry::builtin()) {
        Ok((program, _)) => Some(Arc::new(program)),
        Err(errors) => panic!("rules {at}: {errors:?}"),
    }
}

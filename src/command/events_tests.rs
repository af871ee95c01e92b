//! Tests of the rows that `teetap ctl` prints of events.

use serde_json::json;

use super::*;

#[test]
fn each_event_is_a_row_with_the_columns_of_a_run() {
    for (object, line) in [
        (
            json!({"v": 2, "event": "message", "t": 1.5, "session": 2, "dir": "c2s", "vital": true, "resend": false,
                "seq": 9, "seq_out": 10, "name": "cl_say", "size": 4, "leg": null, "layer": "game",
                "fields": {"message": "hi"}, "actions": [{"action": "edit"}], "notes": [{"code": "out-of-range"}]}),
            "   1.500 #2  c→s V 9→10 cl_say              4 bytes edit {\"message\":\"hi\"} !out-of-range",
        ),
        (
            json!({"v": 2, "event": "message", "t": 0.25, "session": 12, "dir": "s2c", "vital": true, "resend": true, "seq": 217,
                "seq_out": 217, "name": "sv_motd", "size": 1, "leg": "server", "layer": "game", "fields": {}}),
            "   0.250 #12 s→p R  217 sv_motd             1 byte",
        ),
        (
            json!({"v": 2, "event": "message", "t": 0.25, "session": 1, "dir": "s2c", "vital": false, "resend": false,
                "layer": "sys", "id": 99, "size": 7}),
            "   0.250 #1  s→c -      sys.99              7 bytes",
        ),
        (
            json!({"v": 2, "event": "session", "t": 100, "session": 1, "state": "closed", "proto": "0.7",
                "client": "192.0.2.1:5000", "upstream": null, "server": null, "player": null, "by": "server",
                "reason": "bye\u{1b}"}),
            " 100.000 #1  session closed: 0.7, client 192.0.2.1:5000, by the server: \"bye\u{fffd}\"",
        ),
        (
            json!({"v": 2, "event": "gap", "t": 1, "lost": 7}),
            "-- 7 events missed: this output is slower than the traffic --",
        ),
        (
            json!({"v": 2, "event": "datagram", "t": 1, "session": 3, "dir": "c2s", "ordinal": 9, "size": 42,
                "notes": [{"code": "wrong-token"}]}),
            "   1.000 #3  c→s datagram 9: 42 bytes !wrong-token",
        ),
        (
            json!({"v": 2, "event": "summary", "t": 2, "exit": 4}),
            "   2.000 -   the run has ended, exit code 4",
        ),
        (
            json!({"v": 2, "event": "later", "t": 2, "text": "a text\u{1b}"}),
            "   2.000 -   later a text\u{fffd}",
        ),
    ] {
        let (rows, moment) = rows(&object.to_string(), &object);
        let texts: Vec<&str> = rows.iter().map(Row::text).collect();
        assert_eq!(texts, [line], "{object}");
        assert_eq!(moment.since, None);
    }
}

//! Tests of the lines that `teetap ctl` prints.

use serde_json::json;

use super::*;

#[test]
fn each_result_is_a_line_of_the_answer() {
    for (object, lines) in [
        (json!({"event": "result"}), "done\n"),
        (
            json!({"sessions": [{"session": 3, "state": "online", "proto": "0.7", "client": "192.0.2.1:5000", "opened": 1.25}]}),
            "#3  online  0.7     192.0.2.1:5000  since 1.250\n",
        ),
        (
            json!({"rules": [
                {"name": "a", "text": "drop when c2s", "from": "--rule", "line": 1, "on": true, "hits": 3},
                {"name": "drop", "text": "drop", "from": "FILE", "line": 2, "on": false, "hits": 3},
                {"name": "drop #2", "text": "drop", "from": "FILE", "line": 3, "on": true, "hits": null},
            ]}),
            "a: drop when c2s  (--rule:1, hits 3)\ndrop  (FILE:2, off)\ndrop #2  (FILE:3)\n",
        ),
        (
            json!({"held": [
                {"session": 1, "dir": "c2s", "held": 4, "name": "cl_say", "fields": {"message": "x"}, "edited": true, "until": 2.5, "rule": "p"},
                {"session": 1, "dir": "s2c", "held": 5, "hex": "00ff", "edited": false},
            ]}),
            "1/c2s/4  cl_say {\"message\":\"x\"}  edited  until 2.500  (p)\n1/s2c/5  0x00ff\n",
        ),
        (
            json!({"stats": {"lost_events": 2, "c2s": {"bytes": 5, "datagrams": 1}}}),
            "lost events     2\nc2s             bytes 5, datagrams 1\n",
        ),
    ] {
        let mut got: Vec<_> = answer(&object).lines().map(str::to_owned).collect();
        let mut wanted: Vec<_> = lines.lines().map(str::to_owned).collect();
        // An object has no order.
        got.sort();
        wanted.sort();
        assert_eq!(got, wanted, "{object}");
    }
}

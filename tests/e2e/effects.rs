//! Effects of rules in the output of the built binary: the rules named for a message, and the summary.

use serde_json::Value;
use teetap_kit::binary::{objects, place, run};

use crate::teetap;

const RULES: [&str; 3] = [
    "slow: delay 20ms when s2c and sv_chat",
    "mark when input",
    "drop when c2s and cl_kill",
];

#[test]
fn messages_name_their_rules_and_the_summary_has_hits_and_effects() {
    let (folder, _) = place("unused");
    let recordings = ["run.pcapng", "run.jsonl"].map(|name| folder.path().join(name));
    for recording in &recordings {
        let args = "demo --seconds 1 --json -l :0 --seed 77";
        let mut command = teetap();
        command.args(args.split(' '));
        for rule in RULES {
            command.args(["-r", rule]);
        }
        command.args(["-r", "link s2c delay 1ms", "-w"]).arg(recording);
        let (stdout, stderr) = run(&mut command, 0);
        let lines = objects(&stdout);
        let rules = |name: &str, lines: &[Value]| -> Vec<Value> {
            let messages = lines
                .iter()
                .filter(|line| line["name"] == name && line["origin"] == "peer");
            messages.map(|line| line["actions"].clone()).collect()
        };
        let chats = rules("sv_chat", &lines);
        let held = serde_json::json!([{"rule": "slow", "action": "hold"}]);
        assert!(
            !chats.is_empty() && chats.iter().all(|actions| *actions == held),
            "{chats:?}"
        );
        let marked = serde_json::json!([
            {"rule": "mark when input", "action": "pass"},
            {"rule": null, "action": "mark", "mark": "mark when input"},
        ]);
        let inputs = rules("input", &lines);
        assert!(inputs.contains(&marked), "{marked} is not among {inputs:?}");

        let summary = lines.last().unwrap();
        let [slow, mark, kill] = [0, 1, 2].map(|at| &summary["rules"][at]);
        assert_eq!(
            (&slow["name"], slow["hits"].as_u64()),
            (&"slow".into(), Some(chats.len() as u64))
        );
        assert!(
            slow["last_at"].is_f64() && slow["last_session"].is_u64(),
            "{slow}"
        );
        assert_eq!(
            (&mark["name"], &mark["text"]),
            (&Value::Null, &"mark when input".into())
        );
        assert_eq!((&kill["hits"], &kill["last_at"]), (&0.into(), &Value::Null));
        let link = &summary["links"][0];
        assert_eq!(
            (&link["link"], &link["dir"]),
            (&"link s2c delay 1ms".into(), &"s2c".into())
        );
        assert!(link["delayed"].as_u64().unwrap() > 20, "{link}");
        let repeat = summary["repeat"].as_str().unwrap();
        assert!(
            repeat.contains(" --seed 77 ") && repeat.contains("-r 'mark when input'"),
            "{repeat}"
        );
        for line in [
            "teetap: rule slow: ",
            "teetap: never hit: drop when c2s and cl_kill\n",
            "teetap: link s2c delay 1ms, s→c: ",
            &format!("teetap: repeat: {repeat}\n"),
        ] {
            assert!(stderr.contains(line), "{line}\n{stderr}");
        }

        let (again, _) = run(teetap().args(["open", "--json"]).arg(recording), 0);
        assert_eq!(rules("sv_chat", &objects(&again)), chats);
        let (text, _) = run(teetap().arg("open").arg(recording), 0);
        assert!(text.contains(" delay 20 ms (slow) "), "{text}");
        assert!(text.contains(" pass (mark when input) "), "{text}");
    }
}

//! `--input-log` of the built binary with a real server and client.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::{
    binary::{command, place, run},
    real::{Server as _, Teetap, TeeworldsClient, TeeworldsServer, turn, visit},
};

use crate::TEETAP;

/// Replays the input log, which must be equal and contain the whole run; returns the report.
fn replays_equal(path: &Path) -> Value {
    let (stdout, stderr) = run(command(TEETAP).args(["replay", "--json", "--check"]).arg(path), 0);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["event"], "replay");
    assert_eq!(
        (&report["equal"], &report["cut"]),
        (&true.into(), &Value::Null),
        "{stderr}"
    );
    assert_eq!(stderr, "");
    report
}

#[test]
fn the_visit_of_a_real_client_replays_equal() -> Result<()> {
    let _turn = turn::shared()?;
    let (_folder, path) = place("run.log");
    let mut server = TeeworldsServer::start(&[])?;
    let log = path.to_str().unwrap();
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &["--input-log", log])?;
    let client = TeeworldsClient::on_display("logged", teetap.listen())?;
    visit(&mut server, &mut client.joined()?)?;
    let objects = teetap.stop()?;
    server.stop()?;
    let summary = objects.last().unwrap();
    let report = replays_equal(&path);
    // The log contains everything that the run itself counted.
    let counted = |dir| summary["datagrams"][dir].as_u64().unwrap();
    ensure!(
        report["received"].as_u64() == Some(counted("c2s") + counted("s2c")),
        "{report} against {summary}"
    );
    ensure!(counted("s2c") > 10, "hardly a visit: {summary}");
    Ok(())
}

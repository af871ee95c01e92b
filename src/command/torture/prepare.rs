//! The settings for the run of a cell, which are the settings of `teetap run HOST` with this process's configuration
//! files.

use std::{error::Error, ffi::OsString};

use teetap_engine::{
    Builder,
    rules::{Mistakes, Rules},
};
use teetap_rules::Filter;

use crate::{
    cli::{self, TortureOptions},
    exit::Failure,
};

use super::repeat::seed;

/// Prepares a run with `rule`, or without a rule.
pub(super) fn prepare(
    options: &TortureOptions,
    rule: Option<&str>,
) -> Result<Builder, Box<dyn Error + Send + Sync>> {
    let mut words = ["teetap", "run"].map(OsString::from).to_vec();
    if let Some(rule) = rule {
        words.extend(["--rule", rule].map(OsString::from));
    }
    words.push(options.target.to_string().into());
    let own = cli::of_run(&words)?;
    let (proto, own) = (own.protocol.only(), own.run);
    if own.faults_from.is_some() {
        return Err(
            Failure::usage("--faults-from cannot be set for cells: each has a rule of its own").into(),
        );
    }
    let registry = own.show.contents.registry()?;
    let server = options.target.resolve()?;
    let mut builder = Builder::new(server)
        .definitions(registry)
        .proto(proto)
        .seed(seed(options))
        .heal(own.heal)
        .client_addresses(own.client_addresses);
    if let Some(rules) = Rules::read(&own.rules.texts(), &own.rules.files, registry)? {
        let (program, _warnings) = rules.compile()?;
        builder = builder.program(rules, Some(program));
    }
    if let Some(text) = &own.fail_on {
        let (filter, _warnings) = Filter::parse(text, registry)
            .map_err(|errors| Mistakes::of_text("--fail-on", text, errors).to_string())?;
        builder = builder.fail_on(filter);
    }
    Ok(builder)
}

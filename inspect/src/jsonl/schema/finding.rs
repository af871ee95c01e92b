//! Findings, and the counts of findings in a summary.

use std::{borrow::Cow, net::SocketAddr};

use serde::{Deserialize, Serialize};
use teetap_proxy::words::Word;
use teetap_wire::Dir;

use crate::{
    jsonl::seconds,
    judge::{Finding, Findings},
};

/// An oddity that a peer showed at least once in a session.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct FindingBody<'a> {
    /// Position in the ranking, from 1.
    rank: u64,
    code: Cow<'a, str>,
    severity: Cow<'a, str>,
    role: Cow<'a, str>,
    by: Cow<'a, str>,
    /// The release of that side; null if unknown.
    program: Option<Cow<'a, str>>,
    /// True if the release is assumed because the side did not identify itself; null without a release.
    assumed: Option<bool>,
    text: Cow<'a, str>,
    detail: Option<Cow<'a, str>>,
    /// The received value, which is a part of `detail`, like the next field.
    got: Option<Cow<'a, str>>,
    expected: Option<Cow<'a, str>>,
    dir: Option<Word<Dir>>,
    datagram: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<u64>,
    message: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<SocketAddr>,
    /// Number of the run in a recording with several runs; missing for the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<u32>,
    count: u64,
    /// Time of the last occurrence, in seconds since the start.
    last: f64,
    filter: Option<Cow<'a, str>>,
    page: Cow<'a, str>,
}

impl<'a> FindingBody<'a> {
    pub(in crate::jsonl) fn new(rank: u64, finding: &'a Finding, with_frame: bool) -> Self {
        let program = finding.program.as_ref();
        let (first, detail) = (&finding.first, finding.detail.as_ref());
        Self {
            rank,
            code: finding.topic.name().into(),
            severity: finding.severity.name().into(),
            role: finding.role.name().into(),
            by: finding.by.name().into(),
            program: program.map(|program| program.name.as_str().into()),
            assumed: program.map(|program| program.assumed),
            text: (&*finding.text).into(),
            detail: detail.map(|detail| detail.as_str().into()),
            got: detail.and_then(|detail| detail.got()).map(Into::into),
            expected: detail.and_then(|detail| detail.expected()).map(Into::into),
            dir: first.dir.map(Word),
            datagram: first.datagram,
            frame: first.frame.filter(|_| with_frame),
            message: first.message.as_deref().map(Into::into),
            client: first.client,
            run: Some(finding.run).filter(|run| *run > 1),
            count: finding.count,
            last: seconds(finding.last),
            filter: finding.filter().map(Into::into),
            page: finding.topic.page().into(),
        }
    }
}

/// Counts of findings.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct FindingsBody {
    /// Number of findings with this severity, like the next two fields.
    pub errors: u64,
    pub warnings: u64,
    pub infos: u64,
    /// Number of oddities that are not listed because the maximum number of findings or sessions was reached.
    pub unlisted: u64,
    /// True if events were lost, so that findings may be missing.
    pub missed: bool,
}

impl From<&Findings> for FindingsBody {
    fn from(findings: &Findings) -> Self {
        let counts = findings.counts();
        Self {
            errors: counts.errors,
            warnings: counts.warnings,
            infos: counts.infos,
            unlisted: findings.unlisted,
            missed: findings.missed,
        }
    }
}

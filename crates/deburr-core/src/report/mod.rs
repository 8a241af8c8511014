//! The report on one file, as it is rendered: the model below every output format, and how it comes from image,
//! functions, verdicts and findings.

mod answer;
pub(crate) mod baseline;
pub(crate) mod build;
mod counted;
mod fingerprint;
mod grouped;
pub(crate) mod groups;
mod heat;
pub(crate) mod level;
mod model;
mod names;
mod saved_registers;
pub(crate) mod weigh;

pub use crate::function::reach::{Cause, GuardKind, Reach};
pub use crate::image::lines::SourceLocation;
pub use crate::image::{Runtime, STATIC_TLS_RESERVE};
pub use crate::profile::{Share, WeighedBy, Weight};
pub use crate::provenance::Origin;
pub use answer::{Answer, OnBaseline, UnreadPayload};
pub use fingerprint::Fingerprints;
pub use grouped::{Common, Facts, FindingGroup, FindingPlace, grouped};
pub use model::{
    AcrossFinding, Advice, Atomics, Build, CallerWeight, Claim, Cost, Coverage, Guard, GuardUse, Hex,
    HotFunction, IsaFunction, IsaGroup, NeededBy, Offered, OtherPlace, OverBudget, PlacedFinding,
    PresumedCopy, PresumedNames, Presumption, Profiled, Refusal, Report, Root, RunsOn, SCHEMA_VERSION,
    Settlement, Step, ThreadCost, Tried, TriedRuns,
};
pub use names::FunctionNames;
pub(crate) use names::{name_at, near, place_of};

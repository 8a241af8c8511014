//! How the files of a batch are checked: options → [`BatchPlan`].

use crate::analysis::Analysis;
use crate::args::analysis::AnalysisOptions;
use crate::args::batch::Batch;
use crate::args::batch::Scope;
use crate::input::exclude::Excluded;
use crate::input::held::HeldInputs;
use deburr_package::Limits;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// How files are checked.
#[derive(Debug)]
pub(crate) struct BatchPlan {
    /// What is looked for in each.
    pub(crate) analysis: Analysis,
    /// Whether the shared libraries that a file needs are looked at with it.
    pub(crate) closure: bool,
    /// The folder that is taken for `/` where libraries are looked for.
    pub(crate) root: Option<PathBuf>,
    pub(crate) threads: usize,
    /// How many instructions around findings are listed of each file; `None`: nobody wants any.
    pub(crate) insns_listed: Option<usize>,
    /// Whether each file is described as a whole, with the hashes of all that is in it, and the places of its functions.
    pub(crate) describes: bool,
    /// What the caller holds: input without a file.
    pub(crate) held: HeldInputs,
    /// How much a package may hold.
    pub(crate) limits: Limits,
    /// Which files and members are left out.
    pub(crate) excluded: Excluded,
}

impl BatchPlan {
    /// Understands the options.
    pub(crate) fn new(options: &AnalysisOptions, batch: &Batch) -> Result<BatchPlan, String> {
        let threads = batch.threads.or_else(|| std::thread::available_parallelism().ok());
        Ok(BatchPlan {
            analysis: Analysis::new(options, &batch.debug_files)?,
            closure: false,
            root: None,
            threads: threads.map_or(1, NonZeroUsize::get),
            insns_listed: None,
            describes: false,
            held: HeldInputs::new(),
            limits: batch.packages.limits(),
            excluded: Excluded::default(),
        })
    }

    /// The same, of the files and findings that count.
    pub(crate) fn within(mut self, scope: &Scope) -> BatchPlan {
        self.excluded = Excluded::new(&scope.exclude);
        self.analysis.config.include_runtime |= scope.include_runtime;
        self
    }
}

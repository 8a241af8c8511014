//! The constants of a machine: what moving a cache line costs, and who gets it next.
//!
//! Times are nanoseconds. What a cache line is moved by is its *home*: the directory, snoop filter or ring stop that puts
//! requests for it in one order. MESI (Papamarcos, Patel, ISCA 1984); directories (Censier, Feautrier, 1978).

use super::error::ModelError;

/// The longest time that the model takes, in nanoseconds: a hundredth of a second.
pub const LONGEST_NS: f64 = 1e7;

/// What a machine does with one cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constants {
    /// How long the line is in transit when a thread takes it from its owner, in nanoseconds. No other request is served meanwhile.
    pub transfer_ns: f64,
    /// How long its home is busy with giving a thread a copy to read, in nanoseconds.
    pub share_ns: f64,
    /// How long a request takes to its home, in nanoseconds: the mean. It is uniform from half to one and a half times that.
    pub request_ns: f64,
    /// How long an operation at the home takes there, in nanoseconds. Only [`super::operation::Operation::Far`] has it.
    pub far_ns: f64,
    /// How long a core that has loaded exclusively refuses to give the line away, in nanoseconds.
    pub hold_ns: f64,
    /// What is near what.
    pub topology: Topology,
    /// Who is served next.
    pub arbitration: Arbitration,
}

/// Two levels of distance: threads in one cluster, and others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Topology {
    /// Threads of a cluster: the first so many are in the first one. At least 1.
    pub cluster: usize,
    /// How many times as long the line is in transit between clusters as within one. 1 makes all equal.
    pub far_factor: f64,
}

/// Which of the waiting requests a home serves next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arbitration {
    /// The one that arrived first: fair.
    Oldest,
    /// Any, with equal probability: fair on average.
    Random,
    /// The oldest of the cluster where the line is, if there is one. Threads of other clusters may starve.
    Nearest,
}

impl Topology {
    /// All threads are equally near to each other.
    pub const ONE_LEVEL: Topology = Topology { cluster: usize::MAX, far_factor: 1.0 };

    /// Whether two threads are in one cluster.
    pub fn is_near(&self, one: usize, other: usize) -> bool {
        one / self.cluster == other / self.cluster
    }

    /// How many times as long the line is in transit between two threads.
    pub fn factor(&self, one: usize, other: usize) -> f64 {
        if self.is_near(one, other) { 1.0 } else { self.far_factor }
    }
}

impl Constants {
    /// A machine of one level and fair arbitration, with these three times in nanoseconds.
    pub const fn of(transfer_ns: f64, share_ns: f64, request_ns: f64) -> Constants {
        Constants {
            transfer_ns,
            share_ns,
            request_ns,
            far_ns: transfer_ns,
            hold_ns: 0.0,
            topology: Topology::ONE_LEVEL,
            arbitration: Arbitration::Oldest,
        }
    }

    /// Whether they make sense.
    ///
    /// # Errors
    /// [`ModelError::Constant`], for the first that does not.
    pub fn check(&self) -> Result<(), ModelError> {
        let times = [
            ("transfer_ns", self.transfer_ns),
            ("share_ns", self.share_ns),
            ("request_ns", self.request_ns),
            ("far_ns", self.far_ns),
            ("hold_ns", self.hold_ns),
        ];
        for (name, value) in times {
            within(name, value, (0.0, LONGEST_NS))?;
        }
        within("far_factor", self.topology.far_factor, (1.0, 1e3))?;
        within("cluster", self.topology.cluster.min(1 << 30) as f64, (1.0, (1 << 30) as f64))
    }
}

/// Whether a number is in a range; what is no number is in none.
pub(super) fn within(name: &'static str, value: f64, allowed: (f64, f64)) -> Result<(), ModelError> {
    if (allowed.0..=allowed.1).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::Constant { name, value, allowed })
    }
}

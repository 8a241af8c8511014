//! Is B really better than A? Runs both, and says: *better*, *worse*, *same* or *inconclusive*, with the size
//! of the effect, its probabilities and the warnings that belong to them.
//!
//! [`measure`] starts processes and reads clocks, and knows no statistics. [`stats`] is numbers in, numbers
//! out, and knows no clock. Only [`comparison`] knows both. [`readers`] reads what benchmark programs print;
//! [`benchfmt`] Go's benchmarks, and prints benchstat's tables. [`kernel`] holds micro-benchmarks in assembly, which
//! [`mod@bench`] runs, and [`model`] says what several threads would get out of one cache line. [`emulate`] runs a command as
//! another CPU, and notes which code it entered. [`profiling`] samples where a command spends its time, by `perf record`.

pub mod bench;
pub mod benchfmt;
pub mod comparison;
pub mod emulate;
pub mod kernel;
pub mod measure;
pub mod model;
pub mod profiling;
pub mod readers;
pub mod side;
pub mod stats;

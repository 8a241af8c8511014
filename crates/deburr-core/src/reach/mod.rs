//! Reach: which code above a level the program gets to on a CPU, by evaluating it on models of CPUs.
//!
//! In: an image, its linkage and its functions. Out: for each function that needs more than a level, whether it is dead on every
//! CPU that lacks what it needs. Interprocedural sparse conditional constant propagation (Wegman and Zadeck, TOPLAS 1991;
//! Callahan, Cooper, Kennedy and Torczon, 1986): nothing is live until it is shown to be.
//!
//! | room | what is in it |
//! |---|---|
//! | `value` | abstract values, interned |
//! | `cpu` | models of CPUs: what `cpuid`, `xgetbv`, `mrs` and the auxiliary vector answer |
//! | `memory` | the file as it is loaded, and the cells of its data, of the heap and of frames |
//! | `demand` | which functions are relevant |
//! | `evaluate` | the transfer function, calls, exceptions, what other files' functions do |
//! | `live` | the roots, and what is live on a model |
//! | `verdict` | which functions are dead without what they need, and how that changes today's verdicts |

mod abi;
mod cpu;
mod demand;
mod evaluate;
mod knowledge;
mod live;
mod memory;
mod value;
pub(crate) mod verdict;

pub(crate) use knowledge::returns_twice;

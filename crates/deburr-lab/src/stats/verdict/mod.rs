//! The verdict and when it falls: better, worse, same, or inconclusive.
//!
//! In: log ratios of pairs as they come in, positive where B is better. At interim analyses fixed in advance
//! (10, 16, 24 and 40 pairs) Wilcoxon's signed-rank test gives the interval of θ at O'Brien and Fleming's
//! bounds ([`super::effect`]): *better* once all of it is above L, *worse* once all of it is below −L, *same*
//! once all of it is between. A z counts √(n_e/n) of itself where neighbouring pairs are alike. The same rule
//! on the t posterior is computed, too: it is about the mean, the signed ranks are about the typical pair.
//!
//! Where hardly any verdict can still come ([`prospect`]), nobody has to wait for it.
//!
//! A [`Rule`] fixes the analyses, a [`Sequence`] is fed with pairs and gives the [`Verdict`].

pub mod effect;
mod evidence;
mod futility;
pub mod holm;
mod power;
mod rule;
mod sequence;
pub mod spending;
pub mod warning;

pub use super::outcome::Outcome;
pub use super::validity::limit::{Order, VerdictLimit, verdict_limit};
pub use evidence::Evidence;
pub use futility::{HOPELESS, Prospect, prospect};
pub use power::{pairs_needed, resolvable};
pub use rule::{ALPHA, INTERIM_ANALYSES, Rule};
pub use sequence::{Decision, Sequence, Verdict};

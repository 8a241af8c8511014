//! `deburr fix`: what it rewrites, what it leaves, and whether a rewritten program does the same.

mod audited;
mod campaign;
mod dispatch;
mod node;
mod patched;
mod pause;
mod planned;
mod postgres;
mod refused;
mod replaced;
mod reproduced;
mod trampolines;
mod wheels;

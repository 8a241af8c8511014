//! Runs a command as another CPU, under qemu's user-mode emulation, and notes which code it entered.
//!
//! [`cpu`] maps a target to models of qemu, and [`probe`] is a program that queries what such a CPU shows. [`log`] and
//! [`maps`] read what qemu and the kernel report, and are pure: bytes in, values out. [`run`] starts processes, and keeps
//! of the log no more than which code was entered.

pub mod cpu;
pub mod log;
pub mod maps;
pub mod probe;
pub mod run;
mod shield;

//! `deburr check`, `show` and `diff`: what they say of a file, against other tools.

mod builds;
mod closure;
mod compiled;
mod cpus;
mod decoders;
mod evidence;
mod functions;
mod go_frames;
mod id_registers;
mod levels;
mod mutated;
mod operands;
mod packages;
mod page;
mod profile;
mod text;

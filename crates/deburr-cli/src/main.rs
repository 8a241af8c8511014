//! The command `deburr`: the only place with arguments, environment, files, colours and exit codes.

fn main() {}

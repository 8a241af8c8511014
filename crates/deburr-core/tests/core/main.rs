//! The whole of the library from outside: fixtures of the rules, and files read as an image and as what is linked.

#![expect(clippy::disallowed_methods, reason = "the tests read fixtures, and run compilers")]

mod annotate;
mod answer;
mod fixtures;
mod image;
mod linkage;
mod loading;
mod profile;

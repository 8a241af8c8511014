//! The statistics and the readers from outside: against published values, simulated experiments and hostile input.

mod agreement;
mod benchstat_tables;
mod calibration;
mod contention;
mod contention_errors;
mod hostile;
mod profiles;
mod published;
mod reference;
mod reports;

//! The statistics and the readers from outside: against published values, simulated experiments and hostile input.

mod agreement;
mod benchstat_tables;
mod calibration;
mod hostile;
mod published;
mod reference;
mod reports;

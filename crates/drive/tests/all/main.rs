//! What a modelled drive promises. One program: each of its own would be compiled with all that is generic anew.

mod books;
mod bounds;
mod conventional;
mod determinism;
mod faults;
mod full_cache;
mod hostile_profiles;
mod moving;
mod parts;
mod passing_writes;
mod power;
mod pressure;
mod profiles;
mod properties;
mod published;
mod rig;
mod shingled;
mod turns;

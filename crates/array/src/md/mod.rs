//! Linux software RAID, as `drivers/md` of Linux 6.1 does it.
//!
//! In reading order: [`options`] what an array is made of, [`parity`] and [`copies`] where things lie. What it holds: a `role` for each
//! member, `unit` what goes to the members together, `bios` what the host has asked for, `stripes` of the stripe cache, `superblocks`, `barrier` and
//! `journal` who waits for whom (`bitmaps` and `mount` what the same filesystem reads), `thread` how the rebuild holds itself back, `recovery` how far it is, `buffers` what it reads into (`pages` in
//! which order these come, `slabs` what lies between them, `buddies` where they come from), and `processor` who goes first (`follower` whom a tick finds, `timers` when one comes). [`array`] is all of it, and
//! lets time pass. What it does: `admission` what a request of the host passes first, `foreground` what it asks of the members, `fill` how a
//! replacement is filled, `array_thread` what is written besides, and `trouble` what happens when members fail.

mod admission;
pub mod array;
mod array_thread;
mod barrier;
mod bios;
mod bitmaps;
mod buddies;
mod buffers;
pub mod copies;
mod fill;
mod follower;
mod foreground;
mod journal;
mod mount;
pub mod options;
mod pages;
pub mod parity;
mod processor;
mod recovery;
mod role;
mod slabs;
mod stripes;
mod superblocks;
mod thread;
mod timers;
mod trouble;
mod unit;

pub use array::Array;
pub use copies::Copies;
pub use options::{Arrangement, Options};
pub use parity::{Parity, Rotation};

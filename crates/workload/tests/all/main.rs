//! What the host above a device promises. One program: each of its own would be compiled with all that is generic anew.

mod conformance;
mod device;
mod forward;
mod rebuild;
mod refusals;
mod replay;
mod resilver;
mod run;
mod short_cuts;

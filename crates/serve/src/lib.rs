//! Modelled drives as block devices, with their data: for other programs over NBD, in real time, and for a User-Mode
//! Linux kernel over vhost-user, in virtual time.
//!
//! In reading order: [`store`] keeps what was written, [`realtime`] lets a [`drive::BlockDevice`] live by the
//! machine's clock, [`nbd`] speaks to clients, [`report`] says how well the clock was kept; [`lab`] is the other way, in
//! which the clock goes by the drives.
//!
//! Two kinds of failure never mix: what the modelled drive does wrong is a [`drive::Status`] and reaches the client as
//! an error; what the machine does wrong before or around the service is a [`nbd::ServeError`] or a [`lab::LabError`].

pub mod lab;
pub mod nbd;
pub mod realtime;
pub mod report;
pub mod store;

pub use nbd::{Options, ServeError};
pub use report::Report;
pub use store::{Store, StoreError};

//! A modelled drive as a block device for other programs: over NBD, in real time, with its data.
//!
//! In reading order: [`store`] keeps what was written, [`realtime`] lets a [`drive::BlockDevice`] live by the
//! machine's clock, [`nbd`] speaks to clients, [`report`] says how well the clock was kept.
//!
//! Two kinds of failure never mix: what the modelled drive does wrong is a [`drive::Status`] and reaches the client as
//! an NBD error; what the machine does wrong before or around the service is a [`nbd::ServeError`].

pub mod nbd;
pub mod realtime;
pub mod report;
pub mod store;

pub use nbd::{Options, ServeError};
pub use report::Report;
pub use store::{Store, StoreError};

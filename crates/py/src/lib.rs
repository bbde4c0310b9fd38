//! `shakedown._core`: converts, releases the interpreter's lock, calls. `python/shakedown/_core.pyi` is its
//! description.

mod bench;
mod errors;
mod faults;
mod fio;
mod job;
mod lab;
mod load;
mod machine;
mod rebuild;
mod requests;
mod resilver;
mod serve;
mod storage_box;
mod toml;
mod trace;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::errors::{ArrayError, JobError, LabError, ProfileError, TomlError, TraceError};
    #[pymodule_export]
    use crate::faults::check_faults;
    #[pymodule_export]
    use crate::fio::{fio_bytes, fio_count, fio_option, fio_time_ns};
    #[pymodule_export]
    use crate::job::check_job;
    #[pymodule_export]
    use crate::lab::Lab;
    #[pymodule_export]
    use crate::load::Load;
    #[pymodule_export]
    use crate::machine::Machine;
    #[pymodule_export]
    use crate::rebuild::{rebuild, Share};
    #[pymodule_export]
    use crate::requests::RequestColumns;
    #[pymodule_export]
    use crate::resilver::{resilver, usable_bytes};
    #[pymodule_export]
    use crate::serve::serve_nbd;
    #[pymodule_export]
    use crate::toml::parse_toml;
}

//! Serves a device that takes the same time for everything, to measure what the server itself adds:
//! `cargo run --release -p serve --example fixed_latency -- SOCKET LATENCY_US SIZE_MIB SECONDS`

#[path = "../tests/fixed_latency/mod.rs"]
mod fixed_latency;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serve::{nbd, Options, Store};

fn main() -> Result<(), Box<dyn Error>> {
    let [socket, latency_us, size_mib, seconds] = std::env::args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "usage: SOCKET LATENCY_US SIZE_MIB SECONDS")?;
    let capacity_bytes = size_mib.parse::<u64>()? << 20;
    let seconds = Duration::from_secs(seconds.parse()?);
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options {
        socket_path: socket.into(),
        export_name: "fixed-latency".into(),
        description: format!("every request takes {latency_us} µs"),
        store: Store::temporary(capacity_bytes)?,
        listening: None,
        stop: Arc::clone(&stop),
    };
    thread::spawn(move || {
        thread::sleep(seconds);
        stop.store(true, Ordering::Relaxed);
    });
    let device = fixed_latency::FixedLatency::new(capacity_bytes, latency_us.parse::<u64>()? * 1_000);
    let report = nbd::serve(device, options)?;
    println!("{report:#?}\n{}", report.doubt().unwrap_or_default());
    Ok(())
}

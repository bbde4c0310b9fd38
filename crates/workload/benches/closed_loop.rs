//! How many requests a second the host side alone can submit and retire.

// The functions that criterion's macros make have no documentation.
#![allow(missing_docs)]

use std::collections::VecDeque;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use drive::{BlockDevice, Completion, Request, Status};
use workload::{JobFile, Run};

const REQUESTS: u64 = 1_000_000;
const CAPACITY: u64 = 12_000_000_000_000;

/// Does nothing, a microsecond later.
#[derive(Default)]
struct Nothing {
    due: VecDeque<(u64, u32)>,
}

impl BlockDevice for Nothing {
    fn capacity_bytes(&self) -> u64 {
        CAPACITY
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        self.due.push_back((now_ns + 1000, request.tag));
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.due.front().map(|(due_ns, _)| *due_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while let Some(&(completed_ns, tag)) = self.due.front().filter(|(due_ns, _)| *due_ns <= to_ns) {
            self.due.pop_front();
            completions.push(Completion { tag, completed_ns, status: Status::Good });
        }
    }
}

fn closed_loop(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("closed_loop");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10).measurement_time(Duration::from_secs(3));
    for (name, options) in [
        ("sequential write, depth 1", "rw=write"),
        ("random write, depth 32", "rw=randwrite\niodepth=32"),
        ("random mix, depth 32, no map", "rw=randrw\nrwmixread=70\niodepth=32\nnorandommap"),
    ] {
        let file = JobFile::parse(&format!("{options}\nnumber_ios={REQUESTS}"), CAPACITY).expect("a good job");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut run = Run::start(file.clone(), 0, 1_000_000_000, 1);
                while !run.is_over() {
                    run.advance(&mut Nothing::default(), 1000);
                }
                run.now_ns()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, closed_loop);
criterion_main!(benches);

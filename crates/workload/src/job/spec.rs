//! What a job file means once every option has been read: plain data, all sizes in bytes, all times in nanoseconds.

/// A direction that rows are kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Discards.
    Trim,
}

impl Direction {
    /// All of them, in the order of fio's comma-separated values.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    /// The name in rows and samples.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }
}

/// Which directions a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One direction only.
    Only(Direction),
    /// Reads and writes, so many percent of them reads.
    Mixed {
        /// 0..=100.
        read_percent: u8,
    },
    /// Each block is trimmed and then written.
    TrimThenWrite,
}

impl Access {
    /// Can the job issue this direction?
    pub fn issues(self, direction: Direction) -> bool {
        match self {
            Self::Only(only) => only == direction,
            Self::Mixed { .. } => direction != Direction::Trim,
            Self::TrimThenWrite => direction != Direction::Read,
        }
    }
}

/// Lengths of the requests of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// The shortest request.
    pub min_bytes: u64,
    /// The longest request.
    pub max_bytes: u64,
    /// `bssplit`: length and upper end of its share in cumulated percent; empty for a plain range.
    pub split: Vec<(u64, u8)>,
}

/// How random offsets are spread over the region.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Evenly.
    Uniform,
    /// Zipf with parameter theta, around `center` (a share of the region).
    Zipf {
        /// Skew.
        theta: f64,
        /// Where the most popular block lies, 0..=1.
        center: Option<f64>,
    },
    /// Pareto with parameter h.
    Pareto {
        /// 0 < h < 1.
        power: f64,
        /// Where the most popular block lies, 0..=1.
        center: Option<f64>,
    },
    /// The normal distribution as fio makes it.
    Normal {
        /// Deviation in percent of the region.
        deviation_percent: f64,
        /// Where the middle lies, 0..=1.
        center: Option<f64>,
    },
    /// Shares of the accesses to shares of the region, for each direction.
    Zoned([Vec<Zone>; 3]),
}

/// One zone of a zoned distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Upper end of this zone's accesses in cumulated percent.
    pub access_to_percent: u8,
    /// Where the zone begins, in parts of `scale` of the region.
    pub begin: u64,
    /// Where it ends.
    pub end: u64,
    /// Parts of the whole region; 0: `begin` and `end` are bytes.
    pub scale: u64,
}

/// The `:N` behind a random `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequencer {
    /// The other N - 1 requests follow the last one.
    Sequential,
    /// The other N - 1 requests repeat the last offset.
    Identical,
}

/// `thinktime` and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How long.
    pub pause_ns: u64,
    /// After how many requests.
    pub requests: u64,
    /// Count issued requests instead of completed ones.
    pub counts_issues: bool,
}

/// Where one copy of a job works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub begin_bytes: u64,
    /// One past the last byte.
    pub end_bytes: u64,
}

impl Region {
    /// Its length.
    pub fn bytes(self) -> u64 {
        self.end_bytes - self.begin_bytes
    }
}

/// One section of a job file, with all that it inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The section's name.
    pub name: String,
    /// Directions.
    pub access: Access,
    /// Random (with `random_percent`) or sequential offsets.
    pub random: bool,
    /// Share of random offsets, for each direction.
    pub random_percent: [u8; 3],
    /// Spread of random offsets.
    pub distribution: Distribution,
    /// Every block once before any block twice.
    pub covers: bool,
    /// Request lengths, for each direction.
    pub sizes: [BlockSizes; 3],
    /// Alignment of random offsets, for each direction.
    pub align_bytes: [u64; 3],
    /// A new random offset every so many requests.
    pub sequence: u64,
    /// What the requests between do.
    pub sequencer: Sequencer,
    /// Bytes left out between sequential requests.
    pub hole_bytes: u64,
    /// Where each copy (`numjobs`) works.
    pub regions: Vec<Region>,
    /// Bytes after which a pass over the region ends, for each copy.
    pub pass_bytes: Vec<u64>,
    /// Bytes after which the job ends unless it loops, for each copy.
    pub limit_bytes: Vec<u64>,
    /// Whether `io_size` was given: more passes follow until it is reached.
    pub repeats_to_limit: bool,
    /// `loops`.
    pub loops: u64,
    /// `number_ios`.
    pub number_ios: Option<u64>,
    /// Requests in flight.
    pub depth: u32,
    /// `sync`: every write is forced to the medium.
    pub durable: bool,
    /// A flush after so many writes.
    pub flush_every: Option<u64>,
    /// A flush at the end of each pass.
    pub flush_at_end: bool,
    /// Ends the job.
    pub runtime_ns: Option<u64>,
    /// Goes on until `runtime_ns` whatever else says stop.
    pub time_based: bool,
    /// Not counted time before `runtime_ns` starts.
    pub ramp_ns: u64,
    /// Begins so late after the run's start.
    pub start_delay_ns: u64,
    /// Bytes a second, for each direction.
    pub rate_bytes: [Option<u64>; 3],
    /// `thinktime`.
    pub pause: Option<Pause>,
    /// `randseed`.
    pub seed: Option<u64>,
    /// Draws what fio draws from its seed; see [`JobFile::drawn_like_fio`].
    pub drawn_like_fio: bool,
    /// Takes the time that fio takes, too; see [`JobFile::like_fio`].
    pub like_fio: bool,
    /// Every pass draws the same numbers.
    pub repeats_draws: bool,
    /// Starts only when all jobs before have ended.
    pub stonewall: bool,
}

/// A whole job file, ready to run on a device of the capacity it was read for.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// The sections in their order.
    pub jobs: Vec<Job>,
}

impl JobFile {
    /// Behind the last tag of each copy of each job, where none waits for others: each is a program of its own.
    pub fn program_ends(&self) -> Vec<u32> {
        let depths = self.jobs.iter().flat_map(|job| std::iter::repeat_n(job.depth, job.regions.len()));
        depths
            .scan(0, |end, depth| {
                *end += depth;
                Some(*end)
            })
            .collect()
    }

    /// The same jobs, but they make the very requests that fio makes of them, as long as they draw places evenly, and
    /// lengths not at all; and they make them as late as it does. Without this, requests follow from the seed in a way of
    /// our own.
    #[must_use]
    pub fn like_fio(mut self) -> Self {
        for job in &mut self.jobs {
            (job.drawn_like_fio, job.like_fio) = (true, true);
        }
        self
    }

    /// The same jobs, but those with a `randseed` make the very requests that fio makes, in their order, as above.
    #[must_use]
    pub fn drawn_like_fio(mut self) -> Self {
        for job in &mut self.jobs {
            job.drawn_like_fio |= job.seed.is_some();
        }
        self
    }

    /// Can any job of the file issue this direction?
    pub fn issues(&self, direction: Direction) -> bool {
        self.jobs.iter().any(|job| job.access.issues(direction))
    }
}

//! What an md array is made of, with the defaults of Linux and mdadm.

use std::str::FromStr;

use super::copies::Copies;
use super::journal::JOURNAL_BYTES;
use super::parity::{Parity, Rotation};
use crate::command::{check_command_timeout, COMMAND_TIMEOUT_NS};
use crate::layout::{Layout, LayoutError};

/// Bytes of a page, which is what a stripe of the stripe cache holds of each member.
pub const PAGE_BYTES: u64 = 4096;

/// What mdadm keeps free at the beginning of each member, so that an array can be reshaped: a 1024th of it, at most this.
const MOST_HEADROOM_BYTES: u64 = 128 << 20;
/// The superblock is a page behind one that is left to whoever boots, and a page behind it is for bad blocks.
const SUPERBLOCK_BYTES: u64 = 12 << 10;

/// Members that one array can have here. (md itself goes on to some hundreds.)
pub const MOST_MEMBERS: usize = 128;

/// The parameters of an array and of the host that it runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `raid0`, `raid1`, `raid10`, `raid5` or `raid6`.
    pub layout: Layout,
    /// How many members.
    pub width: usize,
    /// Bytes of each member that the array uses: those of the smallest.
    pub member_bytes: u64,
    /// `mdadm --chunk`: 512 KiB.
    pub chunk_bytes: u64,
    /// Where parity and copies lie.
    pub arrangement: Arrangement,
    /// `stripe_cache_size`: 256 stripes of a page for each member.
    pub stripe_cache: u64,
    /// How far the stripe cache grows by itself, a stripe whenever someone has to wait; memory pressure sets the end of it.
    pub stripe_cache_most: u64,
    /// `sync_speed_min`: the rebuild yields to other requests only above it.
    pub speed_min_bytes_per_s: u64,
    /// `sync_speed_max`.
    pub speed_max_bytes_per_s: u64,
    /// Is there a write-intent bitmap?
    pub bitmap: bool,
    /// `rmw_level`: whether parity is brought up to date by reading what changes, where that is fewer than what does not.
    pub read_modify_write: bool,
    /// `max_sectors_kb`: the longest request.
    pub max_request_bytes: u64,
    /// The longest request made of single pages: the controller's list of segments.
    pub max_segments: u64,
    /// 1 / HZ.
    pub jiffy_ns: u64,
    /// How many the host has: one for all that runs on it, or more.
    pub processors: u32,
    /// How long the host waits for a drive's answer; for that to a flush twice as long.
    pub command_timeout_ns: u64,
    /// Where the journal begins of the ext4 that is mounted on the array, if one is.
    pub journal_at_bytes: Option<u64>,
    /// How long before the array's beginning that was mounted.
    pub mounted_before_ns: u64,
    /// What is chance follows from it.
    pub seed: u64,
}

/// Where parity and copies lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Of raid5 and raid6.
    Parity(Rotation),
    /// Of raid0, raid1 and raid10.
    Copies {
        /// Copies in a row of chunks.
        near: usize,
        /// Copies in other parts of the members.
        far: usize,
        /// Far copies follow in the next row.
        offset: bool,
    },
}

impl Options {
    /// An array as `mdadm --create` makes it of members of this size.
    ///
    /// # Errors
    /// When the layout is not one of md's, or cannot be made of so many members, or of members so small.
    pub fn new(layout: Layout, width: usize, member_bytes: u64) -> Result<Self, LayoutError> {
        let arrangement = match layout {
            Layout::Raid0 => Arrangement::Copies { near: 1, far: 1, offset: false },
            Layout::Raid1 => Arrangement::Copies { near: width, far: 1, offset: false },
            Layout::Raid10 => Arrangement::Copies { near: 2, far: 1, offset: false },
            Layout::Raid5 | Layout::Raid6 => Arrangement::Parity(Rotation::LeftSymmetric),
            _ => return Err(LayoutError::value("layout", layout.name(), "not a layout of md")),
        };
        let options = Self {
            layout,
            width,
            member_bytes,
            chunk_bytes: 512 << 10,
            arrangement,
            stripe_cache: 256,
            stripe_cache_most: 4096,
            speed_min_bytes_per_s: 1000 << 10,
            speed_max_bytes_per_s: 200_000 << 10,
            bitmap: false,
            read_modify_write: true,
            max_request_bytes: 1280 << 10,
            max_segments: 168,
            jiffy_ns: 4_000_000,
            processors: 4,
            command_timeout_ns: COMMAND_TIMEOUT_NS,
            journal_at_bytes: None,
            mounted_before_ns: 0,
            seed: 0,
        };
        options.check()?;
        Ok(options)
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// Which value, and why.
    pub fn check(&self) -> Result<(), LayoutError> {
        self.layout.check_width(self.width)?;
        if self.width > MOST_MEMBERS {
            return Err(LayoutError::value(
                "width",
                self.width,
                format!("at most {MOST_MEMBERS} members are modelled"),
            ));
        }
        if !self.chunk_bytes.is_power_of_two() || self.chunk_bytes < PAGE_BYTES {
            let reason = "a power of two from 4 KiB on is expected";
            return Err(LayoutError::size("chunk", self.chunk_bytes, reason));
        }
        if self.rows() == 0 {
            let unit = if self.layout == Layout::Raid1 { "" } else { "a chunk of " };
            let reason = format!(
                "{} KiB of each member are md's own, and {unit}{} KiB must fit behind",
                self.data_offset_bytes() >> 10,
                self.chunk_bytes >> 10
            );
            return Err(LayoutError::size("member size", self.member_bytes, reason));
        }
        if !(17..=32768).contains(&self.stripe_cache) {
            return Err(LayoutError::value("stripe cache", self.stripe_cache, "md takes 17 to 32768 stripes"));
        }
        if self.speed_max_bytes_per_s < 1 << 20 {
            return Err(LayoutError::size(
                "speed-max",
                self.speed_max_bytes_per_s,
                "1MiB a second or more is expected",
            ));
        }
        self.check_arrangement()?;
        self.check_host()
    }

    /// Copies and parity are those of the layout (`raid10.c`'s `setup_conf` takes two copies to as many as there are members).
    fn check_arrangement(&self) -> Result<(), LayoutError> {
        let name = self.layout.name();
        let (near, far) = match self.arrangement {
            Arrangement::Parity(_) if self.parity_count() > 0 => return Ok(()),
            Arrangement::Parity(_) => {
                return Err(LayoutError::value("rotation", name, "it has no parity"));
            }
            Arrangement::Copies { near, far, .. } => (near, far),
        };
        let copies = near.saturating_mul(far);
        let reason = match self.layout {
            Layout::Raid0 if copies == 1 => return Ok(()),
            Layout::Raid1 if (near, far) == (self.width, 1) => return Ok(()),
            Layout::Raid10 if (2..=self.width).contains(&copies) => return Ok(()),
            Layout::Raid10 if copies < 2 => "a raid10 has two at least: with less there is no redundancy".to_owned(),
            Layout::Raid10 => format!("{} members cannot hold {copies} copies", self.width),
            _ => format!("a {name} has no copies to choose"),
        };
        Err(LayoutError::value("copies", copies, reason))
    }

    /// What requests and clocks are made of is not nothing.
    fn check_host(&self) -> Result<(), LayoutError> {
        if !(1..=u64::from(u16::MAX)).contains(&self.max_segments) {
            return Err(LayoutError::value("segments", self.max_segments, "a request has 1 to 65535"));
        }
        if self.max_request_bytes < PAGE_BYTES {
            let reason = "the longest request holds a page of 4096 bytes at least";
            return Err(LayoutError::size("max-request", self.max_request_bytes, reason));
        }
        if self.jiffy_ns == 0 {
            return Err(LayoutError::value("jiffy", 0, "it lasts a nanosecond at least"));
        }
        if self.processors == 0 {
            return Err(LayoutError::value("processors", 0, "a host has one at least"));
        }
        check_command_timeout(self.command_timeout_ns)?;
        self.check_journal()
    }

    fn check_journal(&self) -> Result<(), LayoutError> {
        let Some(at_bytes) = self.journal_at_bytes else { return Ok(()) };
        if at_bytes % PAGE_BYTES != 0 {
            return Err(LayoutError::size("ext4-journal", at_bytes, "whole blocks of 4096 bytes are expected"));
        }
        let most_bytes = self.capacity_bytes().saturating_sub(JOURNAL_BYTES);
        if at_bytes > most_bytes {
            let reason = format!("it begins at {most_bytes} bytes at the latest to lie in the array");
            return Err(LayoutError::size("ext4-journal", at_bytes, reason));
        }
        Ok(())
    }

    /// Where the array's bytes begin on each member, behind superblock, bitmap and headroom (mdadm's `validate_geometry1`, metadata 1.2).
    pub fn data_offset_bytes(&self) -> u64 {
        let whole = self.member_bytes >> 10;
        let share = if whole == 0 { 0 } else { 1 << whole.ilog2() };
        // raid1 has no chunks; others are to have room for two.
        let least = if self.layout == Layout::Raid1 { 0 } else { 2 * self.chunk_bytes };
        let headroom = share.max(least).min(MOST_HEADROOM_BYTES);
        (SUPERBLOCK_BYTES + bitmap_room_bytes(self.member_bytes) + headroom).next_multiple_of(1 << 20)
    }

    /// Rows of chunks that a member holds.
    fn rows(&self) -> u64 {
        self.member_bytes.saturating_sub(self.data_offset_bytes()) / self.chunk_bytes
    }

    /// Bytes of a member that hold the array's.
    pub fn used_bytes(&self) -> u64 {
        if self.layout == Layout::Raid1 {
            self.member_bytes.saturating_sub(self.data_offset_bytes()) / PAGE_BYTES * PAGE_BYTES
        } else {
            self.rows() * self.chunk_bytes
        }
    }

    /// The longest request to a member: those of parity are made of single pages of the stripe cache.
    pub(super) fn longest_request_bytes(&self) -> u64 {
        match self.arrangement {
            Arrangement::Parity(_) => {
                self.max_request_bytes.min(self.max_segments * PAGE_BYTES) / PAGE_BYTES * PAGE_BYTES
            }
            Arrangement::Copies { .. } => self.max_request_bytes,
        }
    }

    /// The array's usable bytes.
    pub fn capacity_bytes(&self) -> u64 {
        match self.arrangement {
            Arrangement::Parity(_) => self.used_bytes() * (self.width - self.parity_count()) as u64,
            Arrangement::Copies { near, .. } if near == self.width => self.used_bytes(),
            Arrangement::Copies { .. } => self.copies().capacity_bytes(),
        }
    }

    /// How many parities.
    pub fn parity_count(&self) -> usize {
        match self.layout {
            Layout::Raid5 => 1,
            Layout::Raid6 => 2,
            _ => 0,
        }
    }

    pub(crate) fn parity(&self, rotation: Rotation) -> Parity {
        Parity { width: self.width, parities: self.parity_count(), chunk_bytes: self.chunk_bytes, rotation }
    }

    pub(crate) fn copies(&self) -> Copies {
        let Arrangement::Copies { near, far, offset } = self.arrangement else {
            unreachable!("only arrays of copies ask for them");
        };
        // Mirrors have no chunks: one as long as the member keeps everything in its place.
        let chunk_bytes = if self.layout == Layout::Raid1 { self.used_bytes() } else { self.chunk_bytes };
        Copies { width: self.width, near, far, offset, chunk_bytes, member_bytes: self.used_bytes() }
    }
}

/// What mdadm keeps free for a bitmap on a member of this size, whether there is one or not (`choose_bm_space`).
fn bitmap_room_bytes(member_bytes: u64) -> u64 {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match gib(member_bytes) {
        ..8.0 => 4 << 10,
        ..200.0 => 64 << 10,
        _ => 128 << 10,
    }
}

impl FromStr for Rotation {
    type Err = LayoutError;

    fn from_str(name: &str) -> Result<Self, LayoutError> {
        Ok(match name {
            "left-symmetric" => Self::LeftSymmetric,
            "left-asymmetric" => Self::LeftAsymmetric,
            "right-symmetric" => Self::RightSymmetric,
            "right-asymmetric" => Self::RightAsymmetric,
            "parity-first" => Self::ParityFirst,
            "parity-last" => Self::ParityLast,
            _ => {
                let reason = "left-symmetric, left-asymmetric, right-symmetric, right-asymmetric, parity-first or \
                              parity-last is expected";
                return Err(LayoutError::value("rotation", name, reason));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl Fn(&mut Options)) -> String {
        let mut options = Options::new(Layout::Raid5, 4, 1 << 30).unwrap();
        change(&mut options);
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn a_rebuild_of_requests_or_ticks_of_nothing_would_never_end_and_is_refused() {
        assert!(refusal(|options| options.max_segments = 0).contains("segments"));
        assert!(refusal(|options| options.max_request_bytes = 4095).contains("a page"));
        assert!(refusal(|options| options.jiffy_ns = 0).contains("jiffy"));
        assert!(refusal(|options| options.processors = 0).contains("one at least"));
    }

    #[test]
    fn each_layout_has_the_copies_or_the_parity_that_it_has() {
        let of = |layout, width, near, far| {
            let arrangement = Arrangement::Copies { near, far, offset: false };
            Options { arrangement, ..Options::new(layout, width, 1 << 30).unwrap() }
                .check()
                .map_err(|error| error.to_string())
        };
        for (width, near, far) in [(2, 2, 1), (2, 1, 2), (3, 2, 1), (3, 1, 3), (4, 2, 2)] {
            assert_eq!(of(Layout::Raid10, width, near, far), Ok(()));
        }
        let refusals = [of(Layout::Raid10, 4, 1, 1), of(Layout::Raid10, 4, 0, 2), of(Layout::Raid10, 3, 2, 2)];
        for (refusal, reason) in refusals.iter().zip(["two at least", "two at least", "3 members cannot hold 4"]) {
            assert!(refusal.as_ref().unwrap_err().contains(reason), "{refusal:?}");
        }
        for (layout, near) in [(Layout::Raid1, 1), (Layout::Raid0, 2), (Layout::Raid5, 2)] {
            assert!(of(layout, 4, near, 1).unwrap_err().contains("no copies to choose"), "{layout:?}");
        }
        let parity = Options {
            arrangement: Arrangement::Parity(Rotation::LeftSymmetric),
            ..Options::new(Layout::Raid10, 4, 1 << 30).unwrap()
        };
        assert!(parity.check().unwrap_err().to_string().contains("no parity"));
    }

    /// `mdadm --examine` tells 264192 sectors of a 4 TB drive, as of any from 128 GiB on. In the lab md's first writes to members of
    /// 4 GB lie 3 MiB into them.
    #[test]
    fn data_begins_where_mdadm_lets_it() {
        let begins = |layout, member_bytes| {
            let options = Options::new(layout, 4, member_bytes).unwrap();
            (options.data_offset_bytes() / 512, options.data_offset_bytes() >> 20)
        };
        assert_eq!(begins(Layout::Raid5, 4_000_787_030_016), (264_192, 129));
        for layout in [Layout::Raid5, Layout::Raid1] {
            assert_eq!(begins(layout, 4_000_787_030_016).1, 129);
            assert_eq!(begins(layout, 128 << 30).1, 129);
            assert_eq!(begins(layout, (128 << 30) - 512).1, 65);
            assert_eq!(begins(layout, 4_000_787_456).1, 3);
        }
        // At a four-thousandth two chunks are more than the share.
        assert_eq!([Layout::Raid10, Layout::Raid1].map(|layout| begins(layout, 1_000_196_096).1), [2, 1]);
    }

    #[test]
    fn what_md_refuses_is_refused() {
        assert!(refusal(|options| options.stripe_cache = 16).contains("17 to 32768"));
        assert!(refusal(|options| options.stripe_cache = 32769).contains("17 to 32768"));
        assert!(refusal(|options| options.max_segments = 65536).contains("1 to 65535"));
        for timeout_ns in [0, 1_500_000_000, 25 * 3_600_000_000_000] {
            assert!(refusal(|options| options.command_timeout_ns = timeout_ns).contains("whole seconds"));
        }
    }
}

//! Where the copies of raid0 (one), raid1 (one on each member) and raid10 lie (`__raid10_find_phys`, `raid10_find_virt`).

/// A map from the array to its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Members.
    pub width: usize,
    /// Copies beside each other.
    pub near: usize,
    /// Copies in other parts of the members.
    pub far: usize,
    /// Far copies are in the next row of chunks instead of the next part of the member.
    pub offset: bool,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Bytes of each member, whole chunks.
    pub member_bytes: u64,
}

/// A place on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which member.
    pub member: usize,
    /// Where on it.
    pub offset_bytes: u64,
}

impl Copies {
    /// Chunks from the beginning of a member to its next part.
    fn part_chunks(&self) -> u64 {
        self.member_bytes / self.chunk_bytes / self.far as u64
    }

    /// From one far copy to the next on the member that holds it.
    fn stride_bytes(&self) -> u64 {
        if self.offset {
            self.chunk_bytes
        } else {
            self.part_chunks() * self.chunk_bytes
        }
    }

    /// The array's usable bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.part_chunks() * self.width as u64 / self.near as u64 * self.chunk_bytes
    }

    /// Appends the places of all copies of an offset in the array: near ones first, each with its far ones.
    pub fn find(&self, offset_bytes: u64, places: &mut Vec<Place>) {
        let width = self.width as u64;
        let first = offset_bytes / self.chunk_bytes * self.near as u64;
        let within = offset_bytes % self.chunk_bytes;
        for near in 0..self.near as u64 {
            let (row, member) = ((first + near) / width, (first + near) % width);
            let row = if self.offset { row * self.far as u64 } else { row };
            for far in 0..self.far as u64 {
                places.push(Place {
                    member: ((member + far * self.near as u64) % width) as usize,
                    offset_bytes: row * self.chunk_bytes + within + far * self.stride_bytes(),
                });
            }
        }
    }

    /// The offset in the array of what lies at a place; `None` behind the last.
    pub fn origin(&self, place: Place) -> Option<u64> {
        let (width, near) = (self.width as u64, self.near as u64);
        let row = place.offset_bytes / self.chunk_bytes;
        let (row, far) = if self.offset {
            (row / self.far as u64, row % self.far as u64)
        } else {
            (row % self.part_chunks().max(1), row / self.part_chunks().max(1))
        };
        let member = (place.member as u64 + far * (width - near)) % width;
        let chunk = (row * width + member) / near;
        let offset = chunk * self.chunk_bytes + place.offset_bytes % self.chunk_bytes;
        (far < self.far as u64 && offset < self.capacity_bytes()).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is found at a place comes from where the place was found for.
        #[test]
        fn places_and_origins_agree(
            width in 2..12_usize, near in 1..4_usize, far in 1..4_usize, offset: bool, share in 0.0..1.0_f64,
        ) {
            prop_assume!(near * far <= width);
            let copies = Copies { width, near, far, offset, chunk_bytes: 64, member_bytes: 64 * 240 };
            let at = (share * copies.capacity_bytes() as f64) as u64;
            let mut places = Vec::new();
            copies.find(at, &mut places);
            prop_assert_eq!(places.len(), near * far);
            for place in &places {
                prop_assert!(place.offset_bytes < copies.member_bytes);
                prop_assert_eq!(copies.origin(*place), Some(at));
                prop_assert_eq!(places.iter().filter(|other| other.member == place.member).count(), 1);
            }
        }
    }
}

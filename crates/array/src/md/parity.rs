//! Where data and parity of raid5 and raid6 lie (`raid5_compute_sector`).

/// How parity moves from one row of chunks to the next, by mdadm's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Parity from the last member to the first, data from the one behind it on: the default.
    LeftSymmetric,
    /// Parity from the last member to the first, data from the first on.
    LeftAsymmetric,
    /// Parity from the first member to the last, data from the one behind it on.
    RightSymmetric,
    /// Parity from the first member to the last, data from the first on.
    RightAsymmetric,
    /// Parity on the first member or two.
    ParityFirst,
    /// Parity on the last member or two.
    ParityLast,
}

/// A map from the array to its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parity {
    /// Members.
    pub width: usize,
    /// 1 or 2.
    pub parities: usize,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// How parity moves.
    pub rotation: Rotation,
}

impl Parity {
    /// Members that hold data in each row.
    pub fn data_members(&self) -> usize {
        self.width - self.parities
    }

    /// The member with the parity P of a row.
    pub fn p(&self, row: u64) -> usize {
        let turn = (row % self.width as u64) as usize;
        match self.rotation {
            Rotation::LeftSymmetric | Rotation::LeftAsymmetric => self.width - 1 - turn,
            Rotation::RightSymmetric | Rotation::RightAsymmetric => turn,
            Rotation::ParityFirst => 0,
            Rotation::ParityLast => self.data_members(),
        }
    }

    /// The member with the parity Q of a row, which raid6 has.
    pub fn q(&self, row: u64) -> Option<usize> {
        (self.parities == 2).then(|| (self.p(row) + 1) % self.width)
    }

    /// The member with the data chunk `index` of a row, counted from 0.
    pub fn data(&self, row: u64, index: usize) -> usize {
        let p = self.p(row);
        match self.rotation {
            Rotation::LeftSymmetric | Rotation::RightSymmetric => (p + self.parities + index) % self.width,
            Rotation::ParityFirst => index + self.parities,
            Rotation::ParityLast => index,
            Rotation::LeftAsymmetric | Rotation::RightAsymmetric => {
                let wraps = self.parities == 2 && p == self.width - 1;
                match index {
                    // Q stands on the first member.
                    _ if wraps => index + 1,
                    _ if index >= p => index + self.parities,
                    _ => index,
                }
            }
        }
    }

    /// Row, data chunk in the row, and offset in the chunk, of an offset in the array.
    pub fn locate(&self, offset_bytes: u64) -> (u64, usize, u64) {
        let chunk = offset_bytes / self.chunk_bytes;
        let data = self.data_members() as u64;
        (chunk / data, (chunk % data) as usize, offset_bytes % self.chunk_bytes)
    }
}

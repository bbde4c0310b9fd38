//! Linux software RAID, as `drivers/md` of Linux 6.1 does it.

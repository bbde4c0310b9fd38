//! OpenZFS: mirrors, raidz and dRAID.

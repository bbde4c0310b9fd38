"""A protocol: what its file may say, how it is read, and how it is played on an arena."""

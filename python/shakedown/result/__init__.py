"""The run folder: the contract between those who measure and those who show."""

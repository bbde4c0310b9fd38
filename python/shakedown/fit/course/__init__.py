"""In which order all is found, which depends on what the drive turns out to be."""

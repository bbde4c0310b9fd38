"""Other people's programs: found, started, followed, stopped."""

"""A target's text to an arena, and what every arena offers."""

"""The log of a persistent cache: where it lies, what a write takes of it, how much it holds, what passes it by."""

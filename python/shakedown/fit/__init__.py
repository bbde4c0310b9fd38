"""What a drive is made of, found from outside: traces to play on it, and pure functions from what came back."""

"""A run in other people's formats: `samples` (CSV), `prometheus` (a textfile), `card` (made to share)."""

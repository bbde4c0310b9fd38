"""What every drive has, shingled or not: platters, arm, memory; and where what was written lies."""

"""What was found as a twin: values with their intervals, and a fit of those that no formula gives."""

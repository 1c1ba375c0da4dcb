"""From a legal call to a kernel: windows, steps, parts and scratch."""

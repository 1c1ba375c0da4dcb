"""What everything else builds on: codes, names, tensors, windows."""

"""Pooling itself: averages and maxima of windows."""

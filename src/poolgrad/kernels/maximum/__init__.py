"""Loops of max pooling gradients."""

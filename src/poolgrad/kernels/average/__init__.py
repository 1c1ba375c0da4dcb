"""Loops of average pooling gradients."""

"""The way into compiled code, and the threads that run parts of a task."""

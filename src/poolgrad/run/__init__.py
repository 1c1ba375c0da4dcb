"""Running plans: tasks, threads, and when two calls are the same call."""

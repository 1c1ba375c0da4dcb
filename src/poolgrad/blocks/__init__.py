"""Calls on arrays that are not in memory as a whole: what each block of the result needs, and how it is computed."""

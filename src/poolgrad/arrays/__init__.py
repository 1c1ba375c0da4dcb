"""Arrays of other libraries and in files."""

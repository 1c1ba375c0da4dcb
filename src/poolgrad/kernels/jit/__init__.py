"""How loops are compiled and kept, and the numbers that they work on."""

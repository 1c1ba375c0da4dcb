"""The engine that judges calls, the vocabulary of its rows, and which views share memory."""

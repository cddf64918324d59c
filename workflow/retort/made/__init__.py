"""Data made from a seed, in the original formats: rows of tasks, texts of corpora, models with random weights."""

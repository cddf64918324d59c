"""Data, from files to batches: sources, readers, encoded tasks and packed corpora."""

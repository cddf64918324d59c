"""Data, from files to batches: readers, encoded tasks and packed corpora."""

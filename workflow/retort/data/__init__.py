"""From files to batches: sources, readers, encoded tasks, packed corpora."""

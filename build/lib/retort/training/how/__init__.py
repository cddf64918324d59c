"""How a training runs: in parts of batches, in several processes, with companions."""

"""The cost of a study before anything runs: FLOPs of every job, and hours on a machine of known speed."""

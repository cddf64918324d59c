"""What a terminal shows while Snakemake runs: a bar, the time left, the running jobs, and warnings."""

"""The engine of a run: jobs, processes and Slurm, through the public means of Snakemake."""

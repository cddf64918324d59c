"""What a run of the workflow needs: its decisions, its beginning and its end, through the public means of Snakemake."""

from retort.jobs import job

with job(snakemake) as running:
    from retort.settings import validate_source
    from retort.stages.preprocess import fetch_source

    fetch_source(running, settings=validate_source(snakemake.params.settings), output=snakemake.output[0])

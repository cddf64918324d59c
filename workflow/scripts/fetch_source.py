from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.preprocess import fetch_source

    fetch_source(running, settings=snakemake.params.settings, to=snakemake.output[0])

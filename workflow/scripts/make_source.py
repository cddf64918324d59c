from retort.job.context import job

with job(snakemake) as running:
    from retort.data.sources.fetch import location_of
    from retort.training.stages.preprocess import make_source

    make_source(
        running,
        settings=location_of(snakemake.config, snakemake.wildcards.source),
        output=snakemake.output[0],
    )

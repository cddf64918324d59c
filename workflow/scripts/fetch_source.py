from retort.job.context import download

with download(snakemake) as running:
    from retort.data.sources.fetch import location_of
    from retort.training.stages.preprocess import fetch_source

    fetch_source(
        running,
        settings=location_of(snakemake.config, snakemake.wildcards.source),
        output=snakemake.output[0],
    )

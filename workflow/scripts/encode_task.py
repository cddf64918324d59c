from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.preprocess import encode_task

    encode_task(
        running,
        settings=snakemake.params.settings,
        source=snakemake.input.source,
        model=snakemake.input.model,
        to=snakemake.output[0],
    )

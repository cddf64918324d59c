from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.preprocess import build_corpus

    build_corpus(
        running,
        settings=snakemake.params.settings,
        sources=list(snakemake.input.sources),
        model=snakemake.input.model,
        to=snakemake.output[0],
    )

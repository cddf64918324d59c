from retort.job.context import job

with job(snakemake) as running:
    from retort.report.index import make_index

    make_index(
        running,
        config=snakemake.config,
        audit=list(snakemake.input.audit),
        to=snakemake.output[0],
    )

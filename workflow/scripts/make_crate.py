from retort.engine.job import job

with job(snakemake) as running:
    from retort.report.crate import make_crate

    make_crate(running, config=snakemake.config, to=snakemake.output[0], folder=snakemake.params.folder)

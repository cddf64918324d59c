from retort.job.context import job

with job(snakemake) as running:
    from retort.report.index import make_audit

    make_audit(running, config=snakemake.config, to=snakemake.output[0])

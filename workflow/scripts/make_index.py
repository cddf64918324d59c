from retort.jobs import job

with job(snakemake) as running:
    from retort.report.page import make_index

    make_index(running, config=snakemake.config, to=snakemake.output[0])

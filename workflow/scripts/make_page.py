from retort.job.context import job

with job(snakemake) as running:
    from retort.report.page import make_page

    make_page(running, config=snakemake.config, paper=snakemake.wildcards.paper, to=snakemake.output[0])

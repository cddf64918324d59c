from retort.job.script import job

with job(snakemake) as running:
    from retort.report.printed_pages import make_printed_pages

    make_printed_pages(
        running,
        config=snakemake.config,
        to=snakemake.output.pages,
        entries=snakemake.output.entries,
    )

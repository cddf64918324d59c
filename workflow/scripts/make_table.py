from retort.job.context import job

with job(snakemake) as running:
    from retort.tables.make import make_table

    make_table(
        running,
        config=snakemake.config,
        paper=snakemake.wildcards.paper,
        table=snakemake.wildcards.table,
        scores=snakemake.input.scores,
        profiles=snakemake.input.profiles,
        csv=snakemake.output.csv,
        renders={kind: snakemake.output[kind] for kind in ("md", "tex", "html")},
    )

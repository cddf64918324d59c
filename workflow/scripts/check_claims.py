from retort.job.context import job

with job(snakemake) as running:
    from retort.tables.claims import check_claims

    check_claims(
        running,
        config=snakemake.config,
        paper=snakemake.wildcards.paper,
        tables=snakemake.input.tables,
        judged=snakemake.output.judged,
        renders={kind: snakemake.output[kind] for kind in ("md", "html")},
    )

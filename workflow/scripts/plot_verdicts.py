from retort.engine.job import job

with job(snakemake) as running:
    from retort.figures.differences import plot_verdicts

    plot_verdicts(
        running,
        csv=snakemake.input.csv,
        renders={kind: snakemake.output[kind] for kind in ("svg", "png")},
    )

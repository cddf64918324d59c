from retort.job.context import job

with job(snakemake) as running:
    from retort.tables.figures.base import plot_figure

    plot_figure(
        running,
        config=snakemake.config,
        paper=snakemake.wildcards.paper,
        figure=snakemake.wildcards.figure,
        scores=snakemake.input.scores,
        profiles=snakemake.input.profiles,
        tables=snakemake.input.tables,
        csv=snakemake.output.csv,
        renders={kind: snakemake.output[kind] for kind in ("svg", "png")},
    )

"""Figures."""


rule plot_figure:
    """Collect a figure's points into a frame, kept as CSV, and draw it."""
    input:
        figure=reads.file_of_figure,
        scores=reads.scores_of_figure,
        profiles=reads.profiles_of_figure,
        tables=reads.tables_of_figure,
    output:
        csv="results/tables/{paper}/{figure}.csv",
        svg=report(
            "reports/{paper}/{figure}.svg",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="figures",
            labels={"figure": "{figure}"},
        ),
        png="reports/{paper}/{figure}.png",
    log:
        "results/logs/plot_figure/{paper}.{figure}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
        left_out=prints.left_out_of_figure,
        scale=prints.scale,
    script:
        "../scripts/plot_figure.py"

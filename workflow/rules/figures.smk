"""Figures."""


rule plot_figure:
    """Collect a figure's points into a tidy CSV and draw it."""
    input:
        figure=plan.figure_file,
        scores=plan.figure_scores,
        profiles=plan.figure_profiles,
        tables=plan.figure_tables,
    output:
        csv="results/tables/{paper}/{figure}.csv",
        svg=report(
            "reports/{paper}/{figure}.svg",
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
        left_out=exhibit_params.left_out_of_figure,
    script:
        "../scripts/plot_figure.py"

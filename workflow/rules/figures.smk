"""Figures."""


rule plot_figure:
    """Collect a figure's points into a tidy CSV and draw it."""
    input:
        figure=exhibits.figure_file,
        scores=exhibits.figure_scores,
        profiles=exhibits.figure_profiles,
        tables=exhibits.figure_tables,
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


rule plot_verdicts:
    """Draw how far a table's scores are from the published ones, with intervals and verdicts."""
    input:
        csv="results/tables/{paper}/{table}.csv",
    output:
        svg=report(
            "reports/{paper}/{table}.svg",
            category="{paper}",
            subcategory="verdicts",
            labels={"table": "{table}"},
        ),
        png="reports/{paper}/{table}.png",
    log:
        "results/logs/plot_verdicts/{paper}.{table}.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/plot_verdicts.py"

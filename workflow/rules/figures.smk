"""Figures."""


rule plot_figure:
    """Collect a figure's points into a tidy CSV and draw it."""
    input:
        **rule_of["plot_figure"].inputs,
    output:
        **rule_of["plot_figure"].outputs,
    log:
        rule_of["plot_figure"].log,
    wildcard_constraints:
        **rule_of["plot_figure"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["plot_figure"].params,
    script:
        "../scripts/plot_figure.py"

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


rule plot_verdicts:
    """Draw how far a table's scores are from the published ones, with intervals and verdicts."""
    input:
        **rule_of["plot_verdicts"].inputs,
    output:
        **rule_of["plot_verdicts"].outputs,
    log:
        rule_of["plot_verdicts"].log,
    wildcard_constraints:
        **rule_of["plot_verdicts"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["plot_verdicts"].params,
    script:
        "../scripts/plot_verdicts.py"

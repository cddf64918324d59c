"""The page that people read and send on."""


rule make_index:
    """Put tables, figures, claims, settings and provenance on one self-contained page."""
    input:
        papers=plan.paper_files(),
        tables=plan.report_inputs("table"),
        figures=plan.report_inputs("figure"),
        claims=plan.report_inputs("claims"),
    output:
        "reports/index.html",
    log:
        "results/logs/make_index.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/make_index.py"


rule make_audit:
    """Hold every printed number of the papers against the others, and print what cannot be right."""
    input:
        papers=plan.audit_files(),
    output:
        "reports/audit.html",
    log:
        "results/logs/make_audit.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/make_audit.py"

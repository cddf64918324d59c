"""Tables: scores collected, checked against the study, reported next to what was published."""


rule make_table:
    """Collect a table's scores into a frame, kept as CSV, and print it as Markdown, LaTeX and HTML."""
    input:
        table=reads.file_of_table,
        scores=reads.scores_of_table,
        profiles=reads.profiles_of_table,
        trials=reads.trials_of_table,
        submissions=reads.submissions_of_table,
        recorded=reads.records_next_to_table,
    output:
        csv="results/tables/{paper}/{table}.csv",
        md="reports/{paper}/{table}.md",
        tex="reports/{paper}/{table}.tex",
        html=report(
            "reports/{paper}/{table}.html",
            caption="../captions/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{table}"},
        ),
    log:
        "results/logs/make_table/{paper}.{table}.log",
    priority: priority("make_table")
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
        compares=prints.compares,
        left_out=prints.left_out_of_table,
        verdicts=prints.verdicts,
        settings=prints.shown_settings,
        scale=prints.scale,
    script:
        "../scripts/make_table.py"


rule check_claims:
    """Judge a paper's claims on the reported numbers and on ours."""
    input:
        claims=reads.files_of_claims,
        tables=reads.tables_of_claims,
    output:
        html=report(
            "reports/{paper}/claims.html",
            caption="../captions/claims.rst",
            category="{paper}",
        ),
        md="reports/{paper}/claims.md",
        judged="results/tables/{paper}/claims.json",
    log:
        "results/logs/check_claims/{paper}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
    script:
        "../scripts/check_claims.py"

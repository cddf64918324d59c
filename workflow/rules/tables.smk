"""Tables: scores collected, checked against the study, printed beside what was published."""

from retort.plan.exhibit_params import ExhibitParams
from retort.plan.exhibits import Exhibits

exhibits = Exhibits(plan)
exhibit_params = ExhibitParams(plan.study)


rule make_table:
    """Collect a table's scores into a tidy CSV and print it as Markdown, LaTeX and HTML."""
    input:
        table=exhibits.table_file,
        scores=exhibits.table_scores,
        profiles=exhibits.table_profiles,
        submissions=submit.of_table,
    output:
        csv="results/tables/{paper}/{table}.csv",
        md="reports/{paper}/{table}.md",
        tex="reports/{paper}/{table}.tex",
        html=report(
            "reports/{paper}/{table}.html",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{table}"},
        ),
    log:
        "results/logs/make_table/{paper}.{table}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        compares=exhibit_params.compares,
        left_out=exhibit_params.left_out_of_table,
        verdicts=exhibit_params.verdicts,
        settings=exhibit_params.settings,
    script:
        "../scripts/make_table.py"


rule check_claims:
    """Judge a paper's claims on the published numbers and on ours."""
    input:
        claims=exhibits.claims_files,
        tables=exhibits.claim_tables,
    output:
        md="reports/{paper}/claims.md",
        html=report("reports/{paper}/claims.html", category="{paper}"),
    log:
        "results/logs/check_claims/{paper}.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/check_claims.py"

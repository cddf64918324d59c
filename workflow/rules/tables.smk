"""Tables: scores collected, checked against the study, printed beside what was published."""


rule make_table:
    """Collect a table's scores into a tidy CSV and print it as Markdown, LaTeX and HTML."""
    input:
        **rule_of["make_table"].inputs,
    output:
        **rule_of["make_table"].outputs,
    log:
        rule_of["make_table"].log,
    wildcard_constraints:
        **rule_of["make_table"].constraints,
    priority: rule_of.priority(rule_of["make_table"])
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["make_table"].params,
    script:
        "../scripts/make_table.py"


rule check_claims:
    """Judge a paper's claims on the published numbers and on ours."""
    input:
        **rule_of["check_claims"].inputs,
    output:
        **rule_of["check_claims"].outputs,
    log:
        rule_of["check_claims"].log,
    wildcard_constraints:
        **rule_of["check_claims"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["check_claims"].params,
    script:
        "../scripts/check_claims.py"

"""The pages that people read and send on: an index, a page a paper, the audit."""


rule make_page:
    """Put a paper's tables, figures, claims, settings and provenance on one self-contained page."""
    input:
        **rule_of["make_page"].inputs,
    output:
        **rule_of["make_page"].outputs,
    log:
        rule_of["make_page"].log,
    wildcard_constraints:
        **rule_of["make_page"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["make_page"].params,
    script:
        "../scripts/make_page.py"


rule make_index:
    """Say of each paper in a line what was measured and what holds, and lead to the pages."""
    input:
        **rule_of["make_index"].inputs,
    output:
        **rule_of["make_index"].outputs,
    log:
        rule_of["make_index"].log,
    wildcard_constraints:
        **rule_of["make_index"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["make_index"].params,
    script:
        "../scripts/make_index.py"


rule make_audit:
    """Hold every printed number of the papers against the others, and print what cannot be right."""
    input:
        **rule_of["make_audit"].inputs,
    output:
        **rule_of["make_audit"].outputs,
    log:
        rule_of["make_audit"].log,
    wildcard_constraints:
        **rule_of["make_audit"].constraints,
    conda:
        "../../envs/tables.yaml"
    params:
        **rule_of["make_audit"].params,
    script:
        "../scripts/make_audit.py"

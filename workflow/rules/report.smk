"""The pages that people read and send on: an index, a page a paper, the audit."""


rule make_page:
    """Put a paper's tables, figures, claims, settings and provenance on one self-contained page."""
    input:
        files=reads.files_of_page,
        rendered=reads.exhibits_on_page,
        claims=reads.claims_on_page,
    output:
        page=report(
            "reports/{paper}/index.html",
            caption="../captions/page.rst",
            category="{paper}",
            labels={"page": "the whole page"},
        ),
    log:
        "results/logs/make_page/{paper}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
        deviations=prints.deviations,
        contact=plan.config.contact,
    script:
        "../scripts/make_page.py"


rule make_index:
    """Say of each paper in a line what was measured and what holds, and lead to the pages."""
    input:
        files=reads.files_of_index,
        tables=reads.tables_of_index,
        headlines=reads.headlines,
        claims=reads.claims_of_index,
        pages=ancient(reads.pages_of_papers),
        audit=ancient(reads.page_of_audit),
    output:
        page="reports/index.html",
    log:
        "results/logs/make_index.log",
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
        missing=plan.config.run_sources.missing,
        failed=plan.config.run_sources.failures,
        contact=plan.config.contact,
    script:
        "../scripts/make_index.py"


rule make_audit:
    """Hold every reported number of the papers against the others, and print what cannot be right."""
    input:
        papers=reads.files_of_audit,
    output:
        page=report("reports/audit.html", caption="../captions/audit.rst", category="audit"),
    log:
        "results/logs/make_audit.log",
    conda:
        "../../envs/tables.yaml"
    params:
        code=prints.code,
        contact=plan.config.contact,
    script:
        "../scripts/make_audit.py"

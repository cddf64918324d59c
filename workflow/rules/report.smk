"""The pages that people read and send on: an index, a page a paper, the audit."""

from retort.plan.pages import Pages

pages = Pages(plan)


rule make_page:
    """Put a paper's tables, figures, claims, settings and provenance on one self-contained page."""
    input:
        files=pages.files,
        rendered=pages.rendered,
        claims=pages.claims,
    output:
        "reports/{paper}/index.html",
    log:
        "results/logs/make_page/{paper}.log",
    conda:
        "../../envs/tables.yaml"
    params:
        deviations=pages.deviations,
    script:
        "../scripts/make_page.py"


rule make_index:
    """Say of each paper in a line what was measured and what holds, and lead to the pages."""
    input:
        papers=pages.papers,
        tables=pages.tidy,
        headlines=pages.headlines,
        claims=pages.judged,
        pages=ancient(pages.pages),
        audit=ancient(pages.audit),
        printed=pages.entries,
    output:
        "reports/index.html",
    log:
        "results/logs/make_index.log",
    conda:
        "../../envs/tables.yaml"
    params:
        missing=plan.config.run_sources.missing,
        failed=plan.config.run_sources.failures,
    script:
        "../scripts/make_index.py"


rule make_printed_pages:
    """Print the papers that this scale does not run, with their claims, plans and costs, in one process."""
    input:
        papers=pages.audited,
    output:
        pages=pages.printed,
        entries="results/tables/printed.json",
    log:
        "results/logs/make_printed_pages.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/make_printed_pages.py"


rule make_audit:
    """Hold every printed number of the papers against the others, and print what cannot be right."""
    input:
        papers=pages.audited,
    output:
        "reports/audit.html",
    log:
        "results/logs/make_audit.log",
    conda:
        "../../envs/tables.yaml"
    script:
        "../scripts/make_audit.py"


rule make_crate:
    """Pack the run as an RO-Crate for an archive; only when it is asked for by name."""
    input:
        index="reports/index.html",
        pages=[*pages.pages, *pages.printed],
        tables=pages.tidy,
    output:
        "reports/ro-crate.zip",
    log:
        "results/logs/make_crate.log",
    conda:
        "../../envs/tables.yaml"
    params:
        folder=str(plan.config.folder),
    script:
        "../scripts/make_crate.py"

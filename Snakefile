"""The study, as a table of contents. `make run` rebuilds every table of the papers in config.yaml."""


include: "workflow/rules/common.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/teachers.smk"
include: "workflow/rules/students.smk"
include: "workflow/rules/finetune.smk"
include: "workflow/rules/submissions.smk"
include: "workflow/rules/profiles.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


localrules:
    all,
    fetch_source,
    save_student,
    make_table,
    plot_figure,
    check_claims,
    write_submission,
    make_page,
    make_index,
    make_audit,


rule all:
    """The index, the pages of the papers with every table and figure, also of those that are not run, and the audit."""
    default_target: True
    input:
        study.everything,

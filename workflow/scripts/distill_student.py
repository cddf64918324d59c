from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.distill import distill_student

    distill_student(
        running,
        settings=snakemake.params.settings,
        student=snakemake.wildcards.student,
        corpora={name: snakemake.input[name] for name in snakemake.params.settings["corpora"]},
        teacher=snakemake.input.teacher,
        model=snakemake.input.model,
        parent=next(iter(snakemake.input.parent), None),
        to=snakemake.output.model,
    )

from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.teacher import fit_teacher_head

    fit_teacher_head(
        running,
        settings=snakemake.params.settings,
        teacher=snakemake.wildcards.teacher,
        corpus=snakemake.wildcards.corpus,
        blocks=snakemake.input.blocks,
        model=snakemake.input.model,
        to=snakemake.output[0],
    )

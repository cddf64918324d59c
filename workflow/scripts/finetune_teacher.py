from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.teacher import finetune_teacher

    finetune_teacher(
        running,
        settings=snakemake.params.settings,
        teacher=snakemake.wildcards.teacher,
        task=snakemake.wildcards.task,
        encoded=snakemake.input.encoded,
        model=snakemake.input.model,
        to=snakemake.output.model,
        score=snakemake.output.score,
    )

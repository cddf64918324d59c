from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.finetune import finetune_student

    finetune_student(
        running,
        settings=snakemake.params.settings,
        student=snakemake.wildcards.student,
        task=snakemake.wildcards.task,
        seed=int(snakemake.wildcards.seed),
        model=snakemake.input.student,
        encoded=snakemake.input.encoded,
        trials=snakemake.input.trials,
        score=snakemake.output.score,
        weights=snakemake.output.get("weights"),
    )

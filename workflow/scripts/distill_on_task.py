from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.distill import distill_on_task

    distill_on_task(
        running,
        settings=snakemake.params.settings,
        student=snakemake.wildcards.student,
        task=snakemake.wildcards.task,
        seed=int(snakemake.wildcards.seed),
        encoded=snakemake.input.encoded,
        teacher=snakemake.input.teacher or None,
        model=snakemake.input.model,
        parent=next(iter(snakemake.input.parent), None),
        activations=snakemake.input.activations or None,
        score=snakemake.output.score,
        weights=snakemake.output.get("weights"),
    )

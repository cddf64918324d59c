from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.finetune import run_grid

    run_grid(
        running,
        settings=snakemake.params.settings,
        student=snakemake.input.student,
        encoded=snakemake.input.encoded,
        part=int(snakemake.wildcards.part),
        parts=int(snakemake.wildcards.parts),
        trials=snakemake.output[0],
    )

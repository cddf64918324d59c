from retort.job.context import job

with job(snakemake) as running:
    from retort.training.stages.distill import save_student

    save_student(running, snakemake.wildcards.student, snakemake.input.folder, snakemake.output.model)

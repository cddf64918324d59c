from retort.engine.script import job

with job(snakemake) as running:
    from retort.stages.distill import save_student

    save_student(running, folder=snakemake.input.folder, output=snakemake.output.model)

from retort.jobs import job

with job(snakemake) as running:
    from retort.stages.profile import profile_student

    profile_student(
        running,
        settings=snakemake.params.settings,
        student=snakemake.wildcards.student,
        model=snakemake.input.model,
        profile=snakemake.output[0],
    )

from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TaskDistillationSettings
    from retort.training.stages.activations import record_activations

    record_activations(
        running,
        students={
            name: TaskDistillationSettings.model_validate(own) for name, own in snakemake.params.settings.items()
        },
        encoded_folder=snakemake.input.encoded,
        teacher_folder=snakemake.input.teacher,
        output=snakemake.output.folder,
    )

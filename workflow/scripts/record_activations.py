from retort.job.script import job

with job(snakemake) as running:
    from retort.settings.trainings import ActivationSettings
    from retort.training.stages.teacher import record_activations

    record_activations(
        running,
        settings=ActivationSettings.model_validate(snakemake.params.settings),
        encoded_folder=snakemake.input.encoded,
        teacher_folder=snakemake.input.teacher,
        output=snakemake.output[0],
    )

from retort.job.context import job

with job(snakemake) as running:
    from retort.settings.trainings import TaskDistillationSettings
    from retort.specs.config import Licences
    from retort.training.stages.distill import TaskFolders, distill_on_task
    from retort.training.stages.kept_seeds import each_seed

    licences = Licences.in_run(snakemake.config)
    for own, score, weights in each_seed(running, snakemake):
        distill_on_task(
            own,
            settings=TaskDistillationSettings.model_validate(snakemake.params.settings),
            score=score,
            folders=TaskFolders.of(snakemake.input),
            trials_files=list(snakemake.input.trials),
            weights_folder=weights,
            licences=licences.of(score.student, score.task) if weights else {},
        )

"""The settings of jobs, from the plan to a score file: one frozen, typed model for each type of job.

The plan resolves a study into these models. Their JSON values are the params of the Snakemake rules (a changed value
re-runs the job) and stand in every result. They are read without torch.
"""

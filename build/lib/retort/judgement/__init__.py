"""Judgement: verdicts on cells, paired tests of rows, and what decides a claim."""

"""Answers to the exercises that `gru_lib.check` looks at, by family: short programs as a reader would write them.

A mistake is planted in one by replacing a piece of its text.
"""

from check_answers import elman, forms, gru, layers, losses, lstm, optimisers, sequences, series

FAMILIES = (elman, forms, gru, layers, losses, lstm, optimisers, sequences, series)
ANSWERS = {name: answer for family in FAMILIES for name, answer in family.ANSWERS.items()}
PLANTED = [(name, *slip) for family in FAMILIES for name, slips in family.PLANTED.items() for slip in slips]

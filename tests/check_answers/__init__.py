"""Answers to the exercises that `gru_book.check` looks at, by family: short programs as a reader would write them.

A mistake is planted in one by replacing a piece of its text. The checker's tests ask that each is named.
"""

from check_answers import bugs, elman, forms, gru, layers, losses, lstm, machines, optimisers, scans, sequences, series

FAMILIES = (bugs, elman, forms, gru, layers, losses, lstm, machines, optimisers, scans, sequences, series)
ANSWERS = {name: answer for family in FAMILIES for name, answer in family.ANSWERS.items()}
VARIANTS = gru.VARIANTS
PLANTED = [(name, *slip) for family in FAMILIES for name, slips in family.PLANTED.items() for slip in slips]

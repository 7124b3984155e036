"""Mutants: the engines and the kernel with one safeguard broken each, which the kit must notice.

A suite that passes shows little until it is known what it would not let pass. Every mutant here is a mistake that
real stores make; `hunt` runs the kit against each of them and says which case caught it, or that none did. A survivor
is a case that is missing. The themes are in modules of their own; `registry` finds them all.
"""

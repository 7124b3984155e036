"""Commands as processes: run one to its end, its timeout or its cancellation, and keep what it wrote.

The modules here know no store. `execution` runs a command, `logs` keeps its output, `environment` is what it gets.
"""

"""Infrastructure of runs: jobs in processes, steps, locks, signals, atomic files."""

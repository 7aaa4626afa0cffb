"""What a run needs around its work: jobs in processes, steps, locks, signals, whole files."""

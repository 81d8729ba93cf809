"""The kernel explorer: where a language model's step spends its time, and what would help."""

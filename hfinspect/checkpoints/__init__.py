"""Which of a model's files are its weights, and reading them: joins sources and formats."""

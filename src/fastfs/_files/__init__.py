"""Files at their lowest level, for the inputs and the formats: checks, errors that name them, memory."""

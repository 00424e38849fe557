"""The machine that a call runs on: threads, memory, progress, BLAS."""

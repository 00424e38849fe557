"""What repeats a method: permutations, subsamples, rankings side by side."""

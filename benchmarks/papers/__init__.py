"""Experiments of the papers, each with the paper's number beside ours; `protocol` is what they share."""

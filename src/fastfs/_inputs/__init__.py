"""The arguments of a call, checked and converted."""

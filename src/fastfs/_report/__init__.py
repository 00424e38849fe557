"""Reports: the numbers of several methods on one table, as a page, and whether they come back."""

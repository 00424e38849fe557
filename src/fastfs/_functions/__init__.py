"""One file per method: options, function, result, messages."""

"""A file a method: options, function, result, messages."""

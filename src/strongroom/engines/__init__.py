"""The engines: the only code that knows a database. Each is opened through the registry, by its URL's scheme."""

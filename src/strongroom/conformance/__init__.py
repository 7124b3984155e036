"""The conformance kit: what an engine, or a store of anybody's, must be shown to keep."""

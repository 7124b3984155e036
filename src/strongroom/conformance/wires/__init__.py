"""What goes over the wire between an engine and its server, as far as a proxy must follow it; one module each."""

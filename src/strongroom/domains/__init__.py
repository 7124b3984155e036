"""The domains: ready stores for kinds of control plane, each on the port alone."""

"""The domains: ready stores for five kinds of control plane, each on the port alone."""

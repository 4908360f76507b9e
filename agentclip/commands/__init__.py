"""Our own commands: one file each, and the registry that gives them three levels of help."""

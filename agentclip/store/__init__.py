"""Sessions on disk: the append-only event log, its lock, its repair and the listing."""

"""LAYER 1: Unix execution. A line comes in, processes run on kernel pipes, a ChainResult goes out; nothing is shortened."""

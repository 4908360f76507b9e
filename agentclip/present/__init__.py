"""LAYER 2: what the model reads of a finished run. Pure: a ChainResult comes in, a Presented goes out."""

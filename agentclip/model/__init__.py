"""Providers behind one Protocol. A conversation comes in, parts of a reply come out; no history is held here."""

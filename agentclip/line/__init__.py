"""The line mode: a whole session line by line, for terminals that cannot show the screen and for people who prefer it."""

"""What the pages print: tables, figures, named results, and the gate of the build."""

"""What crosses a process or a file: its base, its one writer, its one reader, its characters."""

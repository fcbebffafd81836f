"""What commands print: lines, drawings, JSON, progress."""

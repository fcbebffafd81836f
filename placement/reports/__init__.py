"""Answers of extensions as text for terminals of 80 columns, without colour."""

"""Allocations whose consumer is gone: the command audit.

Read `audit` first: `Auditor.orphans` finds them by `compute.consumers.rules`. `audit_reads` reads
placement, `grace` leaves out what was written just now, `deletion` deletes. `lacking` finds guests
that hold too little, and `suspects` asks Berth what else looks wrong.
"""

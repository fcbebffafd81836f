"""The running compute service.

Read `manager` first: its start, its regular update, and which failure ends it. `runner` runs the
manager until a signal comes (`signals`). `start_checks` refuses a host that isn't the host of its
records. `drivers` finds the driver, which may call back through `virtapi`.
"""

"""What each room of the code may import: the design as a table (architecture.rst)."""

#: the packages, each of which may import what stands before it
OURS = ("placement", "compute", "virt")

#: package → room → what the room's files may import of ours, beside their own room. A room is a
#: folder, at any depth, or a module of its own. Names without a package are rooms, or modules, of
#: the same one. The files of a room that isn't listed are those of the room around it
MAY_IMPORT: dict[str, dict[str, set[str]]] = {
    "placement": {
        "errors": set(),
        # what is installed; it needs nothing of ours
        "installation": set(),
        "domain": {"errors"},
        "microversions": {"errors"},
        "config": set(),
        "conf": {"config"},
        # numbers in memory, of whatever is counted
        "metrics": set(),
        "storage": {"domain", "errors", "metrics"},
        # from the tables to the drivers, no arrow up
        "storage.tables": set(),
        "storage.driver": {"errors", "storage.uuid_rows"},
        "storage.database": {"errors", "metrics", "storage.driver", "storage.tables"},
        "storage.whole_cloud": {
            "storage.database",
            "storage.driver",
            "storage.tables",
            "storage.uuid_rows",
        },
        "storage.feed": {
            "errors",
            "storage.database",
            "storage.driver",
            "storage.tables",
            "storage.whole_cloud",
        },
        # a claim searches and writes
        "operations": {"candidates", "domain", "errors", "storage"},
        # the chain
        "candidates": {"domain", "errors", "metrics", "microversions", "storage"},
        "candidates.cloud": {
            "candidates.request",
            "candidates.slots",
            "candidates.tree_problem",
            "domain",
            "storage.feed.change_feed",
            "storage.uuid_rows",
        },
        "candidates.live": {"candidates.cloud", "errors", "metrics", "storage"},
        "candidates.masks": {
            "candidates.cloud",
            "candidates.request",
            "candidates.slots",
            "candidates.tree_problem",
            "domain",
            "errors",
        },
        "candidates.trees": {
            "candidates.budget",
            "candidates.cloud",
            "candidates.masks",
            "candidates.request",
            "candidates.slots",
            "candidates.tree_problem",
        },
        "schemas": {"domain", "errors", "microversions"},
        "policies": {"errors"},
        # the call object hands handlers what they work with
        "http": {
            "candidates",
            "config.keystone_authtoken",
            "config.logs",
            "domain",
            "errors",
            "metrics",
            "microversions",
            "policies",
            "schemas",
            "storage.database.engine",
            # whether it was the database that failed, and what may be said of it
            "storage.driver.error_log",
            # whether another worker or host wrote meanwhile
            "storage.feed.feed_watch",
            # what lists and usages are
            "storage.provider_list",
            "storage.usages",
        },
        "handlers": {
            "candidates",
            "domain",
            "errors",
            "http",
            "metrics.families",
            "microversions",
            "operations",
            "policies",
            "schemas",
            "storage",
        },
        # handlers by name: they are imported when requests first need them
        "routes": {"handlers", "http.endpoint", "microversions"},
        # features by name: they are added to OpenStack Placement's own
        "features": {"policies", "routes", "schemas"},
        # what OpenStack Placement doesn't have; see also BETWEEN_FEATURES
        "extensions": {
            *("candidates", "config.keystone_authtoken", "domain", "errors", "features"),
            *("handlers", "http", "installation", "metrics", "microversions", "operations"),
            *("policies", "routes", "schemas", "storage"),
        },
        # what searches need, and a stand-in for it until there is a search
        "search_parts": {
            "candidates",
            "extensions",
            "http.environ",
            "installation",
            "metrics",
            "operations",
            "storage",
        },
        "searching": {
            *("candidates", "domain", "extensions", "http.environ", "operations", "search_parts"),
            "storage",
        },
        "app": {
            "candidates",
            "config",
            "errors",
            "extensions",
            "features",
            "http",
            "installation",
            "metrics",
            "operations",
            "policies",
            "routes",
            "search_parts",
            "searching",
            "storage",
        },
        "wsgi": {
            *("app", "config", "http", "installation"),
            *("extensions.monitoring", "extensions.names"),
        },
        "deploy": {"app", "extensions.monitoring", "http"},
        "direct": {"app", "config", "http"},
        # of any two services: it imports none
        "compare": set(),
        # answers as text
        "reports": {"config.logs"},
        # between sockets and the application
        "serving": {"errors", "http"},
        "cli": {
            "app",
            "compare",
            "config",
            "errors",
            # the description of the API
            "extensions.openapi",
            # what its workers count, and a port for it
            "extensions.monitoring",
            "http",
            "installation",
            "metrics",
            "microversions",
            "reports",
            "routes",
            "serving.address",
            "serving.gunicorn_master",
            "storage",
            "wsgi",
        },
    },
    "compute": {
        "exceptions": set(),
        "config": set(),
        "provider_tree": {"exceptions"},
        # what is called of a driver
        "driver": {"exceptions", "provider_tree"},
        "provider_config": {"config", "exceptions", "provider_tree"},
        "records": {"exceptions", "provider_tree"},
        # the one translation of a guest's flavor, image and ports: pure
        "requests": {"records", "report.consumers.resource_request"},
        "requests.reading": {"records"},
        "requests.features": {"requests.reading"},
        "consumers": {"provider_tree", "records", "requests"},
        "pci": {"exceptions", "provider_tree", "requests.reading"},
        # the one placement of what a guest asks for: pure
        "shares": {
            *("consumers", "pci.devices", "pci.tags", "provider_tree", "requests"),
            "report.consumers.resource_request",
        },
        "report": {"config", "exceptions", "provider_tree"},
        "report.wire": {"config", "exceptions"},
        "report.trees": {"exceptions", "provider_tree", "report.wire"},
        "report.consumers": {"exceptions", "provider_tree", "report.trees", "report.wire"},
        "resource_tracker": {
            # the defaults of a tracker that is made without a configuration
            "config",
            "driver",
            "exceptions",
            "pci",
            "provider_config",
            "provider_tree",
            "records",
            "report",
        },
        "resource_tracker.node": {
            *("consumers", "driver", "exceptions", "pci", "provider_tree", "records", "report"),
        },
        "resource_tracker.allocations": {
            *("consumers", "exceptions", "pci", "provider_tree", "records", "report"),
            *("requests", "resource_tracker.node", "shares"),
        },
        "resource_tracker.provider_yaml": {
            *("exceptions", "provider_config", "provider_tree", "report"),
        },
        "resource_tracker.reporting": {
            *(
                "consumers",
                "driver",
                "exceptions",
                "pci",
                "provider_config",
                "provider_tree",
                "records",
            ),
            *("report", "resource_tracker.allocations", "resource_tracker.node"),
            "resource_tracker.provider_yaml",
        },
        "resource_tracker.claims": {
            *("consumers", "exceptions", "pci", "provider_tree", "records", "report"),
            *("resource_tracker.allocations", "resource_tracker.node"),
            "resource_tracker.reporting",
        },
        "service": {
            "driver",
            "exceptions",
            "provider_tree",
            "records",
            "report",
            "resource_tracker",
        },
        # what programs count; they hand it to the parts that count
        "metrics": {"exceptions", "report.wire.failures"},
        "maintenance": {
            "driver",
            "exceptions",
            "provider_tree",
            "records",
            "report",
            "requests",
            # what a driver may ask of a command
            "service.driver_callbacks",
        },
        # a room a command; no command knows another
        "maintenance.adopt": {
            *("exceptions", "maintenance.provider_details", "provider_tree", "report"),
        },
        "maintenance.audit": {
            *("consumers", "exceptions", "maintenance.guests", "maintenance.journal"),
            *("maintenance.provider_details", "provider_tree", "records", "report"),
        },
        "maintenance.drain": {
            *("maintenance.devices", "maintenance.fitting", "maintenance.moving"),
            *("maintenance.provider_details", "records", "report"),
        },
        # what guests ask for when they move, for the commands that plan moves
        "maintenance.moving": {"provider_tree", "records", "report", "requests"},
        # what guests should have, for the commands that compare it with placement
        "maintenance.guests": {
            *("consumers", "exceptions", "maintenance.provider_details", "provider_tree"),
            *("records", "report", "requests", "shares"),
        },
        "maintenance.heal": {
            *("consumers", "exceptions", "maintenance.guests", "maintenance.provider_details"),
            *("provider_tree", "records", "report", "requests", "shares"),
        },
        "maintenance.migrate": {
            *("driver", "exceptions", "maintenance.provider_details", "provider_config"),
            *("provider_tree", "records", "report", "resource_tracker"),
        },
        "cli": {
            "config",
            "exceptions",
            "maintenance",
            "provider_tree",
            "records",
            "report",
            "requests",
            "resource_tracker",
            "service",
            "placement.installation",
            # the embedded service, for commands that open the database themselves
            "placement.direct",
            # answers of extensions as text
            "placement.reports",
            # drawings for files that a browser shows
            "placement.extensions.page.drawing_file",
            # a thread that serves pages of metrics on a port of this machine
            # which options nobody reads
            "placement.config.misspelt",
            "placement.extensions.monitoring.port",
            "metrics",
        },
        # commands of `openstack`, which ask any placement
        "osc": {
            *("maintenance", "provider_tree", "records", "requests"),
            *("placement.extensions.suspects.rules", "placement.reports"),
        },
        # it runs our programs, each a process of its own
        "demo": {"provider_tree"},
        # where nova has these
        "claims": {"resource_tracker"},
        "manager": {"service"},
    },
    "virt": {
        "virtapi": {"compute.service.driver_callbacks"},
        "capabilities": set(),
        "driver": {
            "capabilities",
            "compute.config",
            "compute.provider_tree",
            "compute.service.driver_callbacks",
            "compute.service.drivers",
        },
        "inventory": {"compute.provider_tree"},
        "ownership": {"compute.exceptions", "compute.provider_tree"},
        "pci_device": {"compute.pci"},
        "reshape": {"compute.exceptions", "compute.provider_tree", "inventory", "ownership"},
        "sriov": {
            "compute.exceptions",
            "compute.pci",
            "compute.provider_tree",
            "inventory",
            "ownership",
            "pci_device",
            "reshape",
        },
        "testing": {"compute.exceptions", "compute.provider_tree", "driver", "inventory"},
        "node": {
            "compute.config.devices",
            "compute.exceptions",
            "compute.pci",
            "compute.provider_tree",
            "driver",
            "inventory",
            "ownership",
            "pci_device",
            "reshape",
            "sriov",
            "virtapi",
        },
        # the drivers, none of which knows another
        "fake": {
            "compute.exceptions",
            "compute.provider_tree",
            "driver",
            "inventory",
            "ownership",
            "reshape",
            "sriov",
            "virtapi",
        },
        "host": {"compute.exceptions", "node", "pci_device", "virtapi"},
        "ironic": {
            "compute.config.credentials",
            "compute.config.yaml_file",
            "compute.exceptions",
            "compute.provider_tree",
            "driver",
            "inventory",
            "virtapi",
        },
        "libvirt": {"compute.exceptions", "node", "pci_device", "virtapi"},
    },
}

#: feature → the features that it may import: what they share isn't OpenStack Placement's
BETWEEN_FEATURES = {
    "allocations_query": {"provider_trees"},
    "capacity": {"explain", "what_if"},
    "claims": {"explain"},
    "evacuation": {"claims", "explain", "what_if"},
    "explain": {"what_if"},
    "monitoring": {"suspects"},
    "openapi": {"monitoring"},
    "survives": {"evacuation", "explain", "plans", "what_if"},
    "plans": {"capacity", "claims", "evacuation", "explain", "what_if"},
}
#: what connects the parts, and so knows the features
ABOVE_FEATURES = {"app", "cli", "deploy", "extensions", "search_parts", "searching", "wsgi"}

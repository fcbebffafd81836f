"""What compute services remember: nodes, instances, migrations, services, aggregates."""

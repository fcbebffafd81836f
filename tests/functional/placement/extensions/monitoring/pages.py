"""Reading pages of metrics."""

from prometheus_client.parser import text_string_to_metric_families

NEIGHBOUR = {"REMOTE_ADDR": "127.0.0.1"}


def page(service, path="/metrics", neighbour=NEIGHBOUR, **more):
    """Ask for a page as a Prometheus on the same machine does."""
    return service.client.get(path, environ_overrides=neighbour, **more)


def samples(response):
    """Return the values of a page, by name and labels."""
    assert response.status_code == 200, response.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(response, name, **labels):
    """Return one value; 0 if there is no such series."""
    return samples(response).get((name, tuple(sorted(labels.items()))), 0)

from compute.service.driver_callbacks import NoopVirtAPI


def test_the_noop_virtapi_runs_the_body_at_once():
    ran = []

    with NoopVirtAPI().wait_for_instance_event(None, [("network-vif-plugged", "port")]):
        ran.append(True)

    assert ran == [True]


def test_the_noop_virtapi_keeps_its_node_uuid():
    virtapi = NoopVirtAPI()

    assert virtapi.local_node_uuid() == virtapi.local_node_uuid()


def test_the_noop_virtapi_knows_no_instances_and_no_migrations():
    virtapi = NoopVirtAPI()

    assert (virtapi.instances_of_host("host1"), virtapi.migrating_instance("a")) == (set(), None)

"""A test of a client library: replace `my_client` with your own."""

import subprocess


def test_a_join_survives_the_loss_of_its_start_info(teetap_proxy):
    p = teetap_proxy("127.0.0.1:8303", rules="lose when cl_start_info first 1")
    client = subprocess.Popen(["./my-client", p.addr.host, str(p.addr.port)])
    try:
        p.wait("c2s and cl_start_info and resend", timeout=10)
        p.wait("s2c and any_snap", timeout=10)
    finally:
        client.terminate()
        client.wait()
    p.stop()
    assert p.findings(side="client", severity="error") == []

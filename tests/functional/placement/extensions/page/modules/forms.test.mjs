import assert from "node:assert/strict";
import { test } from "node:test";
import { asCommand, asSpecs, ofCommand, ofSpecs } from "../../../../../../placement/extensions/page/static/model/forms.js";

const QUERY = "resources=VCPU:4,MEMORY_MB:8192&required=A,!B&resources_GPU=VGPU:1&required_GPU=C&group_policy=none";

test("a command says the same, and is read again", () => {
  const { text, left } = asCommand(QUERY);
  assert.deepEqual(left, []);
  assert.equal(
    text,
    "openstack allocation candidate explain --resource VCPU=4 --resource MEMORY_MB=8192 --required A --forbidden B " +
      "--group _GPU --resource VGPU=1 --required C --group-policy none",
  );
  assert.deepEqual([...new URLSearchParams(ofCommand(text))].sort(), [...new URLSearchParams(QUERY)].sort());
});

test("a command of another program is read, too", () => {
  const text = "openstack --os-placement-api-version 1.39 allocation candidate list \\\n  --resource='VCPU=1' --required A,B --group net --resource \"X=1\" --same-subtree net,2 --limit 5";
  assert.equal(ofCommand(text), "resources=VCPU:1&resources_net=X:1&required=in:A,B&same_subtree=_net,2&limit=5");
  assert.equal(ofCommand("openstack --debug allocation candidate list --required A --resource VCPU=1"), "resources=VCPU:1&required=A");
  assert.throws(() => ofCommand("ls --limit 5"), /no --resource/);
  assert.throws(() => ofCommand("--resource VCPU=1 --nonsense 1"), /--nonsense/);
  assert.throws(() => ofCommand("--resource"), /no value/);
});

test("what a command can't say is told", () => {
  assert.deepEqual(asCommand("resources=VCPU:1&member_of=!in:x,y&limit=3").left, ["member_of", "limit"]);
  assert.equal(asCommand("resources=VCPU:1&in_tree=a;b").text, "openstack allocation candidate explain --resource 'VCPU=1' --in-tree 'a;b'".replaceAll("'VCPU=1'", "VCPU=1"));
});

test("extra specs say the same, and are read again", () => {
  const { text, left } = asSpecs(`${QUERY}&member_of=x`);
  assert.deepEqual(left, ["member_of"]);
  assert.equal(text.split("\n")[0], "resources:VCPU=4");
  assert.deepEqual([...new URLSearchParams(ofSpecs(text).query)].sort(), [...new URLSearchParams(QUERY)].sort());
});

test("what openstack flavor show prints is read", () => {
  const table = `| disk | 20 |
| id | 42 |
| properties | resources:VGPU='1', resources:DISK_GB='0', trait:CUSTOM_A='required', trait:CUSTOM_B='forbidden', hw:cpu_policy='shared' |
| ram | 8192 |
| vcpus | 4 |`;
  const asked = "resources=VGPU:1,MEMORY_MB:8192,VCPU:4&required=CUSTOM_A,!CUSTOM_B";
  assert.deepEqual(ofSpecs(table), { query: asked, left: ["hw:cpu_policy"] });
  const properties = { "resources_GPU:VGPU": "1", "trait_GPU:A": "required", "hw:numa_cpus.0": "0,1", hide_hypervisor_id: "true" };
  const json = { name: "m1", "OS-FLV-DISABLED:disabled": false, description: null, vcpus: 2, ram: 512, disk: 0, properties };
  for (const indent of [0, 2]) {
    assert.deepEqual(ofSpecs(JSON.stringify(json, null, indent)), {
      query: "resources=VCPU:2,MEMORY_MB:512&resources_GPU=VGPU:1&required_GPU=A",
      left: ["hw:numa_cpus.0", "hide_hypervisor_id"],
    });
  }
  const lines = "resources:VCPU=1\npci_passthrough:alias='a1:1'\nhw:numa_nodes='1'\nresourcesGPU:VGPU=1\nhw:numa_nodes=2";
  assert.deepEqual(ofSpecs(lines), { query: "resources=VCPU:1", left: ["pci_passthrough:alias", "hw:numa_nodes", "resourcesGPU:VGPU"] });
  assert.throws(() => ofSpecs("hello"), /resources:VCPU/);
});

"""The driver of the machine that it runs on, without a hypervisor.

`driver` is a NodeDriver; its facts come from `kernel_facts` and `sysfs_devices`. `samples` has
machines as files.
"""

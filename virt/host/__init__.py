"""The driver of the machine that it runs on, without a hypervisor."""

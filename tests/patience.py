"""How long any test waits for what has to happen, whatever machine it runs on."""

#: seconds. Only a fault makes a test wait so long, so a machine at a quarter of the speed passes
PATIENCE = 300

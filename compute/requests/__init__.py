"""What a guest asks of placement: its flavor, image and ports in placement's terms."""

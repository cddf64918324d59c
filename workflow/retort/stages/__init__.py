"""What the adapters call: one function a rule."""

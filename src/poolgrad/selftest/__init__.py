"""Every operator against an independent reference."""

"""The Prometheus face: what a DCGM exporter and Kueue would have been scraped for, over the HTTP API."""

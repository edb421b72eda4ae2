"""Exchanges data with other systems: collects submissions, exports results, releases assignments."""

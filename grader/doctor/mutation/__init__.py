"""Mutation testing of right answers: mistakes that no hidden check finds."""

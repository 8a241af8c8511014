"""The parts of scripts/census."""

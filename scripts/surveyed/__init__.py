"""The parts of scripts/survey: samples, where files come from, what runs them, the rules, what entered them, the tables."""

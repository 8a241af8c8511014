# `make demo` and `make test` need nothing but a Rust toolchain; the rest they install.

.PHONY: demo test test-tools bench

demo: ; @scripts/demo
test: ; @scripts/test
test-tools: ; @scripts/install-tools test
bench: ; @scripts/bench

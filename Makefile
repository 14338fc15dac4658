# One command for each daily act. `make run` and `make test` are all that a fresh machine needs:
# they fetch and build what is missing, below target/, .tools/ and tests/node/.

CARGO ?= cargo
TOOLS := $(CURDIR)/.tools
AGENTS := $(TOOLS)/agents
DENY := $(TOOLS)/bin/cargo-deny
NEXTEST := $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo $(CARGO) nextest || echo $(TOOLS)/bin/cargo-nextest nextest)
FAST_AGENT := $(AGENTS)/venv/bin/fast-agent
FAST_AGENT_VERSION := 0.10.46
NODE_DEPS := tests/node/node_modules/.package-lock.json

.PHONY: help run test test-agents check fmt clippy deny bench snap deps clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: ## Start the daemon with the demo agent; ARGS are passed to "acpd serve"
	$(CARGO) build --quiet
	./target/debug/acpd serve --demo $(ARGS)

test: deps ## Run all tests
	CI=true $(NEXTEST) run --workspace

test-agents: deps $(FAST_AGENT) ## Run the tests with agents that are large to install
	CI=true $(NEXTEST) run --workspace --run-ignored only

check: fmt clippy deny test ## What CI runs: format, lints, licences, tests

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

deny: $(DENY)
	$(CARGO) fetch --locked --quiet
	$(DENY) --offline check licenses bans sources

bench: ## Measure the daemon beside a bare relay; prints ratios, writes bench/out/bench.json
	$(CARGO) build --release -p acpd -p acpd-fake-agent -p xtask
	./target/release/xtask bench $(ARGS)

snap: deps ## Run the scenario tests and accept their new snapshots
	INSTA_UPDATE=always $(NEXTEST) run -p acpd-proto

deps: $(NODE_DEPS) $(if $(findstring .tools,$(NEXTEST)),$(TOOLS)/bin/cargo-nextest)

$(NODE_DEPS): tests/node/package.json tests/node/package-lock.json
	npm ci --prefix tests/node --no-audit --no-fund
	@touch $@

# Built without optimisation: it runs for seconds and would take minutes to build.
$(DENY):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-deny --version 0.20.2 --locked --no-default-features --root $(TOOLS)

$(TOOLS)/bin/cargo-nextest:
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-nextest --version 0.9.143 --locked --root $(TOOLS)

# fast-agent needs Python 3.12 or later; an older one would quietly get an old version of it.
$(FAST_AGENT):
	@python=$$(for p in python3.14 python3.13 python3.12 python3 $$(ls -d ~/.pyenv/versions/3.1[2-5]*/bin/python3 2>/dev/null); do \
		command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 12))' && echo $$p && break; done); \
	if [ -z "$$python" ]; then echo "make test-agents needs Python 3.12 or later" >&2; exit 1; fi; \
	$$python -m venv $(AGENTS)/venv
	$(AGENTS)/venv/bin/pip install --quiet fast-agent-mcp==$(FAST_AGENT_VERSION)

clean: ## Remove everything that was built or fetched
	rm -rf target .tools tests/node/node_modules bench/out

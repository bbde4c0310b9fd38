# Two commands do everything: `make demo` and `make test`. Each sets up what it needs, once.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# Tests start Python hundreds of times: it keeps what it has compiled, also where the surroundings forbid it.
export PYTHONDONTWRITEBYTECODE :=
LAB_PACKAGES := bc bison erofs-utils flex gcc libc6-dev make patch xz-utils
say = @printf '\033[1m==>\033[0m %s\n' '$(1)'

.PHONY: help
help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

.PHONY: demo
demo: build ## the main job on modelled drives: a shingled drive beside a conventional one, with a report
	$(BIN)/shakedown demo

.PHONY: test
test: build system-packages ## all tests, Rust and Python
	$(call say,Rust tests)
	cargo test --workspace --exclude py --quiet
	$(call say,Python tests)
	@scripts/python-tests.sh $(BIN)/pytest

.PHONY: lint
lint: build ## formatting, lints, types, the import law
	$(call say,Rust: format and clippy)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(call say,Python: ruff and mypy)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(call say,The import law)
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_crate_graph.py
	$(BIN)/python scripts/check_file_circles.py
	$(BIN)/python scripts/check_writers.py

.PHONY: bench
bench: build system-packages ## how fast the core is (criterion, release build), and the lab if it is built
	cargo bench --workspace --exclude py
	$(BIN)/python scripts/lab_speed.py

.PHONY: bench-disksim
bench-disksim: build ## the same load on a modelled drive and on a DiskSim 4.0 that has been built: DISKSIM=FOLDER
	$(BIN)/python scripts/bench_beside.py "$(DISKSIM)"

.PHONY: validation
validation: build ## predicted beside published: docs/validation-table.md
	$(BIN)/python scripts/validation_table.py

.PHONY: profiles
profiles: build ## the profiles that are made of reference/data_sheets.csv
	$(BIN)/python scripts/data_sheet_profiles.py

.PHONY: borrowed
borrowed: build ## how far drives made of data sheets may be off: the tables of docs/profiles.md, a quarter of an hour
	$(BIN)/python scripts/borrowed_parts.py

.PHONY: conformance
conformance: lab ## every protocol and drive, modelled and in the lab: the table of docs/conformance.md, half an hour
	$(BIN)/python scripts/conformance_table.py

.PHONY: format
format: build ## rewrite the sources in the house style
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

.PHONY: lab
lab: build ## what the lab runs, a kernel and the programs of a guest: minutes, once
	$(BIN)/shakedown lab build || { scripts/apt-install.sh $(LAB_PACKAGES) && $(BIN)/shakedown lab build; }

.PHONY: build
build: .venv/core.stamp ## the environment and the core, without running anything

.PHONY: system-packages
system-packages:
	@scripts/system-packages.sh

.PHONY: clean
clean: ## remove what was built, keep results
	rm -rf .venv target

.venv/packages.stamp: pyproject.toml constraints.txt scripts/python-environment.sh
	$(call say,Python environment in .venv)
	@scripts/python-environment.sh .venv
	@touch $@

.venv/core.stamp: .venv/packages.stamp $(RUST_SOURCES)
	$(call say,Building the core (some minutes, the first time, without a word))
	@scripts/need-rust.sh
	@VIRTUAL_ENV="$(CURDIR)/.venv" PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 \
		$(BIN)/maturin develop --release --quiet
	@touch $@
